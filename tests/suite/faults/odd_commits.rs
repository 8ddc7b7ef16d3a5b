//! Commits are read no stricter than git reads them. git is the referee, on commits made of random lines.

use crate::support::Sandbox;

/// Lines about a person, well-formed or not.
const PEOPLE: [&[u8]; 12] = [
    b"Ada <ada@example.com> 1700000000 +0100",
    b"Ada <ada@example.com 1700000000 +0100",
    b"Ada ada@example.com> 1700000000 +0100",
    b"Ada <ada@example.com>",
    b"Ada <ada@example.com> 1700000000",
    b"Ada <ada@example.com> -5 +0000",
    b"Ada <ada@example.com> 99999999999999999999999 +0000",
    b"Ada <ada@example.com> 1700000000 +051800",
    b"\xc9lo\xefse <e@example.com> 1700000000 +0000",
    b" <> 0 +0000",
    b"A> <b<c>> 1700000000 -0000 more",
    b"",
];

const MESSAGES: [&[u8]; 8] = [
    b"\nsubject\n\nbody\n",
    b"\nsubject",
    b"\n",
    b"",
    b"\n\n\nlate\n",
    b"\ncaf\xe9\n",
    "\ncafé\n".as_bytes(),
    b"\nSigned: x\n\nSubject: y\n",
];

const EXTRA: [&[u8]; 6] = [
    b"",
    b"encoding ISO-8859-1\n",
    b"encoding nonsense\n",
    b"gpgsig -----BEGIN\n line\n -----END\n",
    b"odd\n",
    b"mergetag a\nencoding ISO-8859-1\n",
];

struct Random(u64);

impl Random {
    fn one<'a>(&mut self, of: &[&'a [u8]]) -> &'a [u8] {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        of[usize::try_from(self.0 >> 33).unwrap() % of.len()]
    }
}

/// Writes a commit of random lines on HEAD, with one file changed.
fn odd_commit(sandbox: &Sandbox, random: &mut Random, content: &str) -> String {
    sandbox.write("a.txt", content);
    sandbox.git(&["add", "a.txt"]);
    let (tree, parent) = (sandbox.git(&["write-tree"]), sandbox.git(&["rev-parse", "HEAD"]));
    let mut bytes = format!("tree {tree}\nparent {parent}\n").into_bytes();
    for role in ["author ", "committer "] {
        let line = random.one(&PEOPLE);
        // A commit may lack the line.
        if !line.is_empty() {
            bytes.extend([role.as_bytes(), line, b"\n"].concat());
        }
    }
    bytes.extend_from_slice(random.one(&EXTRA));
    bytes.extend_from_slice(random.one(&MESSAGES));
    sandbox.hash_literally("commit", &bytes)
}

#[test]
fn random_commits_are_read_no_stricter_than_git_reads_them() {
    let mut random = Random(7);
    for round in 0..24 {
        let sandbox = Sandbox::new();
        let commit = odd_commit(&sandbox, &mut random, &format!("{round}\n"));
        sandbox.git(&["update-ref", "refs/heads/odd", &commit]);
        sandbox.git(&["reset", "-q", "--hard"]);
        sandbox.write("b.txt", "ours\n");
        sandbox.colony(&["checkpoint", "-m", "ours"]);
        let raw = String::from_utf8_lossy(&sandbox.object("commit", &commit)).into_owned();
        let run = |args: &[&str]| {
            let answer = sandbox.json(args);
            assert_eq!(answer["ok"], true, "{args:?} {answer:#}\n{raw}");
            answer
        };
        run(&["diff", "main", "odd"]);
        run(&["merge", "odd", "-n"]);
        run(&["merge", "odd"]);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD^2"]), commit);
        run(&["undo"]);
        run(&["restore", "odd", "--mode", "files"]);
        run(&["undo"]);
        run(&["fork", "x", "--from", "odd"]);
        let head = |what: &str| sandbox.git(&["rev-parse", what]);
        assert_eq!(head("HEAD"), commit);
        run(&["status"]);
        run(&["decisions"]);
        run(&["log"]);
        sandbox.write("c.txt", "more\n");
        run(&["checkpoint", "-m", "on top"]);
        assert_eq!(head("HEAD~1"), commit);
        run(&["restore", "HEAD~1", "--force"]);
        assert_eq!(head("HEAD"), commit);
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn an_odd_commit_is_picked_with_its_author_as_it_is() {
    let sandbox = Sandbox::new();
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let blob = sandbox.hash_literally("blob", b"odd\n");
    let list = sandbox.git(&["ls-tree", &tree]);
    let tree = sandbox.make_tree(&format!("{list}\n100644 blob {blob}\todd.txt\n"));
    let parent = sandbox.git(&["rev-parse", "HEAD"]);
    let author = "A> B <a@b> 1700000000 +0130";
    let text =
        format!("tree {tree}\nparent {parent}\nauthor {author}\ncommitter {author}\n\nodd\n");
    let commit = sandbox.hash_literally("commit", text.as_bytes());
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "ours"]);
    sandbox.colony(&["cherry-pick", &commit]);
    let raw = sandbox.git(&["cat-file", "commit", "HEAD"]);
    assert!(raw.contains(&format!("\nauthor {author}\n")), "{raw}");
}

//! What a migration to git-lfs makes of commits: the bytes that git-lfs makes of them, without signatures
//! that would be bad.

use crate::support::Sandbox;

use super::rewrite::{POINTER, grown};

const PATTERNS: &str = "*.pdf filter=lfs diff=lfs merge=lfs -text\n";
const SIGNATURE: &str =
    " -----BEGIN PGP SIGNATURE-----\n \n iQEz0123\n -----END PGP SIGNATURE-----\n";

/// The bytes of a commit, with what git takes from their end.
fn raw(sandbox: &Sandbox, rev: &str) -> String {
    sandbox.git(&["cat-file", "commit", rev]) + "\n"
}

/// Writes HEAD again with more headers, and moves the branch there.
fn with_headers(sandbox: &Sandbox, headers: &str) {
    let raw = raw(sandbox, "HEAD");
    let (head, message) = raw.split_once("\n\n").unwrap();
    let file = sandbox.outside().join("commit");
    std::fs::write(&file, format!("{head}\n{headers}\n{message}")).unwrap();
    let id = sandbox.git(&["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
    sandbox.git(&["reset", "-q", "--soft", &id]);
}

fn signed() -> String {
    format!("gpgsig{SIGNATURE}gpgsig-sha256{SIGNATURE}")
}

/// Commits a version of a large file, past the filters.
fn commit(sandbox: &Sandbox, content: &str) {
    sandbox.write("paper.pdf", content);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", content.trim_end()]);
}

/// A signed commit that needs no rewriting, and such as do.
fn signed_history() -> Sandbox {
    let sandbox = Sandbox::unborn();
    sandbox.write(".gitattributes", PATTERNS);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "nothing large"]);
    with_headers(&sandbox, &signed());
    sandbox.git(&["tag", "before"]);
    commit(&sandbox, "one\n");
    commit(&sandbox, "two\n");
    let tag = " object 0123\n type commit\n tag v0\n \n gpgsig of a tag\n";
    let headers = format!("encoding ISO-8859-1\nmergetag{tag}{}", signed());
    with_headers(&sandbox, &headers);
    sandbox.git(&["tag", "-am", "annotated", "v1"]);
    sandbox.git(&["notes", "add", "-m", "a note", "HEAD"]);
    commit(&sandbox, "three\n");
    sandbox
}

#[test]
fn a_signature_is_removed_with_its_own_commit_only() {
    let sandbox = signed_history();
    let state = || {
        (
            sandbox.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/notes"]),
            sandbox.visible_state(),
        )
    };
    let (before, kept) = (state(), sandbox.git(&["rev-parse", "before"]));
    let two = raw(&sandbox, "v1");
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["commits"], 3, "{answer:#}");
    assert_eq!(sandbox.git(&["rev-parse", "before"]), kept);
    assert_eq!(sandbox.git(&["rev-parse", "main~3"]), kept);
    assert!(raw(&sandbox, "before").contains("gpgsig"));
    // The very bytes, but for ids and signatures.
    let id = |rev: &str| sandbox.git(&["rev-parse", rev]);
    let header = |raw: &str, name: &str| {
        let mut lines = raw.lines().filter(|line| line.starts_with(name));
        lines.next().unwrap().to_owned()
    };
    let wanted = two
        .replace(&signed(), "")
        .replace(&header(&two, "tree "), &format!("tree {}", id("main~1^{tree}")))
        .replace(&header(&two, "parent "), &format!("parent {}", id("main~2")));
    assert_eq!(raw(&sandbox, "main~1"), wanted);
    assert!(wanted.contains("\nencoding ISO-8859-1\nmergetag object 0123\n type commit\n"));
    assert_eq!(id("v1^{commit}"), id("main~1"));
    assert_eq!(sandbox.git(&["notes", "show", "main~1"]), "a note");
    for rev in ["main", "main~1", "main~2"] {
        let pointer = sandbox.git(&["show", &format!("{rev}:paper.pdf")]);
        assert!(pointer.starts_with(POINTER), "{rev}: {pointer}");
        assert!(!raw(&sandbox, rev).contains("gpgsig-sha256"), "{rev}");
    }
    // What is old is known by the ids of the commits that are there, not by those that git-lfs made.
    let map = sandbox.git(&["ls-tree", "-r", "--name-only", "refs/colony/migrations"]);
    let map = map.lines().find(|name| name.ends_with("/map")).unwrap();
    let map = sandbox.git(&["show", &format!("refs/colony/migrations:{map}")]);
    for line in map.lines() {
        let (_, new) = line.split_once(' ').unwrap();
        sandbox.git(&["merge-base", "--is-ancestor", new, "main"]);
    }
    sandbox.check_invariants_of_git();
    sandbox.colony(&["undo"]);
    assert_eq!(state(), before);
    sandbox.check_invariants_of_git();
}

/// Branches and light tags: git-lfs takes the last line end from annotated ones.
const COMMITS: [&str; 3] = ["for-each-ref", "refs/heads", "refs/tags/light"];

/// What the real git-lfs makes of a copy.
fn by_git_lfs(sandbox: &Sandbox, include: &str) -> String {
    let copy = sandbox.copy("plain");
    let include = format!("--include={include}");
    copy.git(&["lfs", "install", "--local"]);
    copy.git(&["lfs", "migrate", "import", &include, "--everything", "--yes"]);
    copy.git(&COMMITS)
}

#[test]
fn without_signatures_the_ids_are_those_of_plain_git_lfs() {
    let sandbox = grown();
    sandbox.git(&["switch", "-qc", "merged", "side"]);
    sandbox.write("other.txt", "other\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "no large file\r\n\r\nwith\r\ncarriage returns"]);
    sandbox.git(&["merge", "-q", "--no-edit", "main"]);
    with_headers(&sandbox, "encoding ISO-8859-1\n");
    let wanted = by_git_lfs(&sandbox, "*.pdf,*.bin");
    sandbox.colony(&["lfs", "migrate", "--push"]);
    assert_eq!(sandbox.git(&COMMITS), wanted);
}

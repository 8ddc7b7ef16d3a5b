//! The submodules of a tree: those that are read, and those that are refused (git's own t7450 and its
//! kin). Trees are made with `git mktree`, since git would not check such files in.

use std::path::Path;

use git_colony::testing::{
    Code, Error, ObjectWrites, Oid, Provenance, RemoteUrl, Repo, Submodules, World,
};

use crate::support::Sandbox;

/// A sandbox in which trees are made.
struct Trees {
    sandbox: Sandbox,
    /// The commit that is pinned.
    commit: String,
}

impl Trees {
    fn new() -> Trees {
        let sandbox = Sandbox::new();
        let commit = sandbox.git(&["rev-parse", "HEAD"]);
        Trees { sandbox, commit }
    }

    fn blob(&self, content: &[u8]) -> String {
        let file = self.sandbox.outside().join("blob");
        std::fs::write(&file, content).unwrap();
        self.sandbox.git(&["hash-object", "-w", "--no-filters", file.to_str().unwrap()])
    }

    /// Writes a tree of lines as `git ls-tree` prints them.
    fn tree(&self, entries: &[String]) -> String {
        let file = self.sandbox.outside().join("entries");
        std::fs::write(&file, entries.join("\n") + "\n").unwrap();
        let command = format!("alias.mk=!git mktree --missing <'{}'", file.display());
        self.sandbox.git(&["-c", &command, "mk"])
    }

    fn pin(&self, name: &str) -> String {
        format!("160000 commit {}\t{name}", self.commit)
    }

    fn file(&self, content: &[u8]) -> String {
        format!("100644 blob {}\t.gitmodules", self.blob(content))
    }

    /// A tree with this `.gitmodules`, `sub` and `dir/sub` pinned, and `link` leading to `dir`.
    fn with(&self, content: &[u8]) -> String {
        let inner = self.tree(&[self.pin("sub")]);
        self.tree(&[
            self.file(content),
            format!("040000 tree {inner}\tdir"),
            format!("120000 blob {}\tLink", self.blob(b"dir")),
            self.pin("sub"),
        ])
    }

    fn read(&self, tree: &str, base: Option<&str>) -> Result<Submodules, Error> {
        let world: World = self.sandbox.world();
        let repo = Repo::open(&world, ObjectWrites::Durable).unwrap();
        let parse = |base| RemoteUrl::parse(base, Provenance::User, Path::new("/")).unwrap();
        repo.submodules(&world, Oid::parse(tree).unwrap(), base.map(parse).as_ref())
    }

    /// Reads a file of which everything is refused: line and reason of each.
    fn refused(&self, content: &str) -> Vec<(Option<usize>, String)> {
        let read = self.read(&self.with(content.as_bytes()), None).unwrap();
        assert_eq!(read.list, [], "{content}");
        read.refused.into_iter().map(|refused| (refused.line, refused.reason)).collect()
    }
}

#[test]
fn submodules_are_read_from_any_tree_by_gits_own_parser() {
    let trees = Trees::new();
    let tree = trees.with(
        b"# comment\n[submodule \"one\"]\n\tpath = sub ; comment\n\turl = \"https://u:tok@host/\\\n\
          a.git\"\n\tbranch = .\n[core]\n\tx = y\n[SubModule \"two.dots/x\"]\n\tPATH = dir/sub\n\turl = ../b.git\n",
    );
    let read = trees.read(&tree, Some("git@host:team/super.git")).unwrap();
    assert_eq!(read.refused, []);
    let [nested, top] = &read.list[..] else { panic!("{read:?}") };
    assert_eq!((top.name.as_str(), &*top.path.to_string()), ("one", "sub"));
    assert_eq!(top.url.for_git(), "https://u:tok@host/a.git");
    assert_eq!(top.branch.as_deref(), Some("."));
    assert_eq!(nested.name, "two.dots/x");
    assert_eq!(nested.path.to_string(), "dir/sub");
    assert_eq!(nested.url.for_git(), "git@host:team/b.git");
    assert_eq!(nested.branch, None);
    assert!(read.list.iter().all(|found| found.commit.to_string() == trees.commit));
    assert!(!format!("{read:?}").contains("tok"));
    let without = trees.tree(&[trees.pin("sub")]);
    assert_eq!(trees.read(&without, None).unwrap().list, []);
}

/// Name and values of a submodule, and why it is refused.
const REFUSED: &[(&str, &str, &str)] = &[
    // Names: they become folders below .git/modules.
    ("../../x", "path = sub\nurl = https://h/a", "its name would leave"),
    ("a/../b", "path = sub\nurl = https://h/a", "its name would leave"),
    ("a\\\\..\\\\b", "path = sub\nurl = https://h/a", "its name would leave"),
    ("/etc", "path = sub\nurl = https://h/a", "its name would leave"),
    ("", "path = sub\nurl = https://h/a", "its name would leave"),
    // Paths.
    ("x", "path = .git/hooks\nurl = https://h/a", "its path is not allowed"),
    ("x", "path = .GIT/hooks\nurl = https://h/a", "its path is not allowed"),
    ("x", "path = git~1/hooks\nurl = https://h/a", "its path is not allowed"),
    ("x", "path = .g\u{200c}it\nurl = https://h/a", "its path is not allowed"),
    ("x", "path = ../sub\nurl = https://h/a", "its path is not allowed"),
    ("x", "path = /sub\nurl = https://h/a", "its path is not allowed"),
    ("x", "path = -sub\nurl = https://h/a", "its path is not allowed"),
    ("x", "path = dir//sub\nurl = https://h/a", "its path is not allowed"),
    ("x", "path = \"dir\\\\sub\"\nurl = https://h/a", "its path is not allowed"),
    ("x", "path = \"sub\r\"\nurl = https://h/a", "its path holds control"),
    ("x", "path = \"a\\nb\"\nurl = https://h/a", "its path holds control"),
    ("x", "path = sub\npath = dir/sub\nurl = https://h/a", "'path' is set more than once"),
    ("x", "path = dir\nurl = https://h/a", "its path has no commit"),
    ("x", "path = nothing/there\nurl = https://h/a", "its path has no commit"),
    ("x", "path = .gitmodules\nurl = https://h/a", "its path has no commit"),
    ("x", "path = Link\nurl = https://h/a", "its path is a symlink"),
    ("x", "path = Link/sub\nurl = https://h/a", "'Link' on the way to it is a symlink"),
    ("x", "path = link/sub\nurl = https://h/a", "'link' on the way to it is a symlink"),
    // URLs and what else git would act on.
    ("x", "path = sub\nurl = -oProxyCommand=touch pwn", "would be an option"),
    ("x", "path = sub\nurl = ext::sh -c 'touch pwn'", "would run a program"),
    ("x", "path = sub\nurl = file:///etc", "only https and ssh"),
    ("x", "path = sub\nurl = /etc", "only https and ssh"),
    ("x", "path = sub\nurl = http://h/a", "only https and ssh"),
    ("x", "path = sub\nurl = \"https://h/a\\nhost=evil\"", "its url holds control"),
    ("x", "path = sub\nurl = https://h/a%0ahost=evil", "control characters"),
    ("x", "path = sub\nurl = ../a", "has no remote"),
    ("x", "path = sub\nurl = https://h/a\nurl = https://h/b", "'url' is set more than once"),
    ("x", "path = sub\nurl = https://h/a\nupdate = !touch pwn", "'update' would run"),
    (
        "x",
        "path = sub\nurl = https://h/a\nbranch = --upload-pack=x",
        "'branch' is not a valid branch name",
    ),
    ("x", "path = sub", "it has no url"),
    ("x", "url = https://h/a", "it has no path"),
];

#[test]
fn what_would_lead_git_elsewhere_is_refused_with_its_line() {
    let trees = Trees::new();
    for (name, values, reason) in REFUSED {
        let refused = trees.refused(&format!("# one\n[a]\n[submodule \"{name}\"]\n{values}\n"));
        let [(line, found)] = &refused[..] else { panic!("{name} {values}: {refused:?}") };
        assert_eq!(*line, Some(3), "{name} {values}");
        assert!(found.contains(reason), "{name} {values}: {found}");
    }
    assert!(!trees.sandbox.path("pwn").exists());
}

#[test]
fn submodules_that_share_a_place_are_all_refused() {
    let trees = Trees::new();
    for (one, path, two, other) in [
        ("a", "sub", "b", "sub"),
        ("a", "sub", "b", "SUB"),
        ("a", "sub", "A", "dir/sub"),
        ("a", "sub", "a/hooks", "dir/sub"),
        ("a", "dir", "b", "dir/sub"),
    ] {
        let section =
            |name, path| format!("[submodule \"{name}\"]\npath = {path}\nurl = https://h/a\n");
        let refused = trees.refused(&(section(one, path) + &section(two, other)));
        let lines: Vec<_> = refused.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [Some(1), Some(4)], "{one} {path} {two} {other}");
        assert!(
            refused.iter().all(|(_, reason)| reason.contains("the same name or path")),
            "{refused:?}"
        );
    }
}

#[test]
fn a_file_that_is_none_is_refused_as_a_whole() {
    let trees = Trees::new();
    let secret = trees.sandbox.outside().join("secret");
    std::fs::write(&secret, "[submodule \"x\"]\npath = sub\nurl = https://h/a\n").unwrap();
    let link = trees.blob(secret.to_str().unwrap().as_bytes());
    let include = format!("[include]\npath = {}\n", secret.display());
    assert_eq!(trees.read(&trees.with(include.as_bytes()), None).unwrap().list, []);
    for tree in [
        trees.tree(&[format!("120000 blob {link}\t.gitmodules"), trees.pin("sub")]),
        trees.with(b"[submodule \"x\"]\n]\n"),
        trees.with("[a]\n".repeat(200_000).as_bytes()),
    ] {
        let error = trees.read(&tree, None).unwrap_err();
        assert_eq!(error.code(), Code::RepositoryBroken, "{error:?}");
    }
    let error = trees.read(&trees.with(b"[a]\n[submodule \"x\"]\n]\n"), None).unwrap_err();
    assert!(error.message().contains("line 3"), "{error:?}");
}

//! Ignored and listed files, with git as the referee: random rules in every place that git knows, random trees.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use crate::git::{ObjectWrites, Repo};
use crate::model::RepoPath;

use super::check_attr_tests::Place;
use super::ignore_stack::IgnoreFilesOf;

/// Where rules are; the last two are of no directory.
const FILES: [&str; 5] =
    [".gitignore", "d/.gitignore", "d/e/.gitignore", ".git/info/exclude", ".git/of-user"];

const PATHS: [&str; 30] = [
    "f",
    "F",
    "g.txt",
    "G.TXT",
    "foobar",
    "notes.txt",
    "a b",
    "sp ",
    "!f",
    "#f",
    "q[x",
    "q\\x",
    "f\u{e9}",
    "tab\tx",
    "d/f",
    "d/F",
    "d/g.txt",
    "d/a b",
    "d/e/f",
    "d/e/g.txt",
    "d/e/h/f",
    "d/f.d/x",
    "e/f",
    "e/d/f",
    "e/d/e/f",
    "foo/bar",
    "foo/x/bar",
    "foox/y/bar",
    "build/out/a.o",
    "src/build/a.c",
];

const PATTERNS: [&str; 72] = [
    "f",
    "F",
    "g.txt",
    "*.txt",
    "*.TXT",
    "d",
    "d/",
    "D/",
    "d/f",
    "d/f/",
    "/f",
    "/d/f",
    "/d",
    "/d/",
    "**/f",
    "**/e/f",
    "d/**",
    "d/**/f",
    "*",
    "**",
    "/*",
    "/**",
    "*/",
    "**/",
    "/*/",
    "/**/",
    "?",
    "[fg]",
    "[!f]",
    "[^f]",
    "[a-z]*",
    "[[:upper:]]",
    "[[:upper:]]*",
    "a b",
    "sp ",
    "sp\\ ",
    "sp",
    "\\!f",
    "!f",
    "\\#f",
    "#f",
    "e/f",
    "*/f",
    "d/*",
    "d/*/",
    "d/*/f",
    "f*",
    "/",
    "//f",
    "d//f",
    "./f",
    "[f",
    "f\u{e9}",
    "f?",
    "f??",
    "\\f",
    "foo**/bar",
    "foo**",
    "foo/**/bar",
    "**/bar",
    "fo**r",
    "**foo",
    "d/**/",
    "build/",
    "**/build/**",
    "*.o",
    "notes.txt",
    "[]x-]*",
    "q[[]x",
    "q\\\\x",
    "[[:bad:]]",
    "*[!.]txt",
];

/// A line of an ignore file.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let odd = proptest::collection::vec(select(&b"fgdeDo*?/[]!^-\\. xb:"[..]), 1..7)
        .prop_map(|bytes| String::from_utf8(bytes).unwrap());
    let pattern = prop_oneof![5 => select(&PATTERNS[..]).prop_map(str::to_owned), 2 => odd];
    let end = select(&["", "", "", "", " ", "  ", "\t", "\r", "\\", "\0x"][..]);
    let negation = select(&["", "", "!"][..]);
    (negation, pattern, end)
        .prop_map(|(start, pattern, end)| format!("{start}{pattern}{end}").into())
}

/// The rules and the index of one case, in a repository that all cases share.
#[derive(Clone, Debug)]
struct Case {
    /// The lines of [`FILES`].
    rules: Vec<Vec<Vec<u8>>>,
    has_bom: bool,
    ignores_case: bool,
    /// Which of [`PATHS`] are tracked.
    tracked: Vec<bool>,
}

fn case() -> impl Strategy<Value = Case> {
    let rules = proptest::collection::vec(proptest::collection::vec(line(), 0..4), FILES.len());
    let tracked = proptest::collection::vec(proptest::bool::weighted(0.2), PATHS.len());
    (rules, proptest::bool::weighted(0.1), proptest::bool::weighted(0.2), tracked).prop_map(
        |(rules, has_bom, ignores_case, tracked)| Case { rules, has_bom, ignores_case, tracked },
    )
}

impl Case {
    fn write(&self, place: &Place) {
        let root = &place.world.cwd;
        let config = format!(
            "[core]\n\trepositoryformatversion = 0\n\tignorecase = {}\n\texcludesFile = .git/of-user\n",
            self.ignores_case
        );
        fs::write(root.join(".git/config"), config).unwrap();
        fs::create_dir_all(root.join(".git/info")).unwrap();
        for (name, lines) in FILES.iter().zip(&self.rules) {
            let bom = if self.has_bom { "\u{feff}" } else { "" };
            let text = [bom.as_bytes(), &lines.join(&b'\n')].concat();
            fs::write(root.join(name), text).unwrap();
        }
        // Names that differ in case alone are not both tracked where git takes them for one.
        let is_tracked = |(path, tracked): (&&str, &bool)| {
            *tracked && !(self.ignores_case && path.contains(['F', 'G']))
        };
        let tracked =
            PATHS.iter().zip(&self.tracked).filter(|(path, tracked)| is_tracked((path, tracked)));
        let names: String = tracked.flat_map(|(path, _)| [path, "\0"]).collect();
        fs::remove_file(root.join(".git/index")).ok();
        place.git(&["update-index", "--add", "-z", "--stdin"], &names);
    }
}

/// Splits what git prints with `-z`.
fn names(text: &str) -> BTreeSet<String> {
    text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// All paths, and the directories above them.
fn all_paths() -> BTreeSet<String> {
    let above = |path: &str| {
        let ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        ends.into_iter().map(|end| path[..end].to_owned()).collect::<Vec<_>>()
    };
    PATHS.iter().flat_map(|path| above(path).into_iter().chain([(*path).to_owned()])).collect()
}

fn require_same(place: &Place, case: &Case) -> Result<(), TestCaseError> {
    case.write(place);
    let repo = Repo::open(&place.world, ObjectWrites::InMemory).unwrap();
    let index = repo.load_index().unwrap();

    let all = all_paths();
    let asked: String = all.iter().flat_map(|path| [path, "\0"]).collect();
    let check = ["-c", "advice.all=false", "check-ignore", "--no-index", "-z", "--stdin"];
    let mut git = crate::git::process::Git::new(&place.world);
    git.args(check).input(asked.into());
    // It ends with 1 where nothing is ignored.
    let ignored = names(&String::from_utf8_lossy(&git.run().unwrap().stdout));
    let mut stack = repo.ignore_stack(&index.file, IgnoreFilesOf::Worktree).unwrap();
    let is_ignored = |path: &&String| {
        stack.ignores(path.as_bytes(), place.world.cwd.join(path).is_dir()).unwrap()
    };
    let ours: BTreeSet<String> = all.iter().filter(is_ignored).cloned().collect();
    prop_assert_eq!(ours, ignored, "check-ignore");

    let listed = names(&place.git(&["ls-files", "-co", "--exclude-standard", "-z"], ""));
    let files = repo.listed_files(&place.world).unwrap();
    let text = |path: &RepoPath| String::from_utf8_lossy(path.as_bytes()).into_owned();
    let ours: BTreeSet<String> = files.iter().map(text).collect();
    prop_assert_eq!(ours, listed, "ls-files -co");
    Ok(())
}

#[test]
fn ignored_files_are_those_that_git_ignores() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(&folder.path().canonicalize().unwrap());
    for path in PATHS.iter().chain(&FILES[..3]) {
        let path = place.world.cwd.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    let config = Config { failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&case(), |case| require_same(&place, &case));
    if let Err(error) = result {
        panic!("{error}");
    }
}

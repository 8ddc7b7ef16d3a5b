//! `.colonyignore` means what `.gitignore` means to `git check-ignore --no-index`.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::support::{Sandbox, View};

const FILES: [&str; 22] = [
    "a",
    "b/a",
    "b/c/a",
    "b/c/b/x.rs",
    "b/!x",
    "b/#x",
    "c/ab.txt",
    "c/a b",
    "c/trailing ",
    "d/a.txt",
    "d/.hidden",
    "d/x.rs/in",
    "d/[x]",
    "d/x\\y",
    "e/a-b",
    "e/A",
    "e/f/g/h/i",
    "e/*",
    "e/?",
    "f/\u{e9}",
    "f/{a,b}",
    "f/foo.min.js",
];

const PATTERNS: [&str; 72] = [
    "a",
    "b",
    "c",
    "x",
    "/a",
    "a/",
    "b/",
    "/b/",
    "b/c",
    "/b/c/",
    "b/c/a",
    "b/*",
    "b/**",
    "**/a",
    "**/b/",
    "b/**/a",
    "b/**/x.rs",
    "**",
    "*",
    "/*",
    "*/",
    "!*/",
    "!a",
    "!/a",
    "!b/",
    "!b/c/",
    "!*.rs",
    "*.rs",
    "*.txt",
    "!c/*.txt",
    "[ab]",
    "[!ab]",
    "[^a]",
    "[a-c]",
    "[]a]",
    "[a",
    "[[:alpha:]]",
    "\\a",
    "\\!x",
    "\\#x",
    "#x",
    "!#x",
    "trailing ",
    "trailing\\ ",
    "trailing",
    "a b",
    "?",
    "??",
    "a?b",
    "\\*",
    "\\?",
    "e/\\*",
    "d/[[]x]",
    "x\\\\y",
    "x\\y",
    "a\\",
    "",
    " ",
    "/",
    "//",
    "***",
    "a**",
    "**a",
    "b**c",
    "e/**/i",
    "e/f/**",
    "!e/f/g/",
    "{a,b}",
    "f/{a,b}",
    ".*",
    "A",
    "foo*.js",
];

#[derive(Clone, Debug)]
struct Case {
    files: Vec<&'static str>,
    /// Where ignore files are, with their lines and what ends a line.
    lists: Vec<(&'static str, Vec<&'static str>, &'static str)>,
}

fn case() -> impl Strategy<Value = Case> {
    let lines = || proptest::collection::vec(select(&PATTERNS[..]), 0..5);
    let end = || prop_oneof![9 => Just("\n"), 1 => Just("\r\n")];
    let inner = (select(&["b", "d", "e", "e/f", "b/c"][..]), lines(), end());
    let files = subsequence(&FILES[..], 4..=FILES.len());
    (files, lines(), end(), proptest::option::of(inner)).prop_map(|(files, top, end, inner)| Case {
        files,
        lists: std::iter::once(("", top, end)).chain(inner).collect(),
    })
}

fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}

/// The paths that git ignores, tracked or not.
pub(crate) fn check_ignore<'a>(
    referee: &View,
    paths: impl Iterator<Item = &'a str>,
) -> BTreeSet<String> {
    let list = referee.path(".git/paths");
    let paths: String = paths.flat_map(|path| [path, "\0"]).collect();
    fs::write(&list, paths).unwrap();
    // It exits with 1 where nothing is ignored.
    let command = "git check-ignore --no-index -z --stdin <.git/paths || test $? = 1";
    let found = referee.git(&["-c", &format!("alias.referee=!{command}"), "referee"]);
    let found = found.split('\0').filter(|path| !path.is_empty());
    found.map(str::to_owned).collect()
}

fn cases() -> u32 {
    if std::env::var_os("COLONY_TEST_LONG").is_some() { 40 } else { 6 }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn colonyignore_is_read_as_git_reads_its_own(cases in proptest::collection::vec(case(), 1..60)) {
        let sandbox = Sandbox::unborn();
        let referee = sandbox.at(sandbox.outside().join("referee"));
        fs::create_dir(referee.path("")).unwrap();
        referee.git(&["init", "-q", "--template="]);
        let mut files = BTreeSet::new();
        for (number, case) in cases.iter().enumerate() {
            // Each case is a directory of its own: patterns are relative to where they stand.
            let top = format!("case{number:02}");
            for (at, lines, end) in &case.lists {
                let directory = join(&top, at);
                let text: String = lines.iter().flat_map(|line| [*line, *end]).collect();
                sandbox.write(&join(&directory, ".colonyignore"), &text);
                fs::create_dir_all(referee.path(&directory)).unwrap();
                fs::write(referee.path(&join(&directory, ".gitignore")), &text).unwrap();
            }
            for file in &case.files {
                let path = join(&top, file);
                sandbox.write(&path, "x\n");
                fs::create_dir_all(referee.path(&path).parent().unwrap()).unwrap();
                fs::write(referee.path(&path), "x\n").unwrap();
                files.insert(path);
            }
        }
        sandbox.git(&["add", "-Af"]);
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "all"]);
        let mapped = sandbox.json(&["map"]);
        prop_assert_eq!(&mapped["ok"], true);
        let listed = sandbox.json(&["pages", "--limit", "100000"]);
        let mut taken = BTreeSet::new();
        for page in listed["pages"].as_array().unwrap() {
            for record in page["records"].as_array().unwrap() {
                taken.insert(record["path"].as_str().unwrap().to_owned());
            }
        }
        let ignored = check_ignore(&referee, files.iter().map(String::as_str));
        for path in &files {
            let number: usize = path[4..6].parse().unwrap();
            prop_assert_eq!(
                !taken.contains(path),
                ignored.contains(path),
                "{}: {:?}", path, cases[number]
            );
        }
    }
}

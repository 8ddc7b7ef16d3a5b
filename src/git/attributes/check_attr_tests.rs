//! Attributes of paths, with git as the referee. Left out: a line of `info/attributes` that takes a macro away from
//! the lines of directories; there the macro still counts for us. And a capital letter behind a backslash or in
//! brackets, where names are compared without case: git matches nothing by it, gitoxide both cases.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use gix::attrs::StateRef;
use gix::index::entry::Mode;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use crate::git::process::Git;
use crate::git::{ObjectWrites, Repo};
use crate::model::World;
use crate::model::interrupt::Interrupt;
use crate::model::progress::Progress;
use crate::model::warned::Warned;
use crate::model::world::{Changes, UserConfiguration};

use super::AttributesOf;

/// Where rules are; the last one is of no directory.
const FILES: [&str; 4] =
    [".gitattributes", "d/.gitattributes", "d/e/.gitattributes", ".git/info/attributes"];

const PATHS: [&str; 18] = [
    "f",
    "F",
    "g.txt",
    "G.TXT",
    "d",
    "d/f",
    "d/F",
    "d/e/f",
    "d/e/g.txt",
    "D/f",
    "a b",
    "d/a b",
    "q\"x",
    "!f",
    "#f",
    "e/f",
    "d/f/f",
    "f\u{e9}",
];

const PATTERNS: [&str; 44] = [
    "f",
    "F",
    "g.txt",
    "*.txt",
    "*.TXT",
    "d",
    "d/",
    "D/f",
    "d/f",
    "d/f/",
    "/f",
    "/d/f",
    "**/f",
    "**/e/f",
    "d/**",
    "d/**/f",
    "*",
    "**",
    "?",
    "[fg]",
    "[!f]",
    "[^f]",
    "[a-z]*",
    "[[:upper:]]",
    "\"a b\"",
    "\"d/a b\"",
    "\"q\\\"x\"",
    "\"\\146\"",
    "\\!f",
    "!f",
    "\\#f",
    "#f",
    "e/f",
    "*/f",
    "d/*",
    "d/*/f",
    "f*",
    "/",
    "//f",
    "d//f",
    "./f",
    "[f",
    "f\u{e9}",
    "\\f",
];

const SAYS: [&str; 20] = [
    "x", "-x", "!x", "x=v", "x=", "x=a=b", "both", "-both", "!both", "both=v", "nested", "-nested",
    "!nested", "y", "x -x", "both !x", "x@", "-", "x both", "binary",
];

const MACROS: [&str; 8] = [
    "[attr]both x y=1",
    "[attr]both -x",
    "[attr]both !x",
    "[attr]both x=m",
    "[attr]nested both",
    "[attr]nested both x=n",
    "[attr]nested y",
    "[attr]x y",
];

/// A line of an attributes file.
fn line() -> impl Strategy<Value = String> {
    let odd = proptest::collection::vec(select(&b"fgde*?/[]!\\.\"x "[..]), 1..6)
        .prop_map(|bytes| String::from_utf8(bytes).unwrap());
    let pattern = prop_oneof![6 => select(&PATTERNS[..]).prop_map(str::to_owned), 1 => odd];
    let rule = (select(&["", "", "", " ", "\t"][..]), pattern, select(&[" ", "\t", "  "][..]));
    let end = select(&["", "", "", " ", "\r"][..]);
    let rule = (rule, select(&SAYS[..]), end);
    prop_oneof![
        8 => rule.prop_map(|((lead, pattern, gap), says, end)| format!("{lead}{pattern}{gap}{says}{end}")),
        2 => select(&MACROS[..]).prop_map(str::to_owned),
    ]
}

/// A repository, and the world of its commands.
pub(super) struct Place {
    pub(super) world: World,
}

impl Place {
    pub(super) fn new(folder: &Path) -> Place {
        let null = "/dev/null";
        // That of the build: the environment of the process has another home.
        let path = env!("PATH").into();
        let variables: [(&str, OsString); 4] = [
            ("PATH", path),
            ("HOME", folder.into()),
            ("GIT_CONFIG_GLOBAL", null.into()),
            ("GIT_CONFIG_SYSTEM", null.into()),
        ];
        let start = crate::model::time::from_git(1_767_323_045, 0).unwrap();
        let world = World {
            colony_root: None,
            cwd: folder.to_owned(),
            started_in: None,
            named_root: None,
            owner_beside_root: None,
            variables: BTreeMap::from(variables.map(|(name, value)| (name.into(), value))).into(),
            clock: Arc::new(move || start),
            zone: |moment| moment,
            entropy: Arc::new(|| 1),
            narrate: Arc::new(|_| {}),
            progress: Progress::default(),
            listen: Arc::new(|| {}),
            user_configuration: UserConfiguration::Ignored,
            interrupt: Interrupt::default(),
            timeout: None,
            filters: "".into(),
            changes: Changes::default(),
            warned: Warned::default(),
            process: None,
            program: "git-colony".into(),
            die_at: None,
            stdout_is_terminal: false,
            plane: crate::model::world::Plane::Cli,
            allows_cargo: false,
        };
        let place = Place { world };
        place.git(&["init", "-q", "--template="], "");
        place
    }

    pub(super) fn git(&self, args: &[&str], input: &str) -> String {
        let mut git = Git::new(&self.world);
        git.args(args).input(input.into());
        String::from_utf8(git.run_checked("test").unwrap()).unwrap()
    }

    /// Replaces the rules, in files and index, and the setting by which names are compared without case.
    fn write(&self, rules: &[Vec<String>], ignores_case: bool) {
        let git_dir = self.world.cwd.join(".git");
        let config =
            format!("[core]\n\trepositoryformatversion = 0\n\tignorecase = {ignores_case}\n");
        fs::write(git_dir.join("config"), config).unwrap();
        for (name, lines) in FILES.iter().zip(rules) {
            let path = self.world.cwd.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, lines.join("\n")).unwrap();
        }
        self.git(&["add", "-f", "--", FILES[0], FILES[1], FILES[2]], "");
    }

    /// What git says of an attribute, by path.
    fn git_says(&self, options: &[&str], attribute: &str) -> BTreeMap<String, String> {
        let check = [&["check-attr", "--stdin", "-z"], options, &[attribute]].concat();
        let answer = self.git(&check, &PATHS.map(|path| format!("{path}\0")).concat());
        let words: Vec<&str> = answer.split('\0').collect();
        let rows = words.chunks_exact(3);
        rows.map(|row| (row[0].to_owned(), row[2].to_owned())).collect()
    }

    /// What we say.
    fn we_say(&self, attributes_of: AttributesOf, attribute: &str) -> BTreeMap<String, String> {
        let repo = Repo::open(&self.world, ObjectWrites::InMemory).unwrap();
        let index = repo.load_index().unwrap();
        let mut lookup = repo.attribute_lookup(&index.file, attribute, attributes_of).unwrap();
        let mut state = |path: &str| {
            let selection = lookup.find(path.as_bytes(), Mode::FILE).unwrap();
            match selection.map_or(StateRef::Unspecified, |selection| selection.assignment.state) {
                StateRef::Set => "set".to_owned(),
                StateRef::Unset => "unset".to_owned(),
                StateRef::Unspecified => "unspecified".to_owned(),
                StateRef::Value(value) => value.as_bstr().to_string(),
            }
        };
        PATHS.iter().map(|path| ((*path).to_owned(), state(path))).collect()
    }
}

#[test]
fn attributes_are_those_that_git_finds() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(&folder.path().canonicalize().unwrap());
    let lines = || proptest::collection::vec(line(), 0..5);
    let takes_macro = |line: &String| {
        let words = ["-both", "!both", "both=v", "-nested", "!nested"];
        line.split_ascii_whitespace().any(|word| words.contains(&word))
    };
    let of_info = lines().prop_map(move |mut lines| {
        lines.retain(|line| !takes_macro(line));
        lines
    });
    let directories = proptest::collection::vec(lines(), FILES.len() - 1);
    let rules = (directories, of_info).prop_map(|(mut rules, info)| {
        rules.push(info);
        rules
    });
    let mut runner =
        TestRunner::new(Config { cases: 128, failure_persistence: None, ..Config::default() });
    let result = runner.run(&(rules, any::<bool>()), |(rules, ignores_case)| {
        place.write(&rules, ignores_case);
        for attribute in ["x", "both"] {
            for (attributes_of, options) in
                [(AttributesOf::Worktree, &[][..]), (AttributesOf::Index, &["--cached"][..])]
            {
                let git = place.git_says(options, attribute);
                let ours = place.we_say(attributes_of, attribute);
                prop_assert_eq!(ours, git, "{} {:?}", attribute, attributes_of);
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

//! Every command, called in wrong ways in repositories of many kinds, refuses in two short lines: the problem, and what
//! helps. The usage of a command that was called in another way stands between them.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Sandbox, View, refusals};

/// The columns of each line.
const MAX_COLUMNS: usize = 80;

/// Commands that serve, wait or copy the repository, and one that answers in JSON alone.
const LEFT_OUT: [&str; 7] =
    ["call", "dashboard", "error", "help", "help --install", "help tour", "watch"];

/// One call of this many is tried, unless in the long form.
const ONE_OF: usize = 40;

/// A kind of repository: its name, and a directory of one.
type Kind = (&'static str, fn() -> (Sandbox, View));

const KINDS: [Kind; 8] = [
    ("fresh", || here(with_checkpoint())),
    ("unborn", || here(Sandbox::unborn())),
    ("mid-merge", || here(with_conflict(&["merge", "-q", "fork/other"]))),
    ("mid-rebase", || here(with_conflict(&["rebase", "-q", "fork/other"]))),
    ("agent", || {
        let sandbox = with_checkpoint();
        let made = sandbox.json(&["agents", "new", "ada"]);
        let clone = sandbox.at(PathBuf::from(made["path"].as_str().unwrap()));
        (sandbox, clone)
    }),
    ("bare", || here(Sandbox::init(&["--bare"]))),
    ("none", || {
        let sandbox = Sandbox::new();
        let outside = sandbox.outside();
        let view = sandbox.at(outside);
        (sandbox, view)
    }),
    ("long names", with_long_names),
];

fn here(sandbox: Sandbox) -> (Sandbox, View) {
    let view = sandbox.at(sandbox.root.clone());
    (sandbox, view)
}

/// A name of two hundred bytes.
fn long(of: &str) -> String {
    of.repeat(200)
}

fn with_checkpoint() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "kept"]);
    sandbox.write("a.txt", "three\n");
    sandbox
}

/// A repository in the middle of something that conflicts in a file with a long name.
fn with_conflict(command: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let name = long("c");
    for (create, branch, content) in
        [(&["-c"][..], "fork/other", "theirs\n"), (&[], "main", "ours\n")]
    {
        sandbox.git(&[&["switch", "-q"], create, &[branch]].concat());
        sandbox.write(&name, content);
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", branch]);
    }
    assert!(!sandbox.try_git(command));
    sandbox
}

/// A repository whose folder, branches, files, agents and checkpoints have long names.
fn with_long_names() -> (Sandbox, View) {
    let sandbox = Sandbox::new();
    let root = sandbox.outside().join(long("r"));
    fs::rename(&sandbox.root, &root).unwrap();
    let view = sandbox.at(root);
    view.git(&["switch", "-qc", &long("b")]);
    view.write(&long("f"), "one\n");
    view.colony(&["checkpoint", "-m", &long("l")]);
    view.colony(&["fork", &long("k")]);
    view.write(&long("f"), "two\n");
    view.write("secret/.env", "KEY=1\n");
    view.git(&["commit", "-qam", &long("s")]);
    view.git(&["switch", "-q", &long("b")]);
    view.write(&long("f"), "three\n");
    view.git(&["commit", "-qam", "other"]);
    view.write(&long("f"), "edited\n");
    (sandbox, view)
}

/// Returns the ways in which a command is called.
fn calls(view: &View, command: &str) -> Vec<Vec<String>> {
    let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    let help = view.run(&[&command.split(' ').collect::<Vec<_>>()[..], &["-h"]].concat()).stdout;
    let own = help.split("Global options:").next().unwrap();
    let has_option = |line: &str| line.trim_start().starts_with('-');
    let options = own.lines().filter(|line| has_option(line) && line.contains('<'));
    let options =
        options.filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")));
    let (name, label, file) = (long("n"), long("l"), long("f"));
    let more = [
        vec![],
        vec!["nosuch".to_owned()],
        vec![name.clone()],
        vec![label.clone()],
        vec![file.clone()],
        vec![long("k")],
        vec![name.clone(), format!("dir/{name}")],
        vec![format!("--{name}")],
        vec!["HEAD".to_owned(), name.clone(), name.clone()],
        vec![String::new()],
        vec!["n".repeat(300)],
        vec!["a\nb".to_owned()],
        vec!["main".to_owned()],
        vec!["ada".to_owned()],
    ];
    let with_options = options.flat_map(|option| {
        let option = option.trim_end_matches(',').to_owned();
        [
            vec![option.clone(), name.clone()],
            vec![option.clone(), name.clone(), label.clone()],
            vec![option.clone(), "0".to_owned(), "main".to_owned()],
            vec![option, "-m".to_owned()],
        ]
    });
    let dry = if own.contains("--dry-run") { vec!["-n".to_owned()] } else { vec![] };
    let all = more.into_iter().chain(with_options);
    all.map(|more| [words.clone(), dry.clone(), more].concat()).collect()
}

/// Returns one of some calls in a short run, all in a long one.
fn chosen(calls: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let is_long = std::env::var_os("COLONY_TEST_LONG").is_some();
    let step = if is_long { 1 } else { ONE_OF };
    calls.step_by(step).collect()
}

/// Returns what is wrong about the lines of one refusal.
fn faults(refusal: &str) -> Vec<String> {
    let is_usage = |line: &&str| line.starts_with("usage: ") || line.starts_with("   or: ");
    let lines: Vec<&str> = refusal.lines().filter(|line| !is_usage(line)).collect();
    let is_hint = lines.get(1).is_none_or(|line| line.starts_with("hint: "));
    let mut faults = Vec::new();
    if lines.len() > 2 || !is_hint {
        faults.push(format!("{} lines: {lines:?}", lines.len()));
    }
    for line in lines {
        let short = refusals::shortened(&short_names(line));
        let columns = short.chars().count();
        if columns > MAX_COLUMNS {
            faults.push(format!("{columns} columns: {short}"));
        }
    }
    faults
}

/// Returns a line where each of the long names has the columns of a short one, also where it is cut.
fn short_names(line: &str) -> String {
    let mut line = line.to_owned();
    for name in ["n", "l", "f", "k", "b", "r", "c", "s"] {
        while let Some(at) = line.find(&name.repeat(13)) {
            let more = line[at..].chars().take_while(|c| name.starts_with(*c)).count();
            line.replace_range(at..at + more, "name");
        }
    }
    line
}

/// Calls a command as text and as JSON; returns what is wrong about its refusal, if it refuses.
fn wrong_about(view: &View, words: &[String]) -> Option<Vec<String>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = view.run(&words);
    // An answer that is no has no error.
    if run.code == 0 || (run.code == 1 && !run.stderr.contains("error: ")) {
        return None;
    }
    let json = view.run(&[&["--json"], &words[..]].concat());
    let mut answers = serde_json::Deserializer::from_str(&json.stdout).into_iter::<Value>();
    let answer = answers.next().and_then(Result::ok).unwrap_or_default();
    let code = answer["code"].as_str().unwrap_or_default();
    let mut wrong = Vec::new();
    if json.code != run.code || ["", "repository-broken"].contains(&code) {
        wrong.push(format!("{} and {} in JSON: {}", run.code, json.code, json.stdout));
    }
    // A command with several names refuses each.
    let refusals: Vec<&str> = run.stderr.split("error: ").skip(1).collect();
    if refusals.is_empty() {
        wrong.push(format!("no error: {}", run.stderr));
    }
    wrong.extend(refusals.iter().flat_map(|refusal| faults(&format!("error: {refusal}"))));
    Some(wrong)
}

#[test]
fn each_refusal_of_any_command_has_two_short_lines() {
    let all = Sandbox::new().json(&["schema"])["reports"].clone();
    let commands = all.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    let commands: Vec<_> = commands.filter(|name| !LEFT_OUT.contains(name)).collect();
    let (mut wrong, mut refusals) = (Vec::new(), 0);
    for (number, (kind, make)) in KINDS.into_iter().enumerate() {
        let (_sandbox, view) = make();
        let calls = commands.iter().flat_map(|command| calls(&view, command));
        for words in chosen(calls.skip(number)) {
            let Some(found) = wrong_about(&view, &words) else { continue };
            refusals += 1;
            let shown = short_names(&words.join(" "));
            wrong.extend(found.into_iter().map(|fault| format!("[{kind}] {shown}\n    {fault}\n")));
        }
    }
    assert!(refusals > 200, "{refusals}");
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

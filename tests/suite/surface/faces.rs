//! What people and programs see: text, JSON, help, exit codes, closed pipes.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::process::Stdio;

use git_colony::env::{Env, Terminal};
use git_colony::testing::{Code, World};

use crate::support::{Run, Sandbox, end_of, first_line};

fn shown(sandbox: &Sandbox, run: &Run) -> String {
    let text = format!("exit code {}\n{}{}", run.code, run.stdout, run.stderr);
    let text = text.replace(sandbox.root.to_str().unwrap(), "<repo>");
    text.replace(sandbox.outside().to_str().unwrap(), "<outside>")
}

/// The story that the snapshots tell.
fn story() -> (Sandbox, Vec<(&'static str, Vec<&'static str>)>) {
    let sandbox = Sandbox::new();
    let commands = vec![
        ("status of a new repository", vec!["status"]),
        (
            "a first checkpoint",
            vec!["checkpoint", "-m", "before the parser", "--rationale", "it works"],
        ),
        ("status after an edit", vec!["status"]),
        ("the plan of a restore", vec!["restore", "before the parser", "--dry-run"]),
        ("the restore", vec!["restore", "before the parser"]),
        ("its undo", vec!["undo"]),
        ("and redo", vec!["redo"]),
        ("the log", vec!["ops"]),
        ("one operation", vec!["ops", "show", "op-2"]),
        ("the checkpoints", vec!["checkpoints"]),
        ("one checkpoint", vec!["checkpoints", "show", "@{0}"]),
        ("a tag", vec!["tag", "-m", "start", "HEAD"]),
        ("nothing automatic", vec!["checkpoint", "--auto"]),
        ("prune", vec!["prune"]),
        ("a setting", vec!["config", "get", "colony.keepDays", "--show-origin"]),
        ("an error", vec!["restore", "nothing like it"]),
        ("setting up, dry", vec!["init", "-n"]),
        ("setting up", vec!["init", "--colony", "bridge"]),
        ("setting up again", vec!["init"]),
        ("taking out, dry", vec!["deinit", "-n"]),
    ];
    (sandbox, commands)
}

/// Plays the story with extra flags on every command: title, command line, what was seen.
fn play(flags: &[&str], mut see: impl FnMut(&Sandbox, &'static str, Vec<&'static str>, Run)) {
    let (sandbox, commands) = story();
    for (number, (title, args)) in commands.into_iter().enumerate() {
        if number == 2 {
            sandbox.write("a.txt", "a careless edit\n");
            sandbox.write("scratch.txt", "half an idea\n");
        }
        let run = sandbox.run(&[flags, &args[..]].concat());
        assert!(flags.is_empty() || run.stderr.is_empty(), "{title}: {}", run.stderr);
        see(&sandbox, title, args, run);
    }
}

/// Every scene of the story, for those who look at the answers themselves.
pub(crate) fn played(flags: &[&str]) -> Vec<(&'static str, Vec<&'static str>, Run)> {
    let mut scenes = Vec::new();
    play(flags, |_, title, args, run| scenes.push((title, args, run)));
    scenes
}

/// The story as one text.
fn told(flags: &[&str]) -> String {
    let mut text = String::new();
    play(flags, |sandbox, title, args, run| {
        let line = args.join(" ");
        let seen = shown(sandbox, &run);
        writeln!(text, "## {title}\n$ git colony {line}\n{seen}").unwrap();
    });
    text
}

#[test]
fn the_text_of_every_command_reads_well() {
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("text", told(&[]));
    });
}

#[test]
fn the_json_of_every_command_is_stable() {
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("json", told(&["--json"]));
    });
}

#[test]
fn help_has_a_first_screen_and_names_every_command() {
    let sandbox = Sandbox::new();
    let short = sandbox.colony(&["-h"]);
    assert!(short.lines().count() <= 24, "{short}");
    assert!(short.lines().all(|line| line.chars().count() <= 80), "{short}");
    let all = sandbox.colony(&["help", "--all"]);
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    let mut told = String::new();
    let listed = sandbox.json(&["help", "--all"])["commands"].as_array().unwrap().len();
    assert!(listed <= 42, "{listed} commands");
    assert!(all.lines().count() <= 50, "one screen: {all}");
    // Those that are listed, and below them those with examples of their own.
    for name in git_colony::testing::examples::all().map(|examples| examples.command) {
        let words: Vec<&str> = name.split(' ').collect();
        let help = sandbox.colony(&[&words[..], &["-h"]].concat());
        assert!(help.starts_with(|first: char| first.is_uppercase()), "{help}");
        let help = sandbox.colony(&[&words[..], &["--help"]].concat());
        let shown = sandbox.colony(&[&["help"], &words[..]].concat());
        assert_eq!(shown.lines().next(), help.lines().next());
        write!(told, "## {name}\n{help}\n").unwrap();
    }
    assert!(
        sandbox
            .colony(&["help", "checkpoints", "show"])
            .contains("Usage: git colony checkpoints show")
    );
    assert_eq!(sandbox.error(&["help", "nonsense"]), "usage");
    assert_eq!(sandbox.colony(&["help"]), short);
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("help", format!("{short}\n{all}\n{told}"));
    });
}

#[test]
fn wrong_usage_names_what_is_missing_and_the_help_about_it() {
    let sandbox = Sandbox::new();
    let told = |args: &[&str]| {
        let answer = sandbox.json(args);
        assert_eq!(answer["code"], "usage", "{answer:#}");
        let text = |key: &str| answer[key].as_str().unwrap().to_owned();
        (text("message"), text("hint"), answer["detail"].clone())
    };
    let (message, hint, detail) = told(&["restore"]);
    assert_eq!(message, "the following required arguments were not provided: <ID>");
    assert_eq!(hint, "git colony restore -h");
    assert_eq!(detail["missing"], serde_json::json!(["<ID>"]));
    let (message, hint, _) = told(&["tag"]);
    assert!(message.ends_with("--label <LABEL>"), "{message}");
    assert_eq!(hint, "git colony checkpoints tag -h");
    let (message, hint, detail) = told(&["restor"]);
    assert_eq!(message, "unrecognized subcommand 'restor'");
    assert_eq!(hint, "git colony restore -h   # the most similar command");
    assert_eq!(detail["similar"][0], "restore");
    let (_, hint, _) = told(&["checkpoint", "--labell", "x"]);
    assert!(hint.starts_with("git colony checkpoint -h"), "{hint}");
    let (_, hint, _) = told(&["checkpoints", "shw", "x"]);
    assert_eq!(hint, "git colony checkpoints show -h   # the most similar command");
    let (_, hint, _) = told(&["undo", "--forse"]);
    assert_eq!(hint, "git colony undo -h   # '--force' is the most similar");
    let (_, hint, _) = told(&["restore", "x", "--mode", "file"]);
    assert_eq!(hint, "git colony restore -h   # 'files' is the most similar");
    let (_, hint, _) = told(&["nonsense"]);
    assert_eq!(hint, "git colony -h");
    // The manual may not be installed: '-h' always answers.
    let text = sandbox.run(&["restore"]).stderr;
    assert!(text.contains("\nhint: git colony restore -h"), "{text}");
    let usage = "\nusage: git colony restore [OPTIONS] <ID>";
    assert!(text.contains(usage), "{text}");
    assert!(!text.contains("--help"), "{text}");
}

#[test]
fn usage_shows_no_option_as_required_that_is_not() {
    let sandbox = Sandbox::new();
    for (typed, usage) in [
        (
            &["commit", "--amend"][..],
            "git colony commit [OPTIONS] --message <MESSAGE> <-a|--all|PATH>",
        ),
        (&["undo", "--forse"], "git colony undo [OPTIONS] [N]"),
        (&["-q", "-v"], "git colony [OPTIONS] [COMMAND]"),
    ] {
        let answer = sandbox.json(typed);
        assert_eq!(answer["detail"]["usage"], usage, "{typed:?}");
    }
}

#[test]
fn a_word_that_hands_know_from_elsewhere_is_told_by_its_meaning() {
    let sandbox = Sandbox::new();
    for (typed, offered) in [
        (&["stash"][..], "git colony restore HEAD   # "),
        (&["stash", "pop"], "git colony undo   # "),
        (&["--json", "worktree", "add", "../x"], "git colony agents new NAME   # "),
        (&["push"], "git colony sync -n   # "),
        (&["tag", "-d", "x"], "git colony checkpoints delete ID   # "),
        (&["diff", "--cached"], "git diff --cached   # "),
        (&["statsu"], "git colony status -h   # the most similar command"),
    ] {
        let answer = sandbox.json(typed);
        let hint = answer["hint"].as_str().unwrap();
        assert!(hint.starts_with(offered), "{typed:?}: {hint}");
    }
}

#[test]
fn wrong_usage_exits_with_129() {
    let sandbox = Sandbox::new();
    for args in [&["nonsense"][..], &["restore"], &["checkpoint", "--no-such-flag"], &["tag"]] {
        assert_eq!(sandbox.run(args).code, 129, "{args:?}");
        assert_eq!(sandbox.error(args), "usage", "{args:?}");
    }
    assert_eq!(sandbox.error(&["restore", "x", "--mode", "replace", "--", "a.txt"]), "usage");
    assert_eq!(sandbox.error(&["--timeout", "soon", "status"]), "invalid-value");
    assert_eq!(sandbox.error(&["--timeout", "-1", "status"]), "invalid-value");
}

#[test]
fn outside_a_repository_the_answer_is_a_refusal() {
    let sandbox = Sandbox::new();
    let world = World { cwd: sandbox.outside(), ..sandbox.world() };
    let run = sandbox.run_in(world, &["status"]);
    assert_eq!(run.code, 128);
    assert!(
        run.stderr.starts_with("error: ") && run.stderr.contains("hint: git init"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("not a git repository (or any of the parent directories)"),
        "{}",
        run.stderr
    );
    let told = |args: &[&str]| {
        let world = World { cwd: sandbox.outside(), ..sandbox.world() };
        let run = sandbox.run_in(world, args);
        assert_eq!(run.code, 128, "{args:?} {}", run.stdout);
        run.stderr
    };
    // A URL makes no repository, and a token of one is not shown again.
    let said = told(&["init", "--url", "https://ada:s3cret@host.example/r.git"]);
    assert!(said.contains("'--url' makes none"), "{said}");
    let wanted =
        "hint: git clone 'https://host.example/r.git'   # then run 'git colony init' in it";
    assert!(said.contains(wanted), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
    let said = told(&["init"]);
    assert!(said.contains("git colony clones new URL --agent NAME"), "{said}");
    let said = told(&["ops", "--agent", "ada"]);
    assert!(said.contains("hint: git colony clones colony set URL"), "{said}");
    let elsewhere = World { cwd: sandbox.outside(), ..sandbox.world() };
    assert_eq!(sandbox.run_in(elsewhere, &["-C", "repo", "status"]).code, 0);
}

#[test]
fn quiet_says_nothing_and_version_needs_no_repository() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.colony(&["-q", "status"]), "");
    let world = World { cwd: sandbox.outside(), ..sandbox.world() };
    assert!(sandbox.run_in(world, &["version"]).stdout.starts_with("git-colony "));
    assert_eq!(sandbox.colony(&["--version"]).lines().count(), 1);
    assert!(sandbox.colony(&["version"]).starts_with(&sandbox.colony(&["-V"])));
}

#[test]
fn settings_come_from_four_layers_and_say_which() {
    let sandbox = Sandbox::new();
    let get = |world: World, flags: &[&str]| {
        let args =
            [flags, &["--json", "config", "get", "colony.timeout", "--show-origin"]].concat();
        let answer: serde_json::Value =
            serde_json::from_str(&sandbox.run_in(world, &args).stdout).unwrap();
        let setting = answer["settings"][0].clone();
        (
            setting["value"].as_str().unwrap().to_owned(),
            setting["origin"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(get(sandbox.world(), &[]), (String::new(), "default".into()));
    sandbox.git(&["config", "colony.timeout", "3"]);
    let (value, origin) = get(sandbox.world(), &[]);
    assert_eq!(value, "3");
    assert!(origin.starts_with("file:") && origin.contains("/.git/config:"), "{origin}");
    let mut world = sandbox.world();
    world.variables.insert("COLONY_TIMEOUT".into(), "4".into());
    assert_eq!(get(world.clone(), &[]), ("4".into(), "environment:COLONY_TIMEOUT".into()));
    assert_eq!(get(world, &["--timeout", "5"]), ("5".into(), "flag:--timeout".into()));
    sandbox.git(&["config", "colony.keepDays", "many"]);
    assert_eq!(sandbox.error(&["status"]), "invalid-value");
    assert_eq!(sandbox.error(&["config", "get", "colony.nonsense"]), "unknown-setting");
    assert!(sandbox.colony(&["config", "get", "colony.keepDays"]).contains("many"));
}

struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let sandbox = Sandbox::new();
    let complaints = crate::support::Captured::default();
    for args in
        [&["git-colony", "status"][..], &["git-colony", "-h"], &["git-colony", "--json", "ops"]]
    {
        let mut env = Env {
            world: sandbox.world(),
            stdin: Box::new(std::io::empty()),
            stdout: Box::new(ClosedPipe),
            stderr: Box::new(complaints.clone()),
            terminal: Terminal::default(),
            handle_signals: None,
        };
        let exit = git_colony::run(args.iter().map(std::ffi::OsString::from), &mut env);
        assert_eq!(exit.0, 0);
    }
    assert_eq!(complaints.text(), "");
}

#[test]
fn the_real_program_runs_as_a_git_command_and_ends_on_a_signal() {
    let sandbox = Sandbox::new();
    let with_program = sandbox.with_program();
    let output = with_program.git_output(&["colony", "checkpoint", "-m", "by git"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("kept 'by git'"));

    // A filter that hangs: the program is told to stop and leaves nothing behind.
    let fifo = sandbox.outside().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    let hang = format!("exec 3>'{}'; echo begun >&3; sleep 600; cat", fifo.display());
    sandbox.git(&["config", "filter.slow.clean", &hang]);
    sandbox.write(".gitattributes", "*.slow filter=slow\n");
    sandbox.write("x.slow", "x\n");
    let before = sandbox.visible_state();
    let mut child = with_program
        .program()
        .args(["checkpoint", "-m", "slow"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _pipe = first_line(&fifo);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(143));
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn every_error_code_has_a_sentence() {
    for code in Code::ALL {
        assert!(code.explanation().ends_with('.'), "{code:?}: {}", code.explanation());
    }
}

//! Every layer of settings with its origin, and repositories that say what they may not.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use git_colony::testing::World;
use serde_json::Value;

use crate::support::Sandbox;

/// Runs the real program as git does, with files for the machine and the user, in `directory`.
fn as_git_command(sandbox: &Sandbox, directory: &Path, args: &[&str]) -> Value {
    let output = sandbox
        .with_program()
        .process("git")
        .env("GIT_CONFIG_SYSTEM", sandbox.outside().join("system"))
        .env("GIT_CONFIG_GLOBAL", sandbox.outside().join("global"))
        .current_dir(directory)
        .args(args)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{errors}"))
}

fn field<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer["settings"][0][name].as_str().unwrap()
}

#[test]
fn each_layer_wins_over_the_one_below_and_says_where_it_stands() {
    const KEY: &str = "colony.maxNewFiles";
    const GET: [&str; 5] = ["colony", "--json", "config", "get", KEY];
    let sandbox = Sandbox::new();
    let inside = sandbox.path("dir");
    let seen = |options: &[&str]| {
        let answer = as_git_command(&sandbox, &inside, &[options, &GET].concat());
        let text = |name| field(&answer, name).to_owned();
        (text("value"), text("level"), text("origin"))
    };
    let expected = |value: u32, level: &str, origin: String| {
        let value = value.to_string();
        (value, level.to_owned(), origin)
    };
    let (root, outside) = (sandbox.root.display(), sandbox.outside());
    assert_eq!(seen(&[]), expected(2000, "default", "default".to_owned()));
    let file = |path: &str, place: &str| format!("file:{}/{path}:{place}", outside.display());
    fs::write(outside.join("system"), "[colony]\n\tmaxNewFiles = 1\n").unwrap();
    assert_eq!(seen(&[]), expected(1, "system", file("system", "2:2")));
    fs::write(outside.join("global"), "# mine\n[colony] maxnewfiles=2\n").unwrap();
    assert_eq!(seen(&[]), expected(2, "global", file("global", "2:10")));
    sandbox.git(&["config", KEY, "3"]);
    let (value, level, origin) = seen(&[]);
    assert_eq!((value.as_str(), level.as_str()), ("3", "local"));
    let place = origin.strip_prefix(&format!("file:{root}/.git/config:")).unwrap();
    let line: usize = place.split(':').next().unwrap().parse().unwrap();
    let text = sandbox.read(".git/config");
    assert_eq!(text.lines().nth(line - 1).unwrap(), "\tmaxNewFiles = 3");
    sandbox.git(&["config", "extensions.worktreeConfig", "true"]);
    sandbox.git(&["config", "--worktree", KEY, "4"]);
    assert_eq!(seen(&[]).1, "worktree");
    let option = ["-c", "colony.maxNewFiles=5"];
    assert_eq!(seen(&option), expected(5, "command", "command".to_owned()));
    sandbox.write(".colony/colony.toml", "maxNewFiles = 6\n");
    let place = format!("file:{root}/.colony/colony.toml:1:1");
    assert_eq!(seen(&option), expected(6, "repository", place));
    sandbox.write("dir/.colony/colony.toml", "# here\n  maxNewFiles = \"7\"\n");
    let place = format!("file:{root}/dir/.colony/colony.toml:2:3");
    assert_eq!(seen(&option), expected(7, "directory", place));
    let mut world = World { cwd: inside.clone(), ..sandbox.world() };
    let variable = ("COLONY_MAX_NEW_FILES".into(), "8".into());
    world.variables.extend([variable]);
    let run = sandbox.run_in(world, &GET[1..]);
    assert!(run.stdout.contains("\"environment:COLONY_MAX_NEW_FILES\""), "{}", run.stdout);
}

#[test]
fn settings_from_the_command_line_of_git_count_as_configuration() {
    let sandbox = Sandbox::new();
    let get = ["colony", "--json", "config", "get", "colony.agent"];
    let options = ["-c", "colony.agent=ada", "-c", "colony.keepDays=1"];
    let answer = as_git_command(&sandbox, &sandbox.root, &[&options[..], &get].concat());
    assert_eq!(field(&answer, "value"), "ada");
    assert_eq!(field(&answer, "level"), "command");
    assert_eq!(answer["settings"][0]["path"], Value::Null);
}

#[test]
fn included_files_are_named_with_their_own_lines() {
    let sandbox = Sandbox::new();
    let included = "[user]\n\tname = Ada\n[colony]\n# a comment\n\tkeepDays = 5 ; one\n\tkeepDays = \\\n6\n[colony \"other\"]\n\tkeepDays = 7\n";
    fs::write(sandbox.outside().join("included"), included).unwrap();
    let condition = format!("includeIf.gitdir:{}/.path", sandbox.root.display());
    sandbox.git(&["config", "colony.keepDays", "4"]);
    sandbox.git(&["config", &condition, "../../included"]);
    let get = ["colony", "--json", "config", "get", "colony.keepDays"];
    let setting = &as_git_command(&sandbox, &sandbox.root, &get)["settings"][0];
    assert_eq!(setting["value"], "6");
    assert_eq!(sandbox.git(&["config", "colony.keepDays"]), "6");
    assert_eq!(setting["level"], "local");
    assert_eq!((&setting["line"], &setting["column"]), (&6.into(), &2.into()));
    assert!(setting["path"].as_str().unwrap().ends_with("/included"));
}

/// What a repository may try, and where the trouble is: content, line, column, part of the message.
const REFUSED: [(&str, Option<u64>, Option<u64>, &str); 9] = [
    ("agent = \"root\"\n", Some(1), Some(1), "for the user to set: git config colony.agent VALUE"),
    ("\nkeepDays = 0\n", Some(2), Some(1), "for the user to set"),
    ("timeout = 86400\n", Some(1), Some(1), "for the user to set"),
    ("maxnewfiles = 1\n", Some(1), Some(1), "known are 'maxNewFileSize' and 'maxNewFiles'"),
    ("maxNewFiles = 1.5\n", Some(1), Some(1), "expected a whole number"),
    ("maxNewFiles = -1\n", Some(1), Some(1), "expected a whole number"),
    ("[maxNewFiles]\n", Some(1), Some(2), "expected a whole number"),
    ("maxNewFiles = 1\nmaxNewFiles = 2\n", Some(2), Some(1), "it is ignored: duplicate key"),
    ("maxNewFiles = \n", Some(1), Some(15), "it is ignored"),
];

#[test]
fn a_repository_sets_only_harmless_keys_and_mistakes_are_told() {
    for (content, line, column, message) in REFUSED {
        let sandbox = Sandbox::new();
        sandbox.write(".colony/colony.toml", content);
        let list = sandbox.run(&["--json", "config", "list"]);
        assert_eq!((list.code, list.stderr.as_str()), (1, ""), "{content}");
        let answer: Value = serde_json::from_str(&list.stdout).unwrap();
        assert_eq!(answer["ok"], false);
        let problem = &answer["problems"][0];
        assert_eq!(problem["line"].as_u64(), line, "{content} {problem}");
        assert_eq!(problem["column"].as_u64(), column, "{content} {problem}");
        let told = problem["message"].as_str().unwrap();
        assert!(told.contains(message), "{content} {told}");
        let settings = answer["settings"].as_array().unwrap();
        assert!(
            settings
                .iter()
                .all(|setting| setting["level"] == "default" || setting["level"] == "local")
        );
        let health = &sandbox.json(&["status"])["health"][0];
        assert_eq!(health["name"], "settings", "{content}");
    }
}

#[test]
fn no_file_of_the_repository_stops_a_command() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "good"]);
    let file = sandbox.path(".colony/colony.toml");
    let outside = sandbox.outside().join("elsewhere");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("colony.toml"), "maxNewFiles = 1\n").unwrap();
    let nested = format!("maxNewFiles = {}", "[".repeat(60_000));
    let shapes: [(&str, &dyn Fn()); 8] = [
        ("no TOML", &|| fs::write(&file, "\u{1b}[31m = ").unwrap()),
        ("no text", &|| fs::write(&file, b"\xff\xfe").unwrap()),
        ("nested", &|| fs::write(&file, &nested).unwrap()),
        ("huge", &|| fs::write(&file, "#".repeat(70_000)).unwrap()),
        ("a link", &|| {
            symlink(outside.join("colony.toml"), &file).unwrap();
        }),
        ("a directory", &|| fs::create_dir(&file).unwrap()),
        ("a pipe", &|| {
            let mode = rustix::fs::Mode::RUSR;
            rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        }),
        ("a link above", &|| {
            fs::remove_dir(sandbox.path(".colony")).unwrap();
            symlink(&outside, sandbox.path(".colony")).unwrap();
        }),
    ];
    for (name, make) in shapes {
        sandbox.remove(".colony");
        fs::create_dir_all(sandbox.path(".colony")).unwrap();
        make();
        let list = sandbox.run(&["config", "list"]);
        assert_eq!(list.code, 1, "{name} {}", list.stdout);
        assert!(!list.stdout.contains('\u{1b}'), "{name}");
        let problems = sandbox.json(&["config"])["problems"].clone();
        assert_eq!(problems.as_array().unwrap().len(), 1, "{name} {problems}");
        sandbox.write("a.txt", name);
        let restore = sandbox.run(&["restore", "good", "--keep-untracked"]);
        assert_eq!(restore.code, 0, "{name} {}", restore.stderr);
        assert_eq!(restore.stderr.lines().count(), 1, "{name} {}", restore.stderr);
        assert!(restore.stderr.starts_with("warning: '"), "{name} {}", restore.stderr);
        assert!(restore.stderr.ends_with(": git colony config list\n"), "{name}");
        let undo = sandbox.run(&["undo"]);
        assert_eq!(undo.code, 0, "{name} {}", undo.stderr);
        assert_eq!(sandbox.read("a.txt"), name);
    }
    sandbox.check_invariants();
}

#[test]
fn a_repository_may_limit_new_files() {
    let sandbox = Sandbox::new();
    sandbox.write(".colony/colony.toml", "maxNewFileSize = \"1k\"\nmaxNewFiles = 3\n");
    sandbox.write("large.bin", "x".repeat(1025));
    sandbox.write("small.bin", "x".repeat(1024));
    let kept = sandbox.json(&["checkpoint", "-m", "limited"]);
    assert_eq!(kept["left_out"][0]["path"], "large.bin");
    assert_eq!(kept["left_out"].as_array().unwrap().len(), 1);
    for name in ["1", "2", "3", "4"] {
        sandbox.write(name, name);
    }
    assert_eq!(sandbox.error(&["checkpoint", "--auto"]), "too-many-new-files");
    let run = sandbox.run(&["status"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn mistakes_of_the_user_are_listed_with_their_place() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.keepDays", "many"]);
    let mut world = sandbox.world();
    world.variables.extend([("COLONY_TIMEOUT".into(), "soon".into())]);
    let run = sandbox.run_in(world, &["--json", "config"]);
    assert_eq!(run.code, 1);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    let problems = answer["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(problems[0]["path"], "");
    assert!(problems[1]["path"].as_str().unwrap().ends_with(".git/config"));
    assert!(problems[1]["line"].as_u64().is_some());
}

#[test]
fn tables_that_are_not_settings_are_not_reported() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".colony/colony.toml",
        "maxNewFiles = 6\n[[affinity_groups]]\nname = \"a\"\npatterns = \"a/**\"\n\
         [projects.site]\ndescription = \"x\"\nresources = [{id = \"a\", type = \"directory\", location = \"a\"}]\n\
         [plans.launch]\nprojects = [\"site\"]\nbudget_tokens = 5\n",
    );
    for args in [&["config", "list"][..], &["status"], &["doctor"], &["checkpoint", "-m", "one"]] {
        let run = sandbox.run(args);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(!said.contains("colony.toml"), "{said}");
    }
    let problems = sandbox.json(&["config", "list"])["problems"].clone();
    assert_eq!(problems, Value::Array(Vec::new()));
    // Another table is still reported.
    sandbox.write(".colony/colony.toml", "[projects]\nagent = 7\n[planes]\n");
    let run = sandbox.run(&["checkpoint", "-m", "two"]);
    let said = "'planes' is not known here";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    assert!(!run.stderr.contains("projects"), "{}", run.stderr);
}

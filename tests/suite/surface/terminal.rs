//! What the programs write that git or we start: no control byte of it reaches a terminal.

use std::fs;
use std::process::Output;

use crate::support::{Sandbox, View};

/// A name that would set the title of a terminal and clear it.
const NAME: &str = "x\u{1b}]0;pwn\u{7}\u{1b}[2J.png";

/// A repository whose branch `other` has one hostile file more, and the environment of a person.
struct Desk {
    sandbox: Sandbox,
    view: View,
}

impl Desk {
    fn new() -> Desk {
        let sandbox = Sandbox::new();
        let settings = sandbox.outside().join("settings");
        fs::write(&settings, "[user]\n\tname = Ada\n\temail = ada@example.com\n").unwrap();
        let view = sandbox
            .with("GIT_CONFIG_GLOBAL", settings)
            .with("HOME", sandbox.outside())
            .with("COLONY_SHARED_ROOT", sandbox.outside().join("shared"));
        Desk { sandbox, view }
    }

    /// Has the user's own settings name a filter.
    fn set(&self, key: &str, value: &str) {
        self.git(&["config", "--global", key, value]);
    }

    fn git(&self, args: &[&str]) -> String {
        self.view.git(args)
    }

    /// Commits the hostile file on branch `other` and stays on `main`.
    fn commit_on_other(&self, attributes: &str, content: &str) {
        self.git(&["switch", "-qc", "other"]);
        self.sandbox.write(".gitattributes", attributes);
        self.sandbox.write(NAME, content);
        let plain = ["-c", "filter.lfs.clean=cat", "-c", "filter.lfs.process="];
        let add = ["-c", "filter.lfs.required=false", "add", "-A"];
        self.git(&[&plain[..], &add].concat());
        self.git(&["commit", "-qm", "hostile"]);
        self.git(&["switch", "-q", "main"]);
    }

    /// Runs the program as a process, as every user does.
    fn program(&self, args: &[&str]) -> Output {
        self.view.program().args(args).output().unwrap()
    }

    /// Runs the commands that write files; returns all they said.
    fn commands(&self) -> Vec<(String, Output)> {
        let published = self.sandbox.outside().join("published.git");
        let published = published.to_str().unwrap();
        self.git(&["clone", "-q", "--bare", ".", published]);
        self.git(&["-C", published, "symbolic-ref", "HEAD", "refs/heads/other"]);
        let url = format!("file://{published}");
        self.program(&["tag", "-m", "kept", "other"]);
        let commands: [&[&str]; 6] = [
            &["restore", "kept", "--mode", "files"],
            &["merge", "other"],
            &["cherry-pick", "other"],
            &["agents", "new", "ada", "--from", "other"],
            &["clone", &url, "--agent", "eve"],
            &["clone", &url, "--read-only"],
        ];
        let start = self.git(&["rev-parse", "main"]);
        let mut said = Vec::new();
        for args in commands {
            said.push((args.join(" "), self.program(args)));
            self.git(&["reset", "-q", "--hard", &start]);
            self.git(&["clean", "-qfd"]);
        }
        said
    }
}

/// Checks that nothing but lines of text was written.
fn check_text(what: &str, output: &Output) -> String {
    let all = [output.stdout.as_slice(), &output.stderr].concat();
    let text = String::from_utf8_lossy(&all).into_owned();
    let bad = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(bad, None, "{what}: {text:?}");
    text
}

/// Has git-lfs as every user has it, and a pointer whose large file is nowhere.
fn with_a_missing_large_file() -> Desk {
    let desk = Desk::new();
    for (key, value) in [
        ("filter.lfs.clean", "git-lfs clean -- %f"),
        ("filter.lfs.smudge", "git-lfs smudge -- %f"),
        ("filter.lfs.process", "git-lfs filter-process"),
        ("filter.lfs.required", "true"),
    ] {
        desk.set(key, value);
    }
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{:064}\nsize 9\n", 1);
    desk.commit_on_other("*.png filter=lfs -text\n", &pointer);
    desk
}

#[test]
fn control_bytes_in_a_file_name_from_git_lfs_are_not_shown() {
    let desk = with_a_missing_large_file();
    let said: Vec<_> = desk.commands();
    let texts: Vec<_> = said.iter().map(|(what, said)| check_text(what, said)).collect();
    let named = texts.iter().filter(|text| text.contains(r"x\x1b]0;pwn\x07\x1b[2J.png"));
    assert!(named.count() >= 4, "{texts:#?}");
}

#[test]
fn control_bytes_in_words_of_a_user_filter_are_not_shown() {
    let desk = Desk::new();
    desk.set("filter.x.clean", "cat");
    let smudge = r"printf 'sm\033]0;pwn\007\033[2Judge\nlast' >&2; cat";
    desk.set("filter.x.smudge", smudge);
    desk.commit_on_other("*.png filter=x\n", "content\n");
    for (what, output) in desk.commands() {
        assert!(output.status.success(), "{what}: {output:?}");
        let text = check_text(&what, &output);
        assert!(text.contains("sm\\x1b]0;pwn\\x07\\x1b[2Judge\n"), "{what}: {text}");
        assert!(text.contains("last\n"), "{what}: {text}");
    }
}

#[test]
fn what_a_merge_driver_prints_is_no_part_of_the_answer() {
    let desk = Desk::new();
    desk.set("merge.x.driver", r"printf 'drawn\033[2J\n'; cat %B >%A");
    desk.sandbox.write(".gitattributes", "a.txt merge=x\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "attributes"]);
    desk.git(&["switch", "-qc", "other"]);
    desk.sandbox.write("a.txt", "theirs\n");
    desk.git(&["commit", "-qam", "theirs"]);
    desk.git(&["switch", "-q", "main"]);
    desk.sandbox.write("a.txt", "ours\n");
    desk.git(&["commit", "-qam", "ours"]);
    for command in ["cherry-pick", "merge"] {
        let output = desk.program(&["--json", command, "other"]);
        check_text(command, &output);
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["ok"].is_boolean(), "{answer:#}");
    }
}

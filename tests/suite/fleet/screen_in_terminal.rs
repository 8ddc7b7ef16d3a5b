//! The screen in a terminal, with real keys: what a person sees, and how the terminal is left.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::agents::new_and_merge::{agent, commit};
use crate::support::terminal_text::TerminalText;
use crate::support::{HANG_TIMEOUT, Sandbox, View, end_of, eventually, is_running, program_path};

/// A shell in a terminal, in which the screen is started.
struct Session {
    child: Child,
    stdin: ChildStdin,
    shown: Arc<Mutex<Vec<u8>>>,
    rows: usize,
    columns: usize,
}

/// The line of keys at the bottom of the list.
const KEYS: &str = "space mark  enter show";

/// What a command ends with.
const DONE: &str = "any key leads back to the desk";

impl Session {
    /// Starts a shell with job control, as people have it.
    fn begin(view: &View, rows: usize, columns: usize) -> Session {
        let line = format!("stty rows {rows} cols {columns}; exec bash --norc --noprofile -i");
        let mut script = view.with_program().process("script");
        let script = script.args(["-qefc", &line, "/dev/null"]);
        let script = script.envs([("TERM", "xterm"), ("PS1", "ready: "), ("SHELL", "/bin/sh")]);
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let shown = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut part) {
                sink.lock().unwrap().extend(&part[..count]);
            }
        });
        let session = Session { child, stdin, shown, rows, columns };
        session.until("the prompt", |terminal| terminal.text().contains("ready:"));
        session
    }

    /// Starts a shell, and the screen in it.
    fn watch(view: &View, rows: usize, columns: usize) -> Session {
        let mut session = Session::begin(view, rows, columns);
        session.start();
        session
    }

    /// Starts the screen; its process is noted.
    fn start(&mut self) {
        let program = program_path().display().to_string();
        self.press(&format!("sh -c 'echo $$ >pid; exec {program} --watch'; echo code $?\n"));
        self.until_list();
    }

    fn press(&mut self, keys: &str) {
        self.stdin.write_all(keys.as_bytes()).unwrap();
        self.stdin.flush().unwrap();
    }

    fn terminal(&self) -> TerminalText {
        let mut terminal = TerminalText::new(self.rows, self.columns);
        terminal.write(&self.shown.lock().unwrap());
        terminal
    }

    fn until(&self, what: &str, is_so: impl Fn(&TerminalText) -> bool) -> String {
        let start = Instant::now();
        eventually(what, || {
            let terminal = self.terminal();
            let is_late = start.elapsed() > HANG_TIMEOUT / 2;
            assert!(!is_late, "waited in vain: {what}\n{}", terminal.text());
            is_so(&terminal)
        });
        self.terminal().text()
    }

    fn until_shown(&self, text: &str) -> String {
        self.until(text, |terminal| terminal.text().contains(text))
    }

    fn until_list(&self) -> String {
        self.until("the list", |terminal| terminal.is_other && terminal.text().contains(KEYS))
    }

    /// Waits until a command has ended; returns what it has printed.
    fn until_done(&self, command: &str) -> String {
        let line = format!("$ git colony {command}");
        let printed = |terminal: &TerminalText| {
            let text = terminal.text();
            text.rsplit_once(&line).map(|(_, printed)| printed.to_owned()).unwrap_or_default()
        };
        self.until(command, |terminal| !terminal.is_other && printed(terminal).contains(DONE));
        printed(&self.terminal())
    }

    /// Waits until the shell has its terminal again, as it was.
    fn until_left(&mut self, said: &str) {
        self.until(said, |terminal| !terminal.is_other && terminal.text().contains(said));
        assert!(self.terminal().has_cursor);
        self.press("stty -a | grep -o ' icanon' | tr i I; stty -a | grep -o ' echo ' | tr e E\n");
        self.until_shown(" Icanon");
        self.until_shown(" Echo");
    }

    fn end(mut self) {
        self.press("exit\n");
        end_of(&mut self.child);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Without its terminal, all that runs in it ends.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn pid(view: &View) -> u32 {
    view.read("pid").trim().parse().unwrap()
}

fn signal(view: &View, name: &str) {
    let sent = view.process("kill").args([format!("-{name}"), pid(view).to_string()]).status();
    assert!(sent.unwrap().success());
}

/// A desk with two agents that have each a commit.
fn desk() -> Sandbox {
    let desk = Sandbox::new();
    desk.write(".git/info/exclude", "pid\n");
    for name in ["ada", "bob"] {
        commit(&agent(&desk, name), &format!("{name}.txt"), "new\n");
    }
    desk
}

#[test]
fn keys_show_merge_and_undo_and_the_terminal_is_left_as_it_was() {
    let desk = desk();
    let mut session = Session::watch(&desk, 24, 80);
    let list = session.until_list();
    assert!(list.contains("> ada    1c +1 -0") && list.contains("  bob    1c +1 -0"), "{list}");
    session.press("j");
    for (key, command, printed) in [
        ("\r", "agents show bob", "bob.txt  +1 -0"),
        ("d", "diff --patch bob", "+new"),
        ("l", "log bob", "edit bob.txt"),
    ] {
        session.press(key);
        let text = session.until_done(command);
        assert!(text.contains(printed), "{text}");
        session.press("x");
        session.until_list();
    }
    session.press("m\r");
    session.until_done("merge bob");
    session.press("x");
    session.until_shown("merged: bob");
    assert!(desk.path("bob.txt").exists());
    session.press("u\r");
    session.until_done("undo");
    session.press("x");
    session.until("the row", |terminal| terminal.is_other && !terminal.text().contains("merged"));
    assert!(!desk.path("bob.txt").exists());
    session.press("gm");
    session.until_shown("> git colony merge ada");
    session.press("\u{1b}");
    session.until_list();
    session.press("nnew\r");
    session.until_done("agents new new");
    session.press("x");
    session.until_shown("  new  ");
    session.press("R\u{15}ls\r");
    session.until_shown("only commands of 'git colony' run here");
    session.press("q");
    session.until_left("code 0");
    session.end();
}

#[test]
fn a_shell_starts_in_the_clone_and_leads_back() {
    let desk = desk();
    let mut session = Session::watch(&desk, 24, 200);
    session.press("s");
    session.until_shown("clones/main && exec $SHELL");
    session.press("pwd >../place; echo work >more.txt; exit\n");
    session.until_list();
    // The file of the clone is there: the desk was looked at again.
    session.until_shown("1*");
    session.press("q");
    session.until_left("code 0");
    session.end();
}

#[test]
fn the_output_of_a_program_is_followed_and_the_program_ended() {
    let desk = desk();
    let line = "echo begun; exec sleep 600";
    let made = desk.json(&["agents", "new", "cleo", "--detach", "-x", line]);
    let program = u32::try_from(made["started"]["pid"].as_u64().unwrap()).unwrap();
    let mut session = Session::watch(&desk, 24, 80);
    session.press("/cleo\ro");
    session.until_shown("begun");
    assert!(is_running(program));
    session.press("\u{3}");
    session.until_done("agents output --follow cleo");
    session.press(" ");
    session.until_list();
    session.press("x");
    session.until_shown("> git colony agents stop cleo");
    assert!(is_running(program));
    session.press("\r");
    let text = session.until_done("agents stop cleo");
    assert!(text.contains("cleo: ended process"), "{text}");
    assert!(!is_running(program));
    session.press(" ");
    session.until_list();
    session.press("q");
    session.until_left("code 0");
    session.end();
}

#[test]
fn ctrl_c_reaches_a_command_and_not_the_screen() {
    let desk = desk();
    let mut session = Session::watch(&desk, 24, 80);
    session.press("n\u{15}git colony events --follow\r");
    let screen = pid(&desk);
    eventually("the command runs", || {
        let children = fs::read_to_string(format!("/proc/{screen}/task/{screen}/children"));
        !children.unwrap().is_empty()
    });
    session.press("\u{3}");
    let text = session.until_done("events --follow");
    // It may not have asked for signals yet.
    assert!(text.contains("exit code 130") || text.contains("ended by a signal"), "{text}");
    session.press("x");
    session.until_list();
    session.press("q");
    session.until_left("code 0");
    session.end();
}

#[test]
fn ctrl_z_leaves_the_terminal_and_fg_draws_all_again() {
    let desk = desk();
    let mut session = Session::watch(&desk, 24, 80);
    session.press("\u{1a}");
    session.until_left("Stopped");
    session.press("clear; fg\n");
    let list = session.until_list();
    assert!(list.contains("> ada"), "{list}");
    session.press("jq");
    session.until_left("ready:");
    session.end();
}

#[test]
fn signals_end_the_screen_and_restore_the_terminal() {
    let desk = desk();
    let mut session = Session::begin(&desk, 24, 80);
    let ends = [("TERM", "143"), ("INT", "130"), ("HUP", "143"), ("QUIT", "131")];
    for (name, code) in ends {
        session.press("clear\n");
        session.start();
        signal(&desk, name);
        session.until_left(&format!("code {code}"));
    }
    session.end();
}

#[test]
fn the_end_of_the_terminal_ends_the_screen() {
    let desk = desk();
    let mut session = Session::watch(&desk, 24, 80);
    let pid = pid(&desk);
    session.child.kill().unwrap();
    session.child.wait().unwrap();
    eventually("it has ended", || !is_running(pid));
}

#[test]
fn a_new_size_and_new_work_draw_the_screen_again() {
    let desk = desk();
    let mut session = Session::watch(&desk, 24, 80);
    let terminal = fs::read_link(format!("/proc/{}/fd/0", pid(&desk))).unwrap();
    let terminal = terminal.to_str().unwrap();
    let sized = desk.process("stty").args(["-F", terminal, "rows", "50", "cols", "120"]).status();
    assert!(sized.unwrap().success());
    (session.rows, session.columns) = (50, 120);
    session.until("the last line", |terminal| {
        terminal.text().lines().nth(49).is_some_and(|line| line.starts_with(KEYS))
    });
    // Plain git tells nobody.
    desk.git(&["commit", "-q", "--allow-empty", "-m", "plain"]);
    let ada = desk.at(clone_of(&desk, "ada"));
    ada.write("plain.txt", "plain\n");
    ada.git(&["add", "-A"]);
    session.until("the index", |terminal| terminal.text().contains("1*"));
    ada.colony(&["checkpoint", "-m", "seen"]);
    session.until_shown("created checkpoint 'seen'");
    session.press("q");
    session.until_left("code 0");
    session.end();
}

fn clone_of(desk: &View, agent: &str) -> PathBuf {
    desk.colony(&["agents", "path", agent]).trim().into()
}

#[test]
fn without_a_terminal_the_screen_is_refused_in_two_lines() {
    let desk = Sandbox::new();
    for args in [&["--watch"][..], &["fleet", "--watch"], &["--watch", "fleet"]] {
        let run = desk.run(args);
        assert_eq!(run.code, 128);
        assert_eq!(
            run.stderr,
            "error: '--watch' needs a terminal, for its screen and its keys\n\
             hint: git colony\n"
        );
        assert_eq!(desk.error(args), "terminal-needed");
    }
    let run = desk.run(&["--watch", "ops"]);
    assert_eq!(run.code, 129);
    assert!(run.stderr.contains("not for 'ops'"), "{}", run.stderr);
}

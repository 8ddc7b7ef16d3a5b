//! The screen as it is drawn, and what its keys ask for: without a terminal.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use git_colony::testing::Sketcher;
use insta::assert_snapshot;

use crate::agents::new_and_merge::{agent, commit};
use crate::support::{Sandbox, View};

/// A subject that would clear a terminal, set its title and turn its text around.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;pwn\u{7} \u{732b}\u{732b} \u{202e}txt.exe \u{9b}31m";

const DEEP: &str = "src/a/folder/that/is/deep/and/its/name/long/parser.rs";

/// A desk with an agent in each state, and their clones.
fn desk() -> Sandbox {
    let desk = Sandbox::new();
    let clones = ["ada", "bob", "carol", "dora", "eve"].map(|name| agent(&desk, name));
    let [ada, bob, carol, dora, _] = clones;
    carol.write("c.txt", "of carol\n");
    carol.colony(&["commit", "-m", "Merged soon", "--all"]);
    ada.write("a.txt", "of ada\n");
    ada.colony(&["commit", "-m", HOSTILE, "--all"]);
    bob.write(DEEP, "of bob\n");
    bob.colony(&[
        "commit",
        "-m",
        "Read the file in one go, and name what it cannot parse",
        "--all",
    ]);
    bob.write("b.txt", "uncommitted\n");
    dora.write("d.txt", "uncommitted\n");
    assert_eq!(dora.run(&["hook", "codex"]).code, 0);
    desk.write(DEEP, "of the desk\n");
    desk.colony(&["commit", "-m", "Another one", "--all"]);
    desk.colony(&["merge", "carol"]);
    desk
}

/// Looks at it at a fixed time.
fn sketcher(desk: &View) -> Sketcher {
    desk.colony(&["fleet"]);
    Sketcher::read(desk.world_at(7_200)).unwrap()
}

fn last_lines(text: &str, count: usize) -> Vec<String> {
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines[lines.len() - count..].to_vec()
}

#[test]
fn the_screen_has_the_rows_of_the_printed_desk_at_any_width() {
    let desk = desk();
    let sketcher = sketcher(&desk);
    let mut shown = String::new();
    for columns in [60, 80, 120, 200] {
        let text = sketcher.draw(columns, 16, "").text;
        writeln!(shown, "{columns} columns\n{text}").unwrap();
        // A verdict is never cut.
        assert!(text.contains("conflict parser.rs\n"), "{text}");
    }
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    assert_snapshot!(shown);
    let printed = desk.run_in(desk.world_at(7_200), &["fleet"]).stdout;
    let screen = sketcher.draw(200, 24, "G").text;
    for line in printed.lines() {
        assert!(screen.contains(line), "{line}\n{screen}");
    }
}

#[test]
fn more_rows_than_lines_scroll_between_header_and_bottom() {
    let desk = desk();
    let sketcher = sketcher(&desk);
    let whole = sketcher.draw(100, 30, "").text;
    let head: Vec<_> = whole.lines().take(2).collect();
    for keys in ["", "j", "jjj", "G", "Gk", "Gg", "J", "JK"] {
        let text = sketcher.draw(100, 9, keys).text;
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(&lines[..2], &head[..], "{text}");
        assert!(lines[8].starts_with("space mark"), "{text}");
        let under_cursor = lines.iter().filter(|line| line.starts_with('>')).count();
        assert_eq!(under_cursor, 1, "{keys}: {text}");
    }
    assert!(sketcher.draw(100, 9, "G").text.contains("> merged: carol"));
    let small = sketcher.draw(39, 20, "");
    assert_eq!(small.text.trim(), "40 columns, 8 rows needed; q: quit");
    assert_eq!(sketcher.draw(39, 20, "q").asks_for, "Quit");
    for (columns, rows) in [(1, 1), (2, 40), (40, 8), (500, 200)] {
        let text = sketcher.draw(columns, rows, "jjm").text;
        assert_eq!(text.lines().count(), usize::from(rows));
    }
}

#[test]
fn each_key_writes_its_whole_command_into_the_bottom_line() {
    let desk = desk();
    let sketcher = sketcher(&desk);
    // What only looks runs at once.
    for (keys, asks_for) in [
        ("\n", "git colony agents show ada"),
        ("d", "git colony diff --patch ada"),
        ("jd", "git colony diff --patch bob@"),
        ("l", "git colony log ada"),
        ("o", "git colony agents output --follow ada"),
        ("G\n", "git colony agents"),
        ("s", "Shell(\"ada\")"),
        ("q", "Quit"),
        ("\u{3}", "Quit"),
        ("\u{1a}", "Suspend"),
        ("\u{c}", "Redraw"),
        ("?", ""),
        ("Gs", ""),
        ("Gl", ""),
        ("Go", ""),
    ] {
        assert_eq!(sketcher.draw(100, 24, keys).asks_for, asks_for, "{keys:?}");
    }
    // What changes something waits for Enter, and may be edited or left.
    for (keys, line) in [
        ("m", "git colony merge ada"),
        (" j m", "git colony merge ada && git colony merge dora"),
        ("u", "git colony undo"),
        ("neve", "git colony agents new eve"),
        ("jR", "git colony agents remove bob"),
        (" jjR", "git colony agents remove ada"),
        ("GR", "git colony agents remove --merged"),
        ("jx", "git colony agents stop bob"),
        (" j x", "git colony agents stop ada dora"),
        ("m\u{17}bob", "git colony merge bob"),
        ("m\u{7f}\u{7f}x", "git colony merge ax"),
    ] {
        let waiting = sketcher.draw(100, 24, keys);
        assert_eq!(waiting.asks_for, "", "{keys:?}");
        assert_eq!(last_lines(&waiting.text, 2)[0], format!("> {line}"), "{keys:?}");
        let entered = sketcher.draw(100, 24, &format!("{keys}\n"));
        assert_eq!(entered.asks_for, line, "{keys:?}");
        let left = sketcher.draw(100, 24, &format!("{keys}\u{1b}q"));
        assert_eq!(left.asks_for, "Quit", "{keys:?}");
    }
}

#[test]
fn a_key_marks_all_that_are_done_and_merge_cleanly() {
    let desk = Sandbox::new();
    let names = ["ada", "bob", "cyd", "dora", "eve", "finn"];
    let clones = names.map(|name| agent(&desk, name));
    for (name, clone) in names.iter().zip(&clones) {
        let path = if *name == "bob" { "same.txt".to_owned() } else { format!("{name}.txt") };
        commit(clone, &path, &format!("of {name}\n"));
        if *name != "cyd" {
            clone.colony(&["agents", "done"]);
        }
    }
    commit(&desk, "same.txt", "of the desk\n");
    desk.colony(&["agents", "hold", "dora"]);
    clones[5].write("loose.txt", "uncommitted\n");
    let sketcher = sketcher(&desk);
    let head = "main: nothing uncommitted, 6 agents, 5 done";
    let text = sketcher.draw(80, 24, "D").text;
    assert_eq!(text.lines().next(), Some(head));
    let marked: Vec<_> = text.lines().filter(|line| line.get(1..2) == Some("*")).collect();
    assert!(marked[0].starts_with(">*ada  ") && marked[1].starts_with(" *eve  "), "{text}");
    assert_eq!(marked.len(), 2, "{text}");
    let line = |keys: &str| last_lines(&sketcher.draw(80, 24, keys).text, 2)[0].clone();
    assert_eq!(line("DL"), "> git colony land ada eve");
    // Others stay marked, and each can be unmarked.
    assert_eq!(line("jj DL"), "> git colony land ada cyd eve");
    assert_eq!(line("D L"), "> git colony land eve");
    assert_eq!(line("/eve\nDL"), "> git colony land eve");
    assert!(line("/bob\nD").starts_with("no row is done and merges cleanly "));
    assert_eq!(line("/bob\nDL"), "> git colony land");
    assert_eq!(desk.colony(&["fleet"]).lines().next(), Some(head));
    desk.colony(&["merge", "ada"]);
    assert!(desk.colony(&["fleet"]).contains(", 6 agents, 4 done\n"));
}

#[test]
fn a_high_screen_has_the_newest_events_below_the_next_commands() {
    let desk = desk();
    let events = desk.run_in(desk.world_at(7_200), &["events", "-n", "6"]).stdout;
    let events: Vec<_> = events.lines().skip(1).collect();
    assert_eq!(events.len(), 6);
    let sketcher = sketcher(&desk);
    let text = sketcher.draw(200, 40, "").text;
    let lines: Vec<_> = text.lines().collect();
    let place = lines.iter().position(|line| line.starts_with("then: ")).unwrap();
    assert_eq!(lines[place + 1], "");
    assert_eq!(lines[place + 2..place + 8], events[..], "{text}");
    assert_eq!(lines[place + 8], "");
    let narrow = sketcher.draw(60, 50, "").text;
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    // A lower one and the printed table have none of it.
    let low = sketcher.draw(200, 39, "").text;
    let without = lines[..=place].iter().chain(&lines[place + 8..]);
    let without: Vec<_> = without.filter(|line| !line.is_empty()).collect();
    let low: Vec<_> = low.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(low.iter().collect::<Vec<_>>(), without);
    assert!(!desk.colony(&["fleet"]).contains(events[5]));
}

#[test]
fn a_filter_leaves_some_rows_and_esc_shows_all() {
    let desk = desk();
    let sketcher = sketcher(&desk);
    let text = sketcher.draw(100, 24, "/PARSE\n").text;
    assert!(text.contains("> bob") && !text.contains("  ada  "), "{text}");
    assert!(text.contains("1/1 with 'PARSE'"), "{text}");
    assert_eq!(sketcher.draw(100, 24, "/parse\nm\n").asks_for, "git colony merge bob");
    assert_eq!(sketcher.draw(100, 24, "/nobody\nm").asks_for, "");
    let text = sketcher.draw(100, 24, "/nobody\nm").text;
    assert!(text.contains("there is no row"), "{text}");
    let text = sketcher.draw(100, 24, "/parse\n\u{1b}").text;
    assert!(text.contains("  ada  ") && text.contains("> bob"), "{text}");
    let help = sketcher.draw(80, 24, "?").text;
    assert_snapshot!(help);
}

#[test]
fn a_key_is_answered_at_once_with_a_hundred_rows() {
    let desk = Sandbox::new();
    let base = desk.git(&["rev-parse", "HEAD"]);
    for number in 0..100 {
        let tree = desk.git(&["rev-parse", "HEAD^{tree}"]);
        let subject = format!("Work {number}");
        let tip = desk.git(&["commit-tree", "-p", &base, "-m", &subject, &tree]);
        desk.git(&["update-ref", &format!("refs/heads/fork/f{number:03}"), &tip]);
    }
    commit(&agent(&desk, "ada"), "a.txt", "of ada\n");
    let sketcher = sketcher(&desk);
    let shown = sketcher.draw(120, 50, "G").text;
    assert!(shown.contains("101/101"), "{shown}");
    let start = Instant::now();
    for _ in 0..10 {
        assert_eq!(sketcher.draw(120, 50, "j").asks_for, "");
    }
    // Without optimization on a busy machine; a fraction of it otherwise.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

//! The keys of the screen, and the command of each: the one table of them.

use ratatui::crossterm::event::KeyCode;

/// A key.
pub(super) struct Key {
    /// How it comes from the terminal.
    pub(super) codes: &'static [KeyCode],
    /// Its name; empty for a key that is named with the one before.
    pub(super) shown: &'static str,
    /// Its purpose, as the line of keys has it; empty for a key that is only in the list of all.
    pub(super) short: &'static str,
    /// Its purpose.
    pub(super) purpose: &'static str,
    pub(super) does: KeyEffect,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyEffect {
    Move(Step),
    Mark,
    /// Marks all rows that are done and merge cleanly.
    MarkDone,
    Run(Offer),
    Shell,
    Filter,
    Help,
    Quit,
}

/// Where the cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Down,
    Up,
    /// This number of rows.
    Forward(usize),
    Back(usize),
    First,
    Last,
}

/// A command that a key offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// Its words after `git colony`; the names follow.
    pub(super) words: &'static str,
    pub(super) on: NamesGiven,
    pub(super) when: RunTime,
}

/// Which names a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamesGiven {
    /// None.
    Nothing,
    /// The agent under the cursor; of a fork without an agent the files are shown.
    Agent,
    /// The agent under the cursor; nothing of a fork without an agent.
    AgentOnly,
    /// What the row under the cursor has, with its uncommitted changes.
    State,
    /// The marked rows, else the one under the cursor: a command for each.
    EachRow,
    /// The marked agents, else the one under the cursor: one command for all.
    Agents,
    /// The marked agents, else none: the command chooses.
    Marked,
}

/// When a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunTime {
    /// At once: it only looks.
    AtOnce,
    /// After Enter: it changes something, and may be edited before.
    AfterEnter,
}

const fn looks(words: &'static str) -> KeyEffect {
    KeyEffect::Run(Offer { words, on: NamesGiven::State, when: RunTime::AtOnce })
}

const fn changes(words: &'static str, on: NamesGiven) -> KeyEffect {
    KeyEffect::Run(Offer { words, on, when: RunTime::AfterEnter })
}

/// The commands of the line that names those who are merged: to show and to remove them.
pub(super) const ON_MERGED: [(&str, &str); 2] =
    [("agents show", "agents"), ("agents remove", "agents remove --merged")];

/// All keys.
pub(super) const KEYS: [Key; 23] = [
    Key {
        codes: &[KeyCode::Down, KeyCode::Char('j')],
        shown: "j, k",
        short: "",
        purpose: "the next row, the row before, or arrows",
        does: KeyEffect::Move(Step::Down),
    },
    Key {
        codes: &[KeyCode::Up, KeyCode::Char('k')],
        shown: "",
        short: "",
        purpose: "",
        does: KeyEffect::Move(Step::Up),
    },
    Key {
        codes: &[KeyCode::PageDown, KeyCode::Char('J')],
        shown: "J, K",
        short: "",
        purpose: "ten rows on, back, as page down, up",
        does: KeyEffect::Move(Step::Forward(10)),
    },
    Key {
        codes: &[KeyCode::PageUp, KeyCode::Char('K')],
        shown: "",
        short: "",
        purpose: "",
        does: KeyEffect::Move(Step::Back(10)),
    },
    Key {
        codes: &[KeyCode::Home, KeyCode::Char('g')],
        shown: "g, G",
        short: "",
        purpose: "the first row, the last row",
        does: KeyEffect::Move(Step::First),
    },
    Key {
        codes: &[KeyCode::End, KeyCode::Char('G')],
        shown: "",
        short: "",
        purpose: "",
        does: KeyEffect::Move(Step::Last),
    },
    Key {
        codes: &[KeyCode::Char(' ')],
        shown: "space",
        short: "mark",
        purpose: "mark the row, or unmark it",
        does: KeyEffect::Mark,
    },
    Key {
        codes: &[KeyCode::Char('D')],
        shown: "D",
        short: "",
        purpose: "mark all that are done and merge cleanly",
        does: KeyEffect::MarkDone,
    },
    Key {
        codes: &[KeyCode::Enter],
        shown: "enter",
        short: "show",
        purpose: "its task, commits, files, clashes",
        does: KeyEffect::Run(Offer {
            words: "agents show",
            on: NamesGiven::Agent,
            when: RunTime::AtOnce,
        }),
    },
    Key {
        codes: &[KeyCode::Char('d')],
        shown: "d",
        short: "diff",
        purpose: "its changes as a patch",
        does: looks("diff --patch"),
    },
    Key {
        codes: &[KeyCode::Char('l')],
        shown: "l",
        short: "log",
        purpose: "its commits",
        does: looks("log"),
    },
    Key {
        codes: &[KeyCode::Char('o')],
        shown: "o",
        short: "",
        purpose: "what its program prints, as it comes",
        does: KeyEffect::Run(Offer {
            words: "agents output --follow",
            on: NamesGiven::AgentOnly,
            when: RunTime::AtOnce,
        }),
    },
    Key {
        codes: &[KeyCode::Char('s')],
        shown: "s",
        short: "shell",
        purpose: "a shell in its clone; 'exit' leads here",
        does: KeyEffect::Shell,
    },
    Key {
        codes: &[KeyCode::Char('m')],
        shown: "m",
        short: "merge",
        purpose: "merge marked rows, else this one",
        does: changes("merge", NamesGiven::EachRow),
    },
    Key {
        codes: &[KeyCode::Char('L')],
        shown: "L",
        short: "land",
        purpose: "test, merge marked agents, else all done",
        does: changes("land", NamesGiven::Marked),
    },
    Key {
        codes: &[KeyCode::Char('t')],
        shown: "t",
        short: "",
        purpose: "test marked agents merged, else all done",
        does: changes("try", NamesGiven::Marked),
    },
    Key {
        codes: &[KeyCode::Char('u')],
        shown: "u",
        short: "undo",
        purpose: "undo the newest operation",
        does: changes("undo", NamesGiven::Nothing),
    },
    Key {
        codes: &[KeyCode::Char('n')],
        shown: "n",
        short: "",
        purpose: "an agent: type its name",
        does: changes("agents new ", NamesGiven::Nothing),
    },
    Key {
        codes: &[KeyCode::Char('x')],
        shown: "x",
        short: "",
        purpose: "end programs of marked agents, else this",
        does: changes("agents stop", NamesGiven::Agents),
    },
    Key {
        codes: &[KeyCode::Char('R')],
        shown: "R",
        short: "",
        purpose: "remove marked agents, else this one",
        does: changes("agents remove", NamesGiven::Agents),
    },
    Key {
        codes: &[KeyCode::Char('/')],
        shown: "/",
        short: "",
        purpose: "only rows with this name or subject",
        does: KeyEffect::Filter,
    },
    Key {
        codes: &[KeyCode::Char('?')],
        shown: "?",
        short: "keys",
        purpose: "all keys",
        does: KeyEffect::Help,
    },
    Key {
        codes: &[KeyCode::Char('q')],
        shown: "q",
        short: "quit",
        purpose: "leave the screen",
        does: KeyEffect::Quit,
    },
];

//! The screen of a repository after some keys, as text: for tests.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::cli::commands::team::fleet::table::Desk;
use crate::desk::fleet::{Whose, fleet};
use crate::git::ObjectWrites;
use crate::model::{Result, World};
use crate::store::Session;
use crate::store::settings::Flags;
use crate::ui::layout::width_of;
use crate::ui::theme::Palette;

use super::draw::draw;
use super::looker::DeskReading;
use super::news;
use super::state::{KeyOutcome, State};

/// A screen.
#[derive(Debug)]
pub struct Sketch {
    /// Its lines.
    pub text: String,
    /// What the last key asks for, beside another drawing: a command, a shell, the end.
    pub asks_for: String,
}

/// A report, to be drawn more than once.
pub struct Sketcher {
    reading: DeskReading,
    world: World,
}

impl Sketcher {
    /// Reads the repository in which a world stands.
    pub fn read(world: World) -> Result<Sketcher> {
        let session = Session::open(world.clone(), &Flags::default(), ObjectWrites::InMemory)?;
        let report = fleet(&session, Whose::ThisCheckout)?;
        Ok(Sketcher { reading: DeskReading { report, events: news::newest(&session) }, world })
    }

    /// Draws it after some keys; control characters are the keys of a terminal.
    pub fn draw(&self, columns: u16, rows: u16, keys: &str) -> Sketch {
        let now = self.world.now();
        let desk = Desk::of(&self.reading.report, &now);
        let mut state = State::new(now, Palette::Plain, "git colony".to_owned());
        state.follow(&desk);
        let mut act = KeyOutcome::Nothing;
        for key in keys.chars() {
            act = state.press(key_of(key), &desk);
        }
        let asks_for = match act {
            KeyOutcome::Nothing => String::new(),
            KeyOutcome::Run(line) => line,
            act => format!("{act:?}"),
        };
        let mut terminal = match Terminal::new(TestBackend::new(columns, rows)) {
            Ok(terminal) => terminal,
            Err(never) => match never {},
        };
        if let Err(never) = terminal.draw(|frame| draw(&self.reading, &state, frame)) {
            match never {}
        }
        let buffer = terminal.backend().buffer();
        let lines = buffer.content().chunks(usize::from(columns.max(1))).map(|cells| {
            let mut line = String::new();
            let mut covered = 0;
            for cell in cells {
                if covered == 0 {
                    line.push_str(cell.symbol());
                    covered = width_of(cell.symbol()).max(1);
                }
                covered -= 1;
            }
            line.trim_end().to_owned() + "\n"
        });
        Sketch { text: lines.collect(), asks_for }
    }
}

fn key_of(c: char) -> KeyEvent {
    let held = |code| KeyEvent::new(code, KeyModifiers::CONTROL);
    match c {
        '\n' => KeyCode::Enter.into(),
        '\u{1b}' => KeyCode::Esc.into(),
        '\u{7f}' => KeyCode::Backspace.into(),
        c if c.is_ascii_control() => held(KeyCode::Char(char::from(c as u8 | 0x60))),
        c => KeyCode::Char(c).into(),
    }
}

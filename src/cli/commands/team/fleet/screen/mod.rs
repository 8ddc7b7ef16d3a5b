//! The screen of `git colony --watch`: the printed desk, with keys. A key writes a command, and a command runs in the
//! terminal as if it was typed there. The screen itself changes nothing and holds no lock. Only this folder names
//! ratatui.

mod cursor_place;
mod draw;
mod keyboard;
mod keys;
mod line_edit;
mod looker;
mod news;
mod run_commands;
pub mod sketch;
mod state;
mod terminal;
mod typed_commands;

use std::io;
use std::time::Duration;

use ratatui::crossterm::event::{Event, KeyEvent, KeyEventKind};

use crate::cli::display::is_dumb;
use crate::cli::{Face, Stop};
use crate::desk::fleet::{FleetReport, Row, Whose};
use crate::git::process::foreground;
use crate::model::text::typed_word;
use crate::model::{Code, Error, World};
use crate::store::Session;
use crate::ui::answer::{Form, Outcome};

use super::table::Desk;
use looker::{DeskReading, Looker};
use run_commands::Runner;
use state::{KeyOutcome, State};
use terminal::ScreenTerminal;

/// How long a key is waited for before signals and reports are looked at.
const TICK_INTERVAL: Duration = Duration::from_millis(250);

/// The same while a report is awaited.
const SHORT_INTERVAL: Duration = Duration::from_millis(20);

/// Refuses a screen where there is none: before anything is looked at.
pub(super) fn refuse_without_terminal(face: &Face<'_>) -> Result<(), Error> {
    let has_screen = face.env.terminal.streams.is_some() && !is_dumb(&face.env.world);
    if has_screen && face.form == Form::Text && crate::env::keyboard().is_some() {
        return Ok(());
    }
    let message = "'--watch' needs a terminal, for its screen and its keys";
    Err(Error::new(Code::TerminalNeeded, message).unchanged().hint("git colony"))
}

/// Shows the screen until it is left.
pub(super) fn run(
    face: &mut Face<'_>,
    session: Session,
    report: FleetReport,
    whose: Whose,
) -> Result<Outcome, Stop> {
    let world = session.world.clone();
    let reading = DeskReading { report, events: news::newest(&session) };
    drop(session);
    let own = face.env.terminal.streams.as_ref();
    let streams = own.ok_or(Stop::Stream(io::ErrorKind::NotConnected.into()))?;
    let tty = streams.stdout.try_clone().map_err(Stop::Stream)?;
    let runner = Runner::new(&world, streams).map_err(Stop::Stream)?;
    let agent = face.flags.agent.as_ref();
    let prefix = agent.map_or_else(String::new, |agent| format!(" --agent {}", typed_word(agent)));
    let state = State::new(world.now(), face.palette(), format!("git colony{prefix}"));
    let looker = Looker::start(&world, &face.flags, whose).map_err(Stop::Stream)?;
    let terminal = ScreenTerminal::enter(face.env, tty).map_err(Stop::Stream)?;
    DeskScreen { terminal, looker, runner, state, reading, world }.serve()?;
    Ok(Outcome::Yes)
}

/// Whether the screen goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScreenFlow {
    On,
    End,
}

struct DeskScreen {
    terminal: ScreenTerminal,
    looker: Looker,
    runner: Runner,
    state: State,
    reading: DeskReading,
    world: World,
}

impl DeskScreen {
    fn serve(&mut self) -> Result<(), Stop> {
        self.state.follow(&Desk::of(&self.reading.report, &self.state.now));
        self.draw().map_err(Stop::Stream)?;
        loop {
            self.world.interrupt.check()?;
            let mut has_changed = self.take_report();
            let awaited = self.looker.is_awaited;
            let mut wait = if awaited { SHORT_INTERVAL } else { TICK_INTERVAL };
            while let Some(event) = keyboard::next(wait).map_err(Stop::Stream)? {
                if self.handle(event).map_err(Stop::Stream)? == ScreenFlow::End {
                    return Ok(());
                }
                has_changed = true;
                // Keys that have come already are taken before it is drawn.
                wait = Duration::ZERO;
            }
            if has_changed {
                self.draw().map_err(Stop::Stream)?;
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let (reading, state) = (&self.reading, &self.state);
        self.terminal.draw(|frame| draw::draw(reading, state, frame))
    }

    /// Takes the newest report, if one has come.
    fn take_report(&mut self) -> bool {
        let said = self.terminal.waiting_line().filter(|_| self.state.notice.is_empty());
        let mut has_changed = said.is_some();
        self.state.notice.extend(said);
        match self.looker.newest() {
            None => return has_changed,
            Some(Ok(reading)) => self.reading = reading,
            Some(Err(error)) => self.state.notice = error.sentence(),
        }
        has_changed = true;
        self.state.now = self.world.now();
        self.state.follow(&Desk::of(&self.reading.report, &self.state.now));
        has_changed
    }

    fn handle(&mut self, event: Event) -> io::Result<ScreenFlow> {
        let desk = Desk::of(&self.reading.report, &self.state.now);
        let act = match event {
            Event::Key(key @ KeyEvent { kind: KeyEventKind::Press | KeyEventKind::Repeat, .. }) => {
                self.state.press(key, &desk)
            }
            Event::Paste(text) => {
                self.state.paste(&text, &desk);
                KeyOutcome::Nothing
            }
            _ => KeyOutcome::Nothing,
        };
        match act {
            KeyOutcome::Nothing => {}
            KeyOutcome::Quit => return Ok(ScreenFlow::End),
            KeyOutcome::Redraw => self.terminal.redraw()?,
            KeyOutcome::Suspend => {
                self.terminal.leave();
                foreground::suspend();
                self.terminal.resume()?;
                self.looker.refresh();
            }
            KeyOutcome::Run(line) => match typed_commands::read(&line) {
                Ok(commands) => {
                    self.begin(&line);
                    self.runner.run_all(&commands);
                    self.end()?;
                }
                Err(refused) => self.state.notice = refused,
            },
            KeyOutcome::Shell(agent) => {
                let all = self.reading.report.agents.iter();
                let mut rows = all.filter(|row| row.agent.as_ref() == Some(&agent));
                if let Some(path) = rows.find_map(Row::clone_path).map(ToOwned::to_owned) {
                    let line = format!("cd {} && exec $SHELL", typed_word(&path.to_string_lossy()));
                    self.begin(&line);
                    self.runner.run_shell(&path);
                    self.state.notice = line;
                    self.end()?;
                }
            }
        }
        Ok(ScreenFlow::On)
    }

    /// Gives the terminal to a command.
    fn begin(&mut self, line: &str) {
        self.looker.rest();
        self.terminal.leave();
        self.runner.announce(line);
    }

    /// Takes the terminal again after a command, and asks for a new reading.
    fn end(&mut self) -> io::Result<()> {
        self.terminal.resume()?;
        self.looker.refresh();
        Ok(())
    }
}

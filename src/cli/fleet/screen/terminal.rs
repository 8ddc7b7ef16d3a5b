//! The terminal while the screen has it. However the screen ends, the terminal is as before: this is dropped on the way.

use std::fs::File;
use std::io;

use ratatui::Terminal;
use ratatui::backend::{Backend as _, ClearType, CrosstermBackend};
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::env::Env;
use crate::ui::held_lines::HeldLines;

/// A terminal that is a screen.
pub(super) struct ScreenTerminal {
    tty: File,
    held: HeldLines,
    narrate: std::sync::Arc<dyn Fn(&str) + Send + Sync>,
    drawn: Option<Terminal<CrosstermBackend<File>>>,
}

impl ScreenTerminal {
    /// Takes the terminal that `tty` is; narration waits from now on.
    pub(super) fn enter(env: &Env, tty: File) -> io::Result<ScreenTerminal> {
        let held = env.terminal.held.clone();
        let narrate = std::sync::Arc::clone(&env.world.narrate);
        let mut screen = ScreenTerminal { tty, held, narrate, drawn: None };
        screen.resume()?;
        Ok(screen)
    }

    /// Takes the terminal again.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.held.begin();
        enable_raw_mode()?;
        execute!(self.tty, EnterAlternateScreen, EnableBracketedPaste)?;
        self.redraw()
    }

    /// Forgets what was drawn: the next drawing draws everything.
    pub(super) fn redraw(&mut self) -> io::Result<()> {
        let mut backend = CrosstermBackend::new(self.tty.try_clone()?);
        backend.clear_region(ClearType::All)?;
        self.drawn = Some(Terminal::new(backend)?);
        Ok(())
    }

    /// Draws.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut ratatui::Frame<'_>)) -> io::Result<()> {
        let terminal = self.drawn.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        terminal.draw(draw)?;
        Ok(())
    }

    /// Gives the terminal back as it was, and writes what has waited.
    pub(super) fn leave(&mut self) {
        // The last drawing may have hidden the cursor; its drop shows it.
        self.drawn = None;
        // Where the terminal has gone, there is nothing to restore.
        execute!(self.tty, DisableBracketedPaste, LeaveAlternateScreen, Show).ok();
        disable_raw_mode().ok();
        for line in self.held.end() {
            (self.narrate)(&line);
        }
    }

    /// Returns the newest narration that waits.
    pub(super) fn waiting_line(&self) -> Option<String> {
        self.held.newest()
    }
}

impl Drop for ScreenTerminal {
    fn drop(&mut self) {
        self.leave();
    }
}

//! The terminal while the screen has it. However the screen ends, the terminal is as before: this is dropped on the way,
//! and the words of a panic are written after that.

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
        leave_before_panics(tty.try_clone()?);
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
        give_back(&mut self.tty);
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

/// Makes a terminal as it was before.
fn give_back(tty: &mut impl io::Write) {
    // Where the terminal has gone, there is nothing to restore.
    execute!(tty, DisableBracketedPaste, LeaveAlternateScreen, Show).ok();
    disable_raw_mode().ok();
}

/// Lets a panic leave the screen before its message is written: that would be gone with the screen.
fn leave_before_panics(tty: File) {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back(&mut &tty);
        tell(panic);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Seek as _};

    #[test]
    fn the_words_of_a_panic_are_written_after_the_screen() {
        let mut tty = tempfile::tempfile().unwrap();
        let said = tty.try_clone().unwrap();
        std::panic::set_hook(Box::new(move |panic| {
            io::Write::write_all(&mut &said, panic.to_string().as_bytes()).unwrap();
        }));
        leave_before_panics(tty.try_clone().unwrap());
        let ended = std::thread::spawn(|| panic!("lost in the screen")).join();
        drop(std::panic::take_hook());
        assert!(ended.is_err());
        let mut text = String::new();
        tty.rewind().unwrap();
        tty.read_to_string(&mut text).unwrap();
        let left = text.find("\u{1b}[?1049l").unwrap();
        assert!(left < text.find("lost in the screen").unwrap(), "{text:?}");
    }
}

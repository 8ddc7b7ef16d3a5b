//! Commands in the terminal, as if they were typed there: each has its own pager, and Ctrl-C is for it alone.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ratatui::crossterm::event::{Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::git::process::foreground::{self, Foreground};
use crate::git::process::pager::PagerStreams;
use crate::model::{World, escape};
use crate::streams::Streams;

use super::{cursor_place, keyboard};

/// How often it is looked whether a signal has come while a key is waited for.
const TICK_INTERVAL: Duration = Duration::from_millis(250);

/// What a pager gets where the user has chosen nothing: it shows colors, and clears its text when it is left, so that the
/// screen is back at once.
const OF_PAGERS: [(&str, &str); 1] = [("LESS", "R")];

/// What runs commands.
pub(super) struct Runner {
    world: World,
    stdout: File,
    stderr: File,
}

impl Runner {
    pub(super) fn new(world: &World, streams: &Streams) -> io::Result<Runner> {
        Ok(Runner {
            world: world.clone(),
            stdout: streams.stdout.try_clone()?,
            stderr: streams.stderr.try_clone()?,
        })
    }

    /// Writes a line before it runs, as a shell shows it.
    pub(super) fn announce(&mut self, line: &str) {
        self.say(&format!("$ {}\r\n", escape::line(line)));
    }

    /// Runs commands of ours one after the other, until one fails; waits for a key if they have printed anything.
    pub(super) fn run_all(&mut self, commands: &[Vec<OsString>]) {
        // With a free line below, whatever is printed moves the cursor.
        self.say("\n\u{1b}[A");
        let began_at = self.cursor();
        let program = self.world.program.clone();
        let mut ended = String::new();
        for args in commands {
            let directory = self.world.cwd.clone();
            ended = self.run(&Foreground {
                program: &program,
                args,
                directory: &directory,
                variables: &OF_PAGERS,
            });
            if !ended.is_empty() {
                break;
            }
        }
        let has_printed = began_at.is_none() || self.cursor() != began_at;
        let has_printed = has_printed || !ended.is_empty();
        if has_printed && self.world.interrupt.signal().is_none() {
            self.say(&format!("{ended}any key leads back to the desk"));
            self.wait_for_key();
            self.say("\r\n");
        }
    }

    /// Runs the user's shell in a directory.
    pub(super) fn run_shell(&mut self, directory: &Path) {
        let shell = self.world.variable("SHELL").map_or_else(|| "sh".into(), PathBuf::from);
        self.run(&Foreground { program: &shell, args: &[], directory, variables: &[] });
    }

    /// Runs a program; returns how it failed, if it did.
    fn run(&mut self, foreground: &Foreground<'_>) -> String {
        let terminal = PagerStreams { stdout: &self.stdout, stderr: &self.stderr };
        match foreground::run(&self.world, foreground, &terminal) {
            Ok(status) if status.success() => String::new(),
            Ok(status) => match status.code() {
                Some(code) => format!("exit code {code}; "),
                None => "ended by a signal; ".to_owned(),
            },
            Err(error) => format!("{}; ", escape::line(&error.sentence())),
        }
    }

    fn cursor(&mut self) -> Option<(u16, u16)> {
        enable_raw_mode().ok()?;
        let place = cursor_place::ask(&mut self.stdout);
        disable_raw_mode().ok()?;
        place
    }

    fn wait_for_key(&self) {
        if enable_raw_mode().is_err() {
            return;
        }
        let is_key =
            |event: &Event| matches!(event, Event::Key(KeyEvent { kind: KeyEventKind::Press, .. }));
        while self.world.interrupt.signal().is_none() {
            match keyboard::next(TICK_INTERVAL) {
                Ok(None) => {}
                Ok(Some(event)) if !is_key(&event) => {}
                Ok(Some(_)) | Err(_) => break,
            }
        }
        disable_raw_mode().ok();
    }

    fn say(&mut self, text: &str) {
        // Where the terminal has gone, nobody reads it.
        self.stdout.write_all(text.as_bytes()).ok();
    }
}

//! How an answer looks to people: colors and the pager, as the command line, the environment and git's configuration
//! have it.

use std::io;
use std::path::Path;

use crate::Exit;
use crate::env::{Env, Terminal};
use crate::git::Repo;
use crate::git::process::pager::{self, PagerSettings, PagerStreams};
use crate::model::time::Moment;
use crate::model::{Result, World};
use crate::store::settings;
use crate::ui::answer::Form;
use crate::ui::theme::Palette;
use crate::workspace::bench::{self, Measured};

use super::args::ColorWhen;
use super::{Face, Stop};

/// What the command line says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// When colors are shown.
    pub(super) color: ColorWhen,
    /// Whether no pager is to be started.
    pub(super) no_pager: bool,
}

/// What git's configuration says.
#[derive(Clone, Debug, Default)]
pub(super) struct GitDisplay {
    color_ui: Option<String>,
    pager: PagerSettings,
}

impl GitDisplay {
    fn of(repo: &Repo) -> GitDisplay {
        GitDisplay {
            color_ui: repo.config("color.ui"),
            pager: PagerSettings {
                own: repo.config("pager.colony"),
                core: repo.config("core.pager"),
            },
        }
    }
}

/// Decides about colors: the flag, then `NO_COLOR`, then `color.ui`, then whether it is a terminal.
fn palette(world: &World, when: ColorWhen, display: &GitDisplay, is_terminal: bool) -> Palette {
    let painted = match (when, display.color_ui.as_deref()) {
        (ColorWhen::Always, _) => true,
        (ColorWhen::Never, _) => false,
        _ if world.variable("NO_COLOR").is_some() => false,
        (ColorWhen::Auto, Some("always")) => true,
        (ColorWhen::Auto, Some("never" | "false" | "no" | "off" | "0")) => false,
        (ColorWhen::Auto, _) => is_terminal && !is_dumb(world),
    };
    if painted { Palette::Ansi } else { Palette::Plain }
}

/// Returns `true` if the terminal shows plain text only.
pub(super) fn is_dumb(world: &World) -> bool {
    matches!(world.text_variable("TERM"), None | Some("dumb"))
}

impl Face<'_> {
    /// Notes what the configuration of the repository says, the first that was opened.
    pub(super) fn note_display(&self, repo: Option<&Repo>) {
        if let Some(repo) = repo {
            self.display.get_or_init(|| GitDisplay::of(repo));
            self.note_times(repo.workdir(), |key| repo.config(key));
        }
    }

    /// Notes whether the time of this command is kept, and with which checkout: the first that was opened.
    pub(super) fn note_times(&self, root: &Path, configured: impl FnOnce(&str) -> Option<String>) {
        self.measured_at.get_or_init(|| {
            settings::keeps_times(&self.env.world, configured).then(|| root.to_owned())
        });
    }

    /// Keeps the time of a command that has ended, if the user wants that.
    pub(super) fn keep_time(&self, command: String, started: Moment, exit: Exit) {
        let Some(Some(root)) = self.measured_at.get() else {
            return;
        };
        let world = self.env.world.standing_in(root);
        let measured = Measured { command, started, exit: exit.0 };
        if let Err(error) = bench::record(&world, &measured) {
            (world.narrate)(&format!(
                "warning: cannot keep the time of this command: {}",
                error.message()
            ));
        }
    }

    /// Returns how the answer is painted.
    pub(super) fn palette(&self) -> Palette {
        let world = &self.env.world;
        // Git has started the pager itself: 'git -p colony'.
        let is_paged = world.text_variable("GIT_PAGER_IN_USE") == Some("true");
        let is_seen = is_paged || self.env.terminal.streams.is_some();
        match self.form {
            Form::Text => palette(world, self.wanted.color, &self.display(), is_seen),
            Form::Json | Form::Quiet => Palette::Plain,
        }
    }

    /// Returns how an error is painted.
    pub(super) fn palette_of_errors(&self) -> Palette {
        let is_seen = self.env.terminal.has_stderr;
        palette(&self.env.world, self.wanted.color, &self.display(), is_seen)
    }

    fn display(&self) -> GitDisplay {
        self.display.get().cloned().unwrap_or_default()
    }

    /// Writes an answer, through a pager where it only lists and does not fit on the terminal.
    pub(super) fn write(&mut self, text: &str, is_listing: bool) -> Result<(), Stop> {
        let settings = self.display().pager;
        let is_paged = is_listing && self.form == Form::Text && !self.wanted.no_pager;
        if is_paged && page(self.env, &settings, text)? {
            return Ok(());
        }
        write_plainly(self.env, text).map_err(Stop::Stream)
    }
}

/// Returns the palette for usage errors, which are printed before anything is opened.
pub(super) fn early_palette(env: &Env) -> Palette {
    let is_seen = env.terminal.has_stderr;
    palette(&env.world, ColorWhen::Auto, &GitDisplay::default(), is_seen)
}

/// Shows a text in a pager, where it does not fit and there is one.
fn page(env: &Env, settings: &PagerSettings, text: &str) -> Result<bool> {
    let world = &env.world;
    if is_dumb(world) || fits(&env.terminal, text) {
        return Ok(false);
    }
    let Some(streams) = &env.terminal.streams else {
        return Ok(false);
    };
    let Some(command) = pager::command(world, settings) else {
        return Ok(false);
    };
    let terminal = PagerStreams { stdout: &streams.stdout, stderr: &streams.stderr };
    pager::show(world, &command, text, &terminal)
}

fn fits(terminal: &Terminal, text: &str) -> bool {
    let Some((rows, columns)) = terminal.rows.zip(terminal.columns) else {
        return true;
    };
    let height = |line: &str| line.chars().count().div_ceil(columns).max(1);
    // The prompt comes below.
    text.lines().map(height).sum::<usize>() < rows
}

fn write_plainly(env: &mut Env, text: &str) -> io::Result<()> {
    env.stdout.write_all(text.as_bytes())?;
    env.stdout.flush()
}

//! One command line being answered: where it stands, what it prints, and the exit code.

use std::cell::{Cell, OnceCell};
use std::io;
use std::path::PathBuf;

use crate::Exit;
use crate::env::Env;
use crate::model::error::Verdict;
use crate::model::world::NamedRoot;
use crate::model::{Code, Error, Result, World};
use crate::store::settings::Flags;
use crate::ui::answer::{AnswerForm, Form, Layout, Outcome};
use crate::ui::sent::Sent;
use crate::ui::theme::Palette;
use crate::ui::{Answer, print_error, print_json_error};

use super::display::{GitDisplay, Wanted};

/// The number of the signal that is sent when the terminal closes.
const SIGHUP: i32 = 1;

/// What ends a command early.
pub(super) enum Stop {
    /// The command failed.
    Command(Error),
    /// The answer could not be written.
    Stream(io::Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Command(error)
    }
}

/// One command line being answered.
pub(super) struct Face<'a> {
    pub(super) form: Form,
    pub(super) flags: Flags,
    /// What '-C' says.
    pub(super) directory: Option<PathBuf>,
    /// The repository that a variable names instead of the one we stand in; asked once.
    pub(super) named_root: OnceCell<Option<NamedRoot>>,
    /// The clone of the agent that stands for the repository, outside of any.
    pub(super) clone: OnceCell<PathBuf>,
    /// What the command line says of colors and the pager.
    pub(super) wanted: Wanted,
    /// What the configuration says of them, once a repository was opened.
    pub(super) display: OnceCell<GitDisplay>,
    /// The checkout with which the time of the command is kept, if the user wants that; known once one was opened.
    pub(super) measured_at: OnceCell<Option<PathBuf>>,
    /// Whether '--verbose' was given.
    pub(super) verbose: bool,
    /// The owner of the repository, if root has asked for a change of another user's: it was only planned.
    pub(super) held_back_for: Cell<Option<u32>>,
    pub(super) env: &'a mut Env,
}

/// Whether a command only says what it would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// Do it.
    ForReal,
    /// Only say it.
    Dry,
}

impl From<bool> for Run {
    fn from(dry_run: bool) -> Self {
        if dry_run { Run::Dry } else { Run::ForReal }
    }
}

impl Face<'_> {
    /// Returns the world, standing where `-C` says.
    pub(super) fn world(&self) -> Result<World> {
        let mut world = self.env.world.clone();
        if let Some(directory) = &self.directory {
            let elsewhere = world.absolute(directory);
            world.started_in = Some(std::mem::replace(&mut world.cwd, elsewhere));
            if !world.cwd.is_dir() {
                return Err(Error::new(
                    Code::NotARepository,
                    format!("'{}' is not a directory", world.cwd.display()),
                ));
            }
        } else if let Some(named) = self.named_root(&world)? {
            world.started_in = Some(std::mem::replace(&mut world.cwd, named.root.clone()));
            world.named_root = Some(named);
        }
        Ok(world)
    }

    /// Returns where commands are sent that are offered: where this one ran.
    pub(super) fn sent(&self) -> Sent {
        let world = &self.env.world;
        let directory = self.directory.as_ref().map(|there| world.absolute(there));
        let named = self.named_root.get().cloned().flatten();
        let directory = directory.or(named.map(|named| named.root));
        let ran_in = self.clone.get().or(directory.as_ref());
        Sent::to(world, ran_in.unwrap_or(&world.cwd))
    }

    /// Returns `true` if the answer goes into a pipe that nobody reads any more: what runs for long ends then.
    pub(super) fn has_lost_its_reader(&self) -> bool {
        self.form != Form::Quiet && self.env.terminal.has_lost_its_reader()
    }

    /// Refuses an answer that only plans, where root asked for more than a plan.
    fn refuse_plan_of_root(&self, answer: &impl Answer) -> Result<(), Error> {
        let is_plan = || {
            let json = serde_json::to_value(answer).unwrap_or_default();
            json.get("dry_run").is_some_and(|dry_run| dry_run == true)
        };
        match self.held_back_for.get().filter(|_| is_plan()) {
            Some(owner) => World { owner_beside_root: Some(owner), ..self.world()? }.refuse_root(),
            None => Ok(()),
        }
    }

    /// Does something for each of several names, each once. One for which it fails stops no other: its error stands
    /// among the answers, and the exit code is 1.
    pub(super) fn each(
        &mut self,
        names: &[String],
        mut change: impl FnMut(&mut Face<'_>, &str) -> Result<Outcome, Stop>,
    ) -> Result<Outcome, Stop> {
        let mut outcome = Outcome::Yes;
        for (at, name) in names.iter().enumerate() {
            if names.iter().take(at).any(|before| before == name) {
                continue;
            }
            match change(self, name) {
                Ok(Outcome::Yes) => continue,
                Err(Stop::Command(error)) if error.code() != Code::Interrupted => {
                    let palette = self.palette();
                    face_error(&error, self.form, palette, self.env);
                }
                Err(stop) => return Err(stop),
                Ok(Outcome::No) => {}
            }
            outcome = Outcome::No;
        }
        Ok(outcome)
    }

    pub(super) fn answer(&mut self, answer: &impl Answer) -> Result<Outcome, Stop> {
        self.refuse_plan_of_root(answer)?;
        if self.form == Form::Text {
            for line in answer.narration() {
                (self.env.world.narrate)(&line);
            }
        }
        let shown = AnswerForm {
            form: self.form,
            on_terminal: self.env.world.stdout_is_terminal,
            sent: self.sent(),
            palette: self.palette(),
            columns: self.env.terminal.columns,
        };
        let now = || self.env.world.now();
        let text = shown.render(answer, now).map_err(Stop::Stream)?;
        self.write(&text, answer.is_listing())?;
        Ok(answer.outcome())
    }
}

pub(super) fn face_error(error: &Error, form: Form, palette: Palette, env: &mut Env) -> Exit {
    let printed = match form {
        Form::Json => {
            let is_person = env.world.stdout_is_terminal;
            let layout = if is_person { Layout::Spread } else { Layout::Compact };
            print_json_error(&mut env.stdout, layout, error)
        }
        Form::Text | Form::Quiet => print_error(&mut env.stderr, palette, error),
    };
    if let Err(error) = printed {
        return stream_failed(&error, env);
    }
    exit_of_error(error)
}

/// Returns the exit code of a command, if its answer can be written.
pub(super) fn exit_of(done: &Result<Outcome, Stop>) -> Exit {
    match done {
        Ok(Outcome::Yes) => Exit(0),
        Ok(Outcome::No) => Exit(1),
        Err(Stop::Stream(_)) => Exit(128),
        Err(Stop::Command(error)) => exit_of_error(error),
    }
}

fn exit_of_error(error: &Error) -> Exit {
    match error.ends_with() {
        Verdict::Failed => Exit(128),
        Verdict::Usage => Exit(129),
        // 129, as a shell has it, is that of wrong usage: SIGHUP asks for what SIGTERM asks for.
        Verdict::Signal(SIGHUP) => Exit(143),
        Verdict::Signal(signal) => Exit(u8::try_from(128 + signal).unwrap_or(255)),
    }
}

/// A reader that closed the pipe is not an error of ours.
pub(super) fn stream_failed(error: &io::Error, env: &mut Env) -> Exit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Exit(0);
    }
    // There is no stream left to report it on but this one.
    drop(writeln!(env.stderr, "error: cannot write the answer: {error}"));
    Exit(128)
}

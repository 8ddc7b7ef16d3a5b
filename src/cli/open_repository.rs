//! Opening the repository that a command is about: the one we stand in, or outside of any the clone of the agent
//! that is named.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::agents::colony::{checkout_settings, clone_of_agent, first_clone, taking_part};
use crate::cli::commands::setup::config;
use crate::git::{Checkout, ObjectWrites, Repo};
use crate::model::text::shell_word;
use crate::model::world::{NamedRoot, Plane};
use crate::model::{Code, Error, Result, World};
use crate::store::Session;

use super::{Face, Run};

/// What a command may do to what it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Change it.
    ForReal,
    /// Read it: copies of published work and caches may be written, nothing else, and no lock is taken.
    Read,
    /// Read it, or only say what would be changed: objects that are made for that are forgotten.
    InMemory,
}

impl From<Run> for Opening {
    fn from(run: Run) -> Self {
        match run {
            Run::ForReal => Opening::ForReal,
            Run::Dry => Opening::InMemory,
        }
    }
}

impl Opening {
    fn writes(self) -> ObjectWrites {
        match self {
            Opening::ForReal | Opening::Read => ObjectWrites::Durable,
            Opening::InMemory => ObjectWrites::InMemory,
        }
    }
}

impl Face<'_> {
    /// Opens a session and says in one line what of the repository's settings cannot be used.
    pub(super) fn session(&self, opening: impl Into<Opening>) -> Result<Session> {
        let session = self.silent_session(opening)?;
        config::warn(&session.world, &session.settings.repository_problems);
        Ok(session)
    }

    /// Opens a session for a command about what others may have published, and looks at that; `typed` are
    /// the names of forks and agents on the command line.
    pub(super) fn session_among_others(
        &self,
        opening: impl Into<Opening>,
        typed: &[String],
    ) -> Result<Session> {
        let session = taking_part::join_others(self.session(opening)?);
        taking_part::gather_for(&session, typed)?;
        Ok(session)
    }

    /// Does what [`Face::session_among_others`] does for a command that creates a missing hub again.
    pub(super) fn session_to_begin(&self, run: Run, typed: &[String]) -> Result<Session> {
        let session = self.session(run)?;
        session.world.refuse_change()?;
        taking_part::gather_to_begin(&session, typed)?;
        Ok(session)
    }

    /// Opens a session where there is a repository; a command that uses this works without one, too.
    pub(super) fn session_if_any(&self) -> Result<(World, Option<Session>)> {
        let world = self.world()?;
        match Session::open(world.clone(), &self.flags, ObjectWrites::Durable) {
            Ok(session) => {
                self.note_display(Some(&session.repo));
                Ok((world, Some(session)))
            }
            Err(error) if error.code() == Code::NotARepository => Ok((world, None)),
            Err(error) => Err(error),
        }
    }

    /// Opens a session for a command about the clones of a colony, or outside of a repository about all clones; a server
    /// reaches the clones of one colony only.
    pub(super) fn session_of_colonies(&self) -> Result<(World, Option<Session>)> {
        if self.env.world.plane == Plane::Cli {
            return self.session_if_any();
        }
        let session = self.session(Opening::ForReal)?;
        Ok((session.world.clone(), Some(session)))
    }

    /// Does the same where a named agent stands for its clone.
    pub(super) fn session_anywhere(&self, run: Run) -> Result<(World, Option<Session>)> {
        match self.session(run) {
            Ok(session) => Ok((session.world.clone(), Some(session))),
            Err(error) if error.code() == Code::NotARepository => Ok((self.world()?, None)),
            Err(error) => Err(error),
        }
    }

    /// Opens a session where there is a repository: outside of any, no clone stands for the agent that is named.
    pub(super) fn session_of_checkout(&self, run: Run) -> Result<(World, Option<Session>)> {
        let world = self.world()?;
        match Repo::open(&world, Opening::InMemory.writes()) {
            Err(error)
                if error.code() == Code::NotARepository && self.env.world.plane == Plane::Cli =>
            {
                Ok((world, None))
            }
            _ => self.session(run).map(|session| (session.world.clone(), Some(session))),
        }
    }

    /// Opens a session for a command that reports on the settings itself.
    pub(super) fn silent_session(&self, opening: impl Into<Opening>) -> Result<Session> {
        let opening = opening.into();
        let world = self.world()?;
        let opened = match Session::open(world.clone(), &self.flags, opening.writes()) {
            Err(error) if error.code() == Code::NotARepository => {
                let inside = self.in_agents_clone(&world, error)?;
                Session::open(inside, &self.flags, opening.writes())
            }
            opened => opened,
        };
        let opened = match opened {
            Ok(session)
                if opening == Opening::ForReal && checkout_settings::renew_own(&session)? =>
            {
                Session::open(session.world, &self.flags, opening.writes())
            }
            opened => opened,
        };
        self.note_display(opened.as_ref().ok().map(|session| &session.repo));
        let owner = opened.as_ref().ok().and_then(|session| session.world.owner_beside_root);
        self.held_back_for.set(owner.filter(|_| opening != Opening::InMemory));
        opened
    }

    /// Opens a repository for a command that needs no session.
    pub(super) fn repository(&self) -> Result<(World, Repo)> {
        let world = self.world()?;
        match Repo::open(&world, Opening::InMemory.writes()) {
            Err(error) if error.code() == Code::NotARepository => {
                let inside = self.in_agents_clone(&world, error)?;
                let repo = Repo::open(&inside, Opening::InMemory.writes())?;
                Ok((inside, repo))
            }
            opened => Ok((world, opened?)),
        }
    }

    /// Makes the clone of the agent that acts, where it stands in no repository and has none: to open a repository makes
    /// nothing.
    pub(super) fn make_missing_clone(&self) -> Result<()> {
        let world = self.world()?;
        match (Repo::open(&world, Opening::InMemory.writes()), self.named_agent(&world)) {
            (Err(error), Some(agent)) if error.code() == Code::NotARepository => {
                first_clone::make_missing(&world, agent)
            }
            _ => Ok(()),
        }
    }

    /// Returns the agent that the command line or the environment names.
    fn named_agent<'a>(&'a self, world: &'a World) -> Option<&'a str> {
        self.flags.agent.as_deref().or(world.text_variable("COLONY_AGENT"))
    }

    /// Decides, for every command, where an agent works that stands in no repository: in its clone. `error` says
    /// that there is none.
    fn in_agents_clone(&self, world: &World, error: Error) -> Result<World> {
        let Some(agent) = self.named_agent(world) else {
            return Err(error);
        };
        let place = match clone_of_agent::require(world, agent) {
            Err(none) if none.code() == Code::ColonyNotFound => {
                let agent = shell_word(agent);
                return Err(error.hint(format!(
                    "git colony clones colony set URL   # then clones new --agent {agent}"
                )));
            }
            place => place?,
        };
        // One command works in one clone.
        let place = self.clone.get_or_init(|| place);
        Ok(World { process: world.process, ..world.standing_in(place) })
    }

    /// Returns the repository that `COLONY_REPOSITORY_ROOT`, or else `VOX_REPOSITORY_ROOT`, names, if it is another
    /// than the one we stand in; `GIT_DIR` wins.
    pub(super) fn named_root(&self, world: &World) -> Result<Option<NamedRoot>> {
        if let Some(root) = self.named_root.get() {
            return Ok(root.clone());
        }
        let root = find_named_root(world)?;
        Ok(self.named_root.get_or_init(|| root).clone())
    }
}

fn find_named_root(world: &World) -> Result<Option<NamedRoot>> {
    let is_blank = |value: &OsStr| value.as_bytes().trim_ascii().is_empty();
    let named = |variable: &'static str| {
        let value = world.variable(variable).filter(|value| !is_blank(value))?;
        Some((variable, world.absolute(Path::new(value))))
    };
    let first = NamedRoot::VARIABLES.into_iter().find_map(named);
    let Some((variable, path)) = first.filter(|_| world.variable("GIT_DIR").is_none()) else {
        return Ok(None);
    };
    if !path.is_dir() {
        let message = format!("{variable} is '{}', which is not a directory", path.display());
        let hint = format!("unset {variable}");
        return Err(Error::new(Code::InvalidValue, message).unchanged().hint(hint));
    }
    let root = Checkout::find(&world.standing_in(&path))?.root;
    let own = Checkout::find(world).ok().map(|checkout| checkout.root);
    Ok((own.as_ref() != Some(&root)).then_some(NamedRoot { variable, root }))
}

//! One command at work: the world, the repository it stands in, and what was asked for globally.

use std::time::Duration;

use crate::git::identity::Identity;
use crate::git::{ObjectWrites, Repo, Signature};
use crate::model::{Result, World};

use super::setting_layers::Layers;
use super::settings::{Flags, Settings};

/// What every use case gets first.
pub struct Session {
    /// The surroundings.
    pub world: World,
    /// The repository.
    pub repo: Repo,
    /// The settings in force.
    pub settings: Settings,
}

impl Session {
    /// Opens the repository the world stands in and reads the settings.
    ///
    /// # Errors
    /// As [`Repo::open`]; `invalid-value` for a setting that does not parse.
    pub fn open(world: World, flags: &Flags, writes: ObjectWrites) -> Result<Session> {
        let repo = Repo::open(&world, writes)?;
        let settings = Settings::of(&Layers::read(&world, &repo, flags))?;
        Ok(Session {
            world,
            repo,
            settings,
        })
    }

    /// Returns who acts: the named agent, else the user.
    ///
    /// # Errors
    /// `identity-unknown`, `invalid-value`.
    pub fn identity(&self) -> Result<Identity> {
        match &self.settings.agent {
            Some(agent) => Identity::of_agent(agent),
            None => Identity::of_user(&self.world, &self.repo),
        }
    }

    /// Returns the signature for records of our own, which need no configured user.
    pub fn record_signature(&self) -> Signature {
        self.identity()
            .unwrap_or_else(|_| Identity::of_program())
            .at(&self.world)
    }

    /// Returns how long to wait for our own lock.
    pub fn lock_timeout(&self) -> Duration {
        self.settings.timeout.unwrap_or(Duration::from_secs(10))
    }

    /// Returns how long to wait for git's `index.lock`.
    pub fn index_lock_timeout(&self) -> Duration {
        self.settings.timeout.unwrap_or(Duration::from_secs(2))
    }
}

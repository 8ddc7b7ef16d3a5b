//! The session of one command: the world, the repository it runs in, and the global options.

use std::path::Path;
use std::time::Duration;

use crate::git::identity::{CommitRole, Identity};
use crate::git::inherited;
use crate::git::object::{Signatures, message_trailers};
use crate::git::{Checkout, ObjectWrites, Repo, Signature};
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result, World};

use super::agent_policy::agent_identity;
use super::files::shared_root::{AgentPlace, is_removed};
use super::lease::lease_holder::session_of;
use super::lock::wait::WaitLimit;
use super::membership::{self, Membership, Role};
use super::settings::setting_layers::Layers;
use super::settings::{Flags, Settings};

/// How long to wait for git's lock on the index.
const INDEX_LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The first parameter of every use case.
pub struct Session {
    /// The environment, the clock and the like.
    pub world: World,
    /// The repository.
    pub repo: Repo,
    /// The settings in effect; the agent is that of the clone where nothing else names one.
    pub settings: Settings,
    /// The colony of the repository.
    pub membership: Option<Membership>,
}

impl Session {
    /// Opens the repository of the world's current directory and reads the settings.
    ///
    /// Root changes nothing in the repository of another user: its files would be in the way of the owner.
    pub fn open(mut world: World, flags: &Flags, writes: ObjectWrites) -> Result<Session> {
        let mut repo = Repo::open(&world, writes)?;
        world.owner_beside_root = repo.owner_beside_root();
        if world.owner_beside_root.is_some() && writes == ObjectWrites::Durable {
            repo = Repo::open(&world, ObjectWrites::InMemory)?;
        }
        Session::of(world, repo, flags)
    }

    /// Opens a repository that others control, such as a clone: see [`Repo::open_foreign`].
    pub fn open_foreign(world: &World, folder: &Path, writes: ObjectWrites) -> Result<Session> {
        let repo = Repo::open_foreign(world, folder, writes)?;
        Session::of(world.standing_in(folder), repo, &Flags::default())
    }

    fn of(mut world: World, repo: Repo, flags: &Flags) -> Result<Session> {
        let mut settings = Settings::of(&Layers::read(&world, &repo, flags))?;
        // No setting extends a limit that the caller has set, as hooks do.
        settings.timeout = [world.timeout, settings.timeout].into_iter().flatten().min();
        world.timeout = settings.timeout;
        refuse_around_clone(&world, &repo)?;
        let membership = Membership::find(&repo)?;
        world.colony_root = membership.as_ref().and_then(Membership::root).map(Path::to_owned);
        let of_clone = membership.as_ref().and_then(|member| member.agent.clone());
        settings.agent = settings.agent.or(of_clone);
        let is_users = membership.as_ref().is_none_or(|member| member.role == Role::Desk);
        if is_users && !repo.is_foreign() {
            world.filters = inherited::filters_of(&world, &repo).into();
        }
        Ok(Session { world, repo, settings, membership })
    }

    /// Returns `true` in a dry run: objects stay in memory, and an operation is only planned.
    pub fn is_dry(&self) -> bool {
        !self.repo.keeps_objects()
    }

    /// Returns the identity that acts: the named agent, else the user.
    pub fn identity(&self) -> Result<Identity> {
        match &self.settings.agent {
            Some(agent) => agent_identity::of(&self.world, &self.repo, agent),
            None => Identity::of_user(&self.world, &self.repo, CommitRole::Committer),
        }
    }

    /// Returns who has made a commit of the user's history, and when: an agent is both.
    pub fn signatures(&self) -> Result<Signatures> {
        let signature = |role| {
            let who = match &self.settings.agent {
                Some(_) => self.identity()?,
                None => Identity::of_user(&self.world, &self.repo, role)?,
            };
            who.in_role(&self.world, &self.repo, role)
        };
        Ok(Signatures {
            author: signature(CommitRole::Author)?,
            committer: signature(CommitRole::Committer)?,
        })
    }

    /// Returns the message of a commit with the trailers of the session that `COLONY_SESSION` names, and of the
    /// co-author, if an agent commits and the user has set one.
    pub fn with_trailers(&self, message: String) -> String {
        let message = match self.session_trailer() {
            Some(trailer) => message_trailers::with_trailer(message, &trailer),
            None => message,
        };
        let person = self.settings.co_author.as_ref().filter(|_| self.settings.agent.is_some());
        match person {
            Some(Identity { name, email }) => message_trailers::with_trailer(
                message,
                &format!("Co-authored-by: {name} <{email}>"),
            ),
            None => message,
        }
    }

    /// Returns the trailer of the session that `COLONY_SESSION` names.
    pub fn session_trailer(&self) -> Option<String> {
        let id = session_of(&self.world)?;
        Some(format!("Colony-Session: {}", id.as_str()))
    }

    /// Returns the signature for records of our own, which need no configured user.
    pub fn record_signature(&self) -> Signature {
        self.identity().unwrap_or_else(|_| Identity::of_program()).at(&self.world)
    }

    /// Fails in a clone that is read only, and in one that was removed and is kept for some days.
    pub fn refuse_reader(&self) -> Result<()> {
        let Some(member) = &self.membership else {
            return Ok(());
        };
        // Who keeps or deletes it stands elsewhere.
        if is_removed(self.repo.common_dir()) && !self.repo.is_foreign() {
            return Err(was_removed(member));
        }
        refuse_reader(member)
    }

    /// Records that this repository has changed, for its colony if it has one.
    pub fn note_change(&self) {
        if self.membership.is_some() {
            self.world.changes.note(self.repo.workdir());
        }
    }

    /// Returns how long to wait for a lock of ours.
    pub fn wait_limit(&self) -> WaitLimit {
        WaitLimit::for_lock(self.settings.timeout)
    }

    /// Returns how long to wait for git's `index.lock`, which stays when its git dies.
    pub fn index_lock_limit(&self) -> WaitLimit {
        WaitLimit::AtMost(self.settings.timeout.unwrap_or(INDEX_LOCK_TIMEOUT))
    }
}

/// Fails in the clone of an agent that has lost its git directory, where git finds a repository around it, as that of a
/// home directory.
fn refuse_around_clone(world: &World, repo: &Repo) -> Result<()> {
    let real = world.cwd.canonicalize();
    let Some(place) = AgentPlace::find(real.as_deref().unwrap_or(&world.cwd)) else {
        return Ok(());
    };
    let root = repo.workdir();
    if root == place.clone || !place.clone.starts_with(root) {
        return Ok(());
    }
    let AgentPlace { agent, clone, .. } = place;
    if repo.common_dir() == clone.join(".git") {
        let message = "its configuration has 'core.worktree', which names another directory";
        let hint = "git config --unset core.worktree";
        return Err(Error::new(Code::RepositoryBroken, message).unchanged().hint(hint));
    }
    let message = format!("this clone of agent '{agent}' has lost its '.git'");
    Err(Error::new(Code::RepositoryBroken, message)
        .unchanged()
        .detail("path", clone.display().to_string())
        .detail("agent", &agent)
        .hint(format!(
            "git colony agents restore {}   # by the user, in the checkout",
            typed_word(&agent)
        )))
}

/// Fails for a checkout that is read only, like [`Session::refuse_reader`]; without git, none is.
pub fn refuse_reading_checkout(checkout: &Checkout) -> Result<()> {
    let Some(common_dir) = &checkout.common_dir else {
        return Ok(());
    };
    let member = Membership::read(&membership::path_in(common_dir))?;
    member.as_ref().map_or(Ok(()), refuse_reader)
}

fn was_removed(member: &Membership) -> Error {
    let agent = member.agent.as_deref().unwrap_or("for reading");
    let message = format!("this clone ({agent}) was removed; its files are kept for some days");
    let error = Error::new(Code::CloneNotFound, message).unchanged();
    match &member.agent {
        Some(agent) => error.hint(format!(
            "git colony agents restore {}   # by the user, in the checkout",
            typed_word(agent)
        )),
        None => error,
    }
}

fn refuse_reader(member: &Membership) -> Result<()> {
    if member.role != Role::Reader {
        return Ok(());
    }
    Err(Error::new(Code::ReadOnlyClone, "this clone is for reading and follows its remote")
        .hint("git colony agents new NAME   # creates one to work in"))
}

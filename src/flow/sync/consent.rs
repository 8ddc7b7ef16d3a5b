//! Whether anything may be published to a remote: a person says so once, by `--push`.
//!
//! The consent is for where a push goes to, not for the name of the remote: `colony.sync.<remote>.push` in the
//! configuration of the repository holds the normalized URL of each such place, without credentials, and
//! another place wants another consent. Only that file counts, neither what is configured for all repositories
//! nor for one command. A clone of an agent has none of its own: it goes by the checkouts of people
//! that take part in the same hub, and by the hub, where nobody has a checkout.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::hub::desk_note;
use crate::design::allowed_paths::path_gate;
use crate::git::remote::Remote;
use crate::git::{RemoteUrl, config};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::config_file::ConfigFile;
use crate::store::lock::WorktreeLock;
use crate::store::membership::Role;

use super::Way;

/// Whether anything may be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Nothing was to be published.
    NotAsked,
    /// Nobody has said so for where pushes go to now: nothing was published.
    Missing,
    /// It was given before.
    Given,
    /// It is given by this command.
    GivenNow,
}

/// What is known before anything is asked of a remote.
pub(super) struct Leave {
    pub(super) consent: Consent,
    /// Where a push goes to.
    pub(super) targets: Vec<RemoteUrl>,
    /// The command by which a person consents.
    pub(super) command: String,
}

/// Finds out whether anything may be published.
///
/// # Errors
/// `approval-refused` where an agent asks to publish without consent; `url-refused`.
pub(super) fn find(session: &Session, remote: &Remote<'_>, way: Way) -> Result<Leave> {
    let mut leave = Leave {
        consent: Consent::NotAsked,
        targets: Vec::new(),
        command: String::new(),
    };
    if way == Way::Fetch {
        return Ok(leave);
    }
    leave.targets = remote.push_targets()?;
    let wanted: Vec<String> = leave.targets.iter().map(RemoteUrl::normalized).collect();
    let key = key_of(remote);
    let is_given = |file: &PathBuf| {
        let given = atomic::read_file(file).unwrap_or_default();
        let given = config::values_in(&given, &key);
        !wanted.is_empty() && wanted.iter().all(|url| given.contains(url))
    };
    let places = Places::of(session);
    leave.command = places.command(remote, &wanted);
    leave.consent = if places.files.iter().any(is_given) {
        Consent::Given
    } else if way == Way::Push {
        refuse_agent(session, &leave)?;
        Consent::GivenNow
    } else {
        Consent::Missing
    };
    Ok(leave)
}

/// Writes down what a person has said; what was said for other places of this remote is over.
///
/// # Errors
/// `locked`, `git-failed`, `io`, `no-space`.
pub(super) fn give(session: &Session, remote: &Remote<'_>, leave: &Leave) -> Result<()> {
    let (repo, world) = (&session.repo, &session.world);
    let _lock = WorktreeLock::take_shared(world, repo, session.lock_timeout())?;
    let file = ConfigFile::of_repository(repo);
    let before = file.read()?;
    let (key, mut how, mut after) = (key_of(remote), "--replace-all", before.clone());
    for url in &leave.targets {
        let args = [how, &key, &url.normalized()].map(OsString::from);
        after = ConfigFile::edited(repo, world, &after, &args)?;
        how = "--add";
    }
    if after == before {
        return Ok(());
    }
    file.replace(&before, &after)
}

/// Refuses what only a person may do.
///
/// # Errors
/// `approval-refused`.
pub(super) fn refuse_agent(session: &Session, leave: &Leave) -> Result<()> {
    let Some((agent, reason)) = path_gate::acting_agent(session) else {
        return Ok(());
    };
    Err(Error::new(
        Code::ApprovalRefused,
        format!(
            "agent '{agent}' cannot consent to what is published: that is for its user, and this counts as \
             the agent, because {}; nothing has changed",
            reason.words()
        ),
    )
    .detail("agent", agent)
    .hint(&leave.command))
}

fn key_of(remote: &Remote<'_>) -> String {
    format!("colony.sync.{}.push", remote.name())
}

/// Where a consent may stand.
struct Places {
    files: Vec<PathBuf>,
    is_agents: bool,
}

impl Places {
    fn of(session: &Session) -> Places {
        let member = session.membership.as_ref();
        let Some(member) = member.filter(|member| member.role == Role::Agent) else {
            let files = vec![session.repo.common_dir().join("config")];
            return Places {
                files,
                is_agents: false,
            };
        };
        let desks = desk_note::standing(&member.hub).into_iter();
        let mut files: Vec<_> = desks.map(|git_dir| git_dir.join("config")).collect();
        if files.is_empty() {
            files.push(member.hub.join("config"));
        }
        Places {
            files,
            is_agents: true,
        }
    }

    /// Words how a person consents, wherever that is.
    fn command(&self, remote: &Remote<'_>, wanted: &[String]) -> String {
        let name = shell_word(remote.name());
        let Some(file) = self.files.first().filter(|_| self.is_agents) else {
            return format!("git colony sync {name} --push   # consents to it, once and for all");
        };
        let checkout = file.parent().filter(|folder| folder.ends_with(".git"));
        if let Some(checkout) = checkout.and_then(Path::parent) {
            let checkout = shell_word(&checkout.to_string_lossy());
            return format!(
                "git -C {checkout} colony sync {name} --push   # for the user: consents to it, once and for all"
            );
        }
        let file = shell_word(&file.to_string_lossy());
        let key = shell_word(&key_of(remote));
        let set = |(number, url): (usize, &String)| {
            let how = if number == 0 {
                "--replace-all"
            } else {
                "--add"
            };
            format!("git config --file {file} {how} {key} {}", shell_word(url))
        };
        let all: Vec<String> = wanted.iter().enumerate().map(set).collect();
        format!(
            "{}   # for the user: consents to it, once and for all",
            all.join(" && ")
        )
    }
}

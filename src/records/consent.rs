//! The one gate for everything that is sent to a remote: a person consents once, by `--push`.
//!
//! The result is a [`PushPermit`], without which `git::remote` sends nothing.
//! The consent is for the URL of a push, not for the name of the remote:
//! `colony.sync.<remote>.push` in the configuration of the repository holds each such normalized
//! URL, without credentials, and another URL needs another consent. Only that file counts, neither
//! the configuration for all repositories nor that of one command. A clone of an agent has no
//! consent of its own: those of the checkouts in the same hub count, or that of the hub if no
//! checkout exists.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::hub::desk_note;
use crate::git::plain_file;
use crate::git::remote::url::Provenance;
use crate::git::remote::{PushPermit, Remote};
use crate::git::{RemoteUrl, config};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::files::config_file::ConfigFile;
use crate::store::lease::acting_agent;
use crate::store::lock::WorktreeLock;
use crate::store::membership::Role;

/// The way in which a command is permitted to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// It only uses a consent that was given before.
    Uses,
    /// It is the consent of a person, by `--push`.
    Gives,
}

/// Whether publishing is permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Nothing was to be published.
    NotAsked,
    /// There is no consent for the current push URL: nothing was published.
    Missing,
    /// It was given before.
    Given,
    /// This command gives it.
    GivenNow,
}

/// Whether a command may publish, before a remote is asked.
pub struct Leave {
    /// The answer.
    pub consent: Consent,
    /// The push URLs.
    pub targets: Vec<RemoteUrl>,
    /// The command by which a person consents.
    pub command: String,
}

impl Leave {
    /// Returns the answer for a command that publishes nothing.
    pub fn not_asked() -> Leave {
        Leave { consent: Consent::NotAsked, targets: Vec::new(), command: String::new() }
    }

    /// Returns the permission to publish; records the consent first if this command gives it.
    pub fn permit(&self, session: &Session, remote: &Remote<'_>) -> Result<PushPermit> {
        match self.consent {
            Consent::Given => {}
            Consent::GivenNow => give(session, remote, self)?,
            Consent::Missing | Consent::NotAsked => return Err(self.no_consent(remote)),
        }
        Ok(PushPermit::to(&self.targets))
    }

    /// Makes the error that no person has consented to publishing there.
    pub fn no_consent(&self, remote: &Remote<'_>) -> Error {
        let urls: Vec<_> = self.targets.iter().map(RemoteUrl::without_credentials).collect();
        let message =
            format!("no person has allowed pushing to '{}' ({})", remote.name(), urls.join(", "));
        Error::new(Code::NoConsent, message)
            .detail("remote", remote.name())
            .detail("urls", urls)
            .hint(&self.command)
    }
}

/// Finds out whether publishing is permitted.
pub fn find(session: &Session, remote: &Remote<'_>, ask: Ask) -> Result<Leave> {
    let mut leave = Leave { targets: remote.push_targets()?, ..Leave::not_asked() };
    let wanted: Vec<String> = leave.targets.iter().map(RemoteUrl::normalized).collect();
    let key = key_of(remote);
    let is_given = |file: &PathBuf| {
        let text = plain_file::read(file).unwrap_or_default();
        let given = config::values_in(&text, &key);
        !wanted.is_empty() && wanted.iter().all(|url| given.contains(url))
    };
    let places = Places::of(session);
    leave.command = places.command(remote, &wanted);
    leave.consent = if places.files.iter().any(is_given) {
        Consent::Given
    } else if ask == Ask::Gives {
        refuse_agent(session, &leave)?;
        Consent::GivenNow
    } else {
        Consent::Missing
    };
    Ok(leave)
}

/// Returns `true` if a person has consented to publish to the remote of that name (`origin` if none is named), at
/// its present URLs.
pub fn is_given(session: &Session, remote: Option<&str>) -> Result<bool> {
    let remote = Remote::find(&session.repo, &session.world, remote.unwrap_or("origin"))?;
    Ok(find(session, &remote, Ask::Uses)?.consent == Consent::Given)
}

/// Refuses a push by plain git from a clone of an agent to a URL that no person has allowed.
pub fn refuse_push_of_clone(session: &Session, name: &str, url: &str) -> Result<()> {
    let member = session.membership.as_ref();
    if member.is_none_or(|member| member.role != Role::Agent) {
        return Ok(());
    }
    let url = RemoteUrl::parse(url, Provenance::User, session.repo.workdir())?;
    // A push to a URL has no other name.
    let named = Remote::find(&session.repo, &session.world, name);
    let name = named.map_or_else(|_| "origin".to_owned(), |remote| remote.name().to_owned());
    let (wanted, key) = (url.normalized(), format!("colony.sync.{name}.push"));
    let is_given = |file: &PathBuf| {
        let text = plain_file::read(file).unwrap_or_default();
        config::values_in(&text, &key).contains(&wanted)
    };
    if Places::of(session).files.iter().any(is_given) {
        return Ok(());
    }
    let url = url.without_credentials();
    Err(Error::new(Code::NoConsent, format!("no person has allowed agents to push to {url}"))
        .detail("urls", [&url])
        .hint("git colony checkpoint   # publishes to the hub; a person merges it and pushes"))
}

/// Records the consent of a person; the consents for other URLs of this remote are deleted.
fn give(session: &Session, remote: &Remote<'_>, leave: &Leave) -> Result<()> {
    let (repo, world) = (&session.repo, &session.world);
    let _lock = WorktreeLock::take_shared(world, repo, session.wait_limit())?;
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

/// Refuses a request that only a person may make.
pub fn refuse_agent(session: &Session, leave: &Leave) -> Result<()> {
    let Some((agent, reason)) = acting_agent::of_session(session) else {
        return Ok(());
    };
    Err(acting_agent::refused(&agent, &reason, "allow publishing").hint(&leave.command))
}

fn key_of(remote: &Remote<'_>) -> String {
    format!("colony.sync.{}.push", remote.name())
}

/// The places of consents.
struct Places {
    files: Vec<PathBuf>,
    is_agents: bool,
}

impl Places {
    fn of(session: &Session) -> Places {
        let member = session.membership.as_ref();
        let Some(member) = member.filter(|member| member.role == Role::Agent) else {
            let files = vec![session.repo.common_dir().join("config")];
            return Places { files, is_agents: false };
        };
        let desks = desk_note::standing(&member.hub).into_iter();
        let mut files: Vec<_> = desks.map(|git_dir| git_dir.join("config")).collect();
        if files.is_empty() {
            files.push(member.hub.join("config"));
        }
        Places { files, is_agents: true }
    }

    /// Returns the command by which a person consents, in the right checkout.
    fn command(&self, remote: &Remote<'_>, wanted: &[String]) -> String {
        let name = shell_word(remote.name());
        let Some(file) = self.files.first().filter(|_| self.is_agents) else {
            return format!(
                "git colony sync {name} --push   # allows pushing until its URL changes"
            );
        };
        let checkout = file.parent().filter(|folder| folder.ends_with(".git"));
        if let Some(checkout) = checkout.and_then(Path::parent) {
            let checkout = shell_word(&checkout.to_string_lossy());
            return format!("git -C {checkout} colony sync {name} --push   # for the user");
        }
        let file = shell_word(&file.to_string_lossy());
        let key = shell_word(&key_of(remote));
        let set = |(number, url): (usize, &String)| {
            let how = if number == 0 { "--replace-all" } else { "--add" };
            format!("git config --file {file} {how} {key} {}", shell_word(url))
        };
        let all: Vec<String> = wanted.iter().enumerate().map(set).collect();
        format!("{}   # for the user", all.join(" && "))
    }
}

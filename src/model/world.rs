//! The environment of a command, as values.
//!
//! The faces build a [`World`] from the process; tests build one by hand. Below the faces this is
//! the only source of the time, environment variables, the working directory and random numbers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::Code;
use super::error::{Error, Result};
use super::interrupt::{Interrupt, unpoisoned};
use super::progress::Progress;
use super::text::shell_word;
use super::time::Moment;
use super::variables::Variables;
use super::warned::Warned;

/// The environment of one run of the program.
#[derive(Clone)]
pub struct World {
    /// The directory that relative paths are resolved against.
    pub cwd: PathBuf,
    /// The directory in which the command was started, if it was redirected to another.
    pub started_in: Option<PathBuf>,
    /// The root that a variable names instead of the repository the command was started in.
    pub named_root: Option<NamedRoot>,
    /// The user whom the repository belongs to, if this is root and that user is not: files of root would be in their way.
    pub owner_beside_root: Option<u32>,
    /// The shared root at which the repository has joined its colony: it wins over the variables, so that another HOME or
    /// user does not take the agents for removed ones.
    pub colony_root: Option<PathBuf>,
    /// The environment variables.
    pub variables: Variables,
    /// Returns the time, with any offset.
    pub clock: Arc<dyn Fn() -> Moment + Send + Sync>,
    /// Gives a time the offset of this place; where that is not needed, no zone file is read.
    pub zone: fn(Moment) -> Moment,
    /// Returns 64 fresh random bits.
    pub entropy: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Shows a message to the user (never the answer).
    pub narrate: Arc<dyn Fn(&str) + Send + Sync>,
    /// Shows the progress of long work to the user.
    pub progress: Progress,
    /// Has the output of programs that inherit our streams passed on; called before a library starts one.
    pub listen: Arc<dyn Fn() + Send + Sync>,
    /// Whether libraries may read user and system configuration from the process environment.
    pub user_configuration: UserConfiguration,
    /// Set by signals; long work checks it.
    pub interrupt: Interrupt,
    /// How long to wait for other processes at most; `None` means as long as they need.
    pub timeout: Option<Duration>,
    /// The filters of the user's own checkout, as configuration: commands that look into its clones use them.
    pub filters: Arc<str>,
    /// What this run has changed.
    pub changes: Changes,
    /// What this run has warned of.
    pub warned: Warned,
    /// The process that the command belongs to; `None` if no user's command runs.
    pub process: Option<u32>,
    /// The path of this program, for git to start it again.
    pub program: PathBuf,
    /// A named step at which the run dies, for tests of recovery.
    pub die_at: Option<&'static str>,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Where commands come from.
    pub plane: Plane,
    /// Whether the user has started a server that may run cargo.
    pub allows_cargo: bool,
}

/// Where a command comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Plane {
    /// A command line.
    #[default]
    Cli,
    /// The MCP server: an agent that reaches this repository and its clones.
    Mcp,
    /// The dashboard: the page of a person, which reaches what the MCP server reaches.
    Web,
}

/// A root that a variable names: commands read there, and change nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRoot {
    /// The variable.
    pub variable: &'static str,
    /// The root.
    pub root: PathBuf,
}

impl NamedRoot {
    /// The variables, the first that is set counts.
    pub const VARIABLES: [&'static str; 2] = ["COLONY_REPOSITORY_ROOT", "VOX_REPOSITORY_ROOT"];
}

/// Whether the configuration outside the repository counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserConfiguration {
    /// As git would read it from this process's environment.
    Process,
    /// Only the repository's own configuration; for tests in process.
    Ignored,
}

impl World {
    /// The variables that point to one repository (`git rev-parse --local-env-vars`, without those that carry
    /// settings of the command).
    pub const OF_REPOSITORY: [&'static str; 15] = [
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    ];

    /// Returns the time.
    pub fn now(&self) -> Moment {
        (self.zone)((self.clock)())
    }

    /// Returns 8 random hex digits.
    pub fn nonce8(&self) -> String {
        format!("{:08x}", (self.entropy)() >> 32)
    }

    /// Returns a variable; an empty one counts as unset.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let value = self.variables.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value.as_os_str())
    }

    /// Returns a variable that is UTF-8.
    pub fn text_variable(&self, name: &str) -> Option<&str> {
        self.variable(name)?.to_str()
    }

    /// Returns the folder of cached data, which may be deleted at any time: in `XDG_CACHE_HOME`, or else in
    /// `~/.cache`. It need not exist.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        self.folder_of_user("XDG_CACHE_HOME", ".cache")
    }

    /// Returns the folder of state that is of this machine: in `XDG_STATE_HOME`, or else in
    /// `~/.local/state`. It need not exist.
    pub fn state_folder(&self) -> Option<PathBuf> {
        self.folder_of_user("XDG_STATE_HOME", ".local/state")
    }

    fn folder_of_user(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.variable(variable).map(PathBuf::from);
        let home = || Some(PathBuf::from(self.variable("HOME")?).join(below_home));
        let folder = named.filter(|path| path.is_absolute()).or_else(home)?;
        Some(folder.join("git-colony"))
    }

    /// Returns the same world without the pending interrupt: for undoing an unfinished change.
    #[must_use]
    pub fn undisturbed(&self) -> World {
        World { interrupt: self.interrupt.set_aside(), ..self.clone() }
    }

    /// Returns the same world for a repository in another directory: without the variables that
    /// point to the current repository, and with a change record of its own. Changes there do not
    /// count as the work of this command's user.
    #[must_use]
    pub fn standing_in(&self, directory: &Path) -> World {
        let mut world = self.clone();
        directory.clone_into(&mut world.cwd);
        world.changes = self.changes.elsewhere();
        world.process = None;
        world.forget_named_root();
        world.variables.forget(&World::OF_REPOSITORY);
        world
    }

    /// Stays in the current directory, which a variable may have named.
    pub fn forget_named_root(&mut self) {
        self.named_root = None;
        self.variables.forget(&NamedRoot::VARIABLES);
    }

    /// Refuses a change by root of a repository that belongs to another user.
    pub fn refuse_root(&self) -> Result<()> {
        let Some(owner) = self.owner_beside_root else {
            return Ok(());
        };
        let message = format!("this is root, and the repository belongs to user {owner}");
        Err(Error::new(Code::UntrustedRepository, message)
            .detail("owner", owner)
            .hint(format!("sudo -u '#{owner}' git colony"))
            .unchanged())
    }

    /// Refuses a change of a repository that only a variable names, and by root of one that belongs to another user.
    pub fn refuse_change(&self) -> Result<()> {
        self.refuse_root()?;
        let Some(NamedRoot { variable, root }) = &self.named_root else {
            return Ok(());
        };
        let root = root.to_string_lossy();
        Err(Error::new(
            Code::OtherRepository,
            format!("{variable} names '{root}', another repository"),
        )
        .detail("root", &*root)
        .hint(format!("unset {variable}   # or: git colony -C {} ...", shell_word(&root))))
    }

    /// Makes `path` absolute from the working directory.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// Dies here if a test asked for it.
    pub fn reach(&self, step: &'static str) -> Result<()> {
        if self.die_at == Some(step) {
            self.interrupt.die();
            return Err(Error::new(Code::Interrupted, format!("died at step '{step}'")));
        }
        Ok(())
    }

    /// Returns `true` if a test made this run die: then nothing may be cleaned up.
    pub fn is_dead(&self) -> bool {
        self.interrupt.has_died()
    }
}

/// The changes of a run that the colony has to learn about: recorded where they happen, read when
/// the command has ended.
#[derive(Clone, Default)]
pub struct Changes {
    workdir: Arc<Mutex<Option<PathBuf>>>,
    /// Events of all repositories that the run changes.
    announced: Arc<Mutex<Vec<Announcement>>>,
}

/// An event that is written to the log of a colony when the command has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Announcement {
    /// The log.
    pub log: PathBuf,
    /// The hub or repository that it is of.
    pub home: PathBuf,
    /// The namespace of the event.
    pub namespace: String,
    /// The agent that caused it; empty for the user.
    pub agent: String,
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: serde_json::Value,
    /// When it happened.
    pub at: Moment,
}

impl Changes {
    /// Records that the repository with this working tree has changed.
    pub fn note(&self, workdir: &Path) {
        *unpoisoned(&self.workdir) = Some(workdir.to_owned());
    }

    /// Returns the working tree of the changed repository, if any.
    pub fn workdir(&self) -> Option<PathBuf> {
        unpoisoned(&self.workdir).clone()
    }

    /// Records an event.
    pub fn announce(&self, event: Announcement) {
        unpoisoned(&self.announced).push(event);
    }

    /// Returns the recorded events, in their order, and forgets them.
    pub fn take_announced(&self) -> Vec<Announcement> {
        std::mem::take(&mut unpoisoned(&self.announced))
    }

    /// Returns the record for another repository that the same run changes.
    fn elsewhere(&self) -> Changes {
        Changes { workdir: Arc::default(), announced: Arc::clone(&self.announced) }
    }
}

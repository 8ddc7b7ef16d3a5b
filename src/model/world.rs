//! Everything a command may know of its surroundings, as values.
//!
//! The faces build a [`World`] from the process; tests build one by hand. Below the faces nothing
//! else tells the time, the environment, the working directory or chance.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::error::{Code, Error, Result, Verdict};
use super::progress::Progress;
use super::time::Moment;

/// The surroundings of one run of the program.
#[derive(Clone)]
pub struct World {
    /// The directory relative paths start from.
    pub cwd: PathBuf,
    /// Where the command was started, where it was sent elsewhere since.
    pub started_in: Option<PathBuf>,
    /// The environment variables.
    pub variables: BTreeMap<OsString, OsString>,
    /// Tells the time.
    pub clock: Arc<dyn Fn() -> Moment + Send + Sync>,
    /// Gives 64 fresh random bits.
    pub entropy: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Says something to the person who waits (never the answer).
    pub narrate: Arc<dyn Fn(&str) + Send + Sync>,
    /// Tells the person who waits how far long work is.
    pub progress: Progress,
    /// Whether libraries may read user and system configuration from the process environment.
    pub user_configuration: UserConfiguration,
    /// Set by signals; long work looks at it.
    pub interrupt: Interrupt,
    /// What this run has changed.
    pub changes: Changes,
    /// The process this runs in, for whose it is; `None` where no command of somebody's runs.
    pub process: Option<u32>,
    /// The file of this program, for git to start it again.
    pub program: PathBuf,
    /// A named step at which the run dies, for tests of recovery.
    pub die_at: Option<&'static str>,
    /// Whether the answer goes to a terminal.
    pub stdout_is_terminal: bool,
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
    /// Returns the time.
    pub fn now(&self) -> Moment {
        (self.clock)()
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

    /// Returns the folder for data of ours that anybody may delete: in `XDG_CACHE_HOME`, else in `~/.cache`. It need
    /// not exist.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        let named = self.variable("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || Some(PathBuf::from(self.variable("HOME")?).join(".cache"));
        let folder = named.filter(|path| path.is_absolute()).or_else(home)?;
        Some(folder.join("git-colony"))
    }

    /// Returns the same surroundings without what has been asked to stop: for what takes back a beginning.
    #[must_use]
    pub fn undisturbed(&self) -> World {
        World {
            interrupt: self.interrupt.set_aside(),
            ..self.clone()
        }
    }

    /// Returns the same surroundings as seen from a repository elsewhere: the variables that speak of
    /// the one we stand in are left out, and what changes there is noted apart. What is done there is no
    /// work of whoever runs this.
    #[must_use]
    pub fn standing_in(&self, directory: &Path) -> World {
        let mut world = self.clone();
        directory.clone_into(&mut world.cwd);
        world.changes = Changes::default();
        world.process = None;
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_COMMON_DIR",
            "GIT_OBJECT_DIRECTORY",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "GIT_NAMESPACE",
            "GIT_PREFIX",
        ] {
            world.variables.remove(OsStr::new(name));
        }
        world
    }

    /// Makes `path` absolute from the working directory.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// Dies here if a test asked for it.
    ///
    /// # Errors
    /// `interrupted` at the step named by `die_at`.
    pub fn reach(&self, step: &'static str) -> Result<()> {
        if self.die_at == Some(step) {
            self.interrupt.died.store(true, Ordering::SeqCst);
            return Err(Error::new(
                Code::Interrupted,
                format!("died at step '{step}'"),
            ));
        }
        Ok(())
    }

    /// Tells whether a test made this run die: then nothing may be cleaned up.
    pub fn is_dead(&self) -> bool {
        self.interrupt.died.load(Ordering::SeqCst)
    }
}

/// What a run has changed and a colony has to hear of: noted where it happens, read when the command
/// has ended.
#[derive(Clone, Default)]
pub struct Changes(Arc<Mutex<Option<PathBuf>>>);

impl Changes {
    /// Notes that the repository with this worktree has changed.
    pub fn note(&self, workdir: &Path) {
        *self.lock() = Some(workdir.to_owned());
    }

    /// Returns the worktree of the repository that has changed, if one has.
    pub fn workdir(&self) -> Option<PathBuf> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<PathBuf>> {
        // A poisoned note is still a note.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The flag that signals set, and the children they have to reach.
#[derive(Clone, Default)]
pub struct Interrupt {
    /// True once a signal asked to stop.
    pub flag: Arc<AtomicBool>,
    signal: Arc<AtomicI32>,
    children: Arc<Mutex<Vec<u32>>>,
    died: Arc<AtomicBool>,
    heard: Arc<AtomicBool>,
    completing: Arc<AtomicUsize>,
    /// Of the interrupt this was set aside for.
    _outer: Option<Arc<Completing>>,
}

/// As long as this lives, something is at work that must not be left half done.
pub struct Completing(Arc<AtomicUsize>);

impl Drop for Completing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Interrupt {
    /// Notes that `signal` asked to stop.
    pub fn raise(&self, signal: i32) {
        self.signal.store(signal, Ordering::SeqCst);
        self.flag.store(true, Ordering::SeqCst);
    }

    /// Ends early with `interrupted` if a signal came.
    ///
    /// # Errors
    /// `interrupted`, with the exit code of the signal.
    pub fn check(&self) -> Result<()> {
        if !self.flag.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.heard.store(true, Ordering::SeqCst);
        let signal = self.signal.load(Ordering::SeqCst);
        Err(
            Error::new(Code::Interrupted, "interrupted: nothing has changed")
                .verdict(Verdict::Signal(signal)),
        )
    }

    /// Tells whether the work has taken notice of a signal: it is on its way out.
    pub fn is_heard(&self) -> bool {
        self.heard.load(Ordering::SeqCst)
    }

    /// Begins what has to be carried through once it has begun, however long a signal waits for it.
    #[must_use]
    pub fn complete(&self) -> Completing {
        self.completing.fetch_add(1, Ordering::SeqCst);
        Completing(Arc::clone(&self.completing))
    }

    /// Tells whether such work is under way.
    pub fn is_completing(&self) -> bool {
        self.completing.load(Ordering::SeqCst) > 0
    }

    /// Returns one that no signal reaches; as long as it lives, this one has work to complete.
    fn set_aside(&self) -> Interrupt {
        Interrupt {
            _outer: Some(Arc::new(self.complete())),
            ..Interrupt::default()
        }
    }

    /// Notes a child process that has to end when we are asked to stop.
    pub fn adopt(&self, child: u32) {
        self.with_children(|children| children.push(child));
    }

    /// Forgets a child that has ended.
    pub fn release(&self, child: u32) {
        self.with_children(|children| children.retain(|&pid| pid != child));
    }

    /// Returns the children that are alive now.
    pub fn children(&self) -> Vec<u32> {
        self.with_children(|children| children.clone())
    }

    fn with_children<T>(&self, act: impl FnOnce(&mut Vec<u32>) -> T) -> T {
        // A poisoned list is still a list of process ids.
        act(&mut self
            .children
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

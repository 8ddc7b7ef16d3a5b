//! The one error type: a stable code for agents, one sentence for people, and the next command.
//!
//! A message names the intent, the problem and the state of the repository; hints are commands that
//! work when pasted. Codes are never renamed: readers of `--json` match on them.

use std::fmt;

use serde_json::{Map, Value};

use super::full_disk;

/// A `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The stable, kebab-case names of all errors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// Every code, in the order of this file.
            pub const ALL: &'static [Code] = &[$(Code::$name,)+];

            /// Returns the name used in JSON.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }

            /// Returns the sentence that explains the code in the manual.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$name => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// The directory is not inside a git repository.
    NotARepository = "not-a-repository",
    /// The repository has no working tree, and the command needs one.
    BareRepository = "bare-repository",
    /// The repository belongs to another user; git would call its ownership dubious.
    UntrustedRepository = "untrusted-repository",
    /// The repository uses a format or feature that this version does not support.
    Unsupported = "unsupported",
    /// Something in the repository cannot be read or is malformed.
    RepositoryBroken = "repository-broken",
    /// The checkpoint does not exist.
    CheckpointNotFound = "checkpoint-not-found",
    /// The name matches more than one checkpoint.
    CheckpointAmbiguous = "checkpoint-ambiguous",
    /// The command needs the full name: an abbreviation is not accepted here.
    NameAbbreviated = "name-abbreviated",
    /// The operation does not exist.
    OperationNotFound = "operation-not-found",
    /// The revision does not name a commit.
    RevisionNotFound = "revision-not-found",
    /// The path is neither in the checkpoint nor in the working tree.
    PathNotFound = "path-not-found",
    /// The path is outside the working tree.
    PathOutside = "path-outside",
    /// A merge, rebase, am, cherry-pick, revert or bisect is in progress, or the command runs in a
    /// hook of git-colony.
    OperationInProgress = "operation-in-progress",
    /// Another process holds a lock: git-colony's, git's `index.lock`, or that of a ref.
    Locked = "locked",
    /// Plain git changed HEAD, a ref or the index after the operation; undo would lose that change.
    ExternalChange = "external-change",
    /// There is nothing to undo or redo.
    NothingToUndo = "nothing-to-undo",
    /// Commits that are already on a remote would no longer be on the branch.
    PublishedCommits = "published-commits",
    /// The checkpoint is neither ahead of nor behind the branch.
    Diverged = "diverged",
    /// Paths of the target collide: this file system does not distinguish their names.
    PathCollision = "path-collision",
    /// Something other than a directory is where a directory has to be created.
    PathInTheWay = "path-in-the-way",
    /// Other hooks are where those of git-lfs have to be installed.
    HooksInTheWay = "hooks-in-the-way",
    /// `.colony/manifest.json` is malformed.
    ManifestInvalid = "manifest-invalid",
    /// A file that would be overwritten has uncommitted changes.
    UncommittedEdits = "uncommitted-edits",
    /// Two branches conflict: nothing has changed, or the conflicts are in the working tree, to be
    /// resolved.
    Conflicted = "conflicted",
    /// The index has paths in conflict.
    UnmergedPaths = "unmerged-paths",
    /// A branch of that name exists, or one whose name excludes it.
    BranchExists = "branch-exists",
    /// `.colony/repo_map.yaml` is malformed.
    MapInvalid = "map-invalid",
    /// A tree has more entries than `colony.map.maxEntries` allows for a source, or than git-colony
    /// compares.
    TreeTooLarge = "tree-too-large",
    /// The tree has no usable submodule at that path.
    SubmoduleNotFound = "submodule-not-found",
    /// Something has to be fetched first, and `--offline` or a dry run forbids that.
    Offline = "offline",
    /// No scope with that id is mapped.
    ScopeNotFound = "scope-not-found",
    /// A decision depends on others that the branch does not have.
    MissingDependencies = "missing-dependencies",
    /// No fork has that name.
    ForkNotFound = "fork-not-found",
    /// A branch has commits that no other branch has.
    UnmergedCommits = "unmerged-commits",
    /// Two histories have no common ancestor.
    UnrelatedHistories = "unrelated-histories",
    /// The common ancestor is missing because the history is shallow.
    ShallowNoBase = "shallow-no-base",
    /// There is nothing in progress that could be continued or aborted.
    NothingToResolve = "nothing-to-resolve",
    /// Files that operations moved aside would be deleted.
    KeptFiles = "kept-files",
    /// An object of git-lfs is neither here nor available elsewhere.
    LfsMissing = "lfs-missing",
    /// git-lfs is not installed, and the command needs it.
    LfsNotInstalled = "lfs-not-installed",
    /// A repository or submodule is where a file has to be written.
    NestedRepository = "nested-repository-in-the-way",
    /// The name and e-mail for commits and tags are unknown.
    IdentityUnknown = "identity-unknown",
    /// There are more new files than `colony.maxNewFiles` allows in an automatic checkpoint.
    TooManyNewFiles = "too-many-new-files",
    /// The page does not exist, or its name matches more than one.
    PageNotFound = "page-not-found",
    /// The database of derived data cannot be used; it may be deleted at any time.
    CacheUnusable = "cache-unusable",
    /// An object, or a file that was moved aside, is missing.
    ObjectMissing = "object-missing",
    /// A filter (for example git-lfs) failed, or a file could not be written beforehand.
    FilterFailed = "filter-failed",
    /// The disk is full.
    NoSpace = "no-space",
    /// Reading or writing failed.
    Io = "io",
    /// git failed, or cannot be started.
    GitFailed = "git-failed",
    /// Another process moved a ref.
    RefMoved = "ref-moved",
    /// An unfinished operation could not be completed or canceled.
    RecoveryNeeded = "recovery-needed",
    /// The name of an agent, or a value, is invalid.
    InvalidValue = "invalid-value",
    /// No setting has that name.
    UnknownSetting = "unknown-setting",
    /// The command line is wrong.
    Usage = "usage",
    /// The command was interrupted by a signal.
    Interrupted = "interrupted",
    /// git could not sign the commit or the tag as it is configured to.
    SigningFailed = "signing-failed",
    /// The configuration of an agent does not parse, or is not a plain file.
    AgentConfigRefused = "agent-config-refused",
    /// A record was written by a newer version of git-colony.
    NewerFormat = "newer-format",
    /// The branch is checked out in another worktree.
    BranchInUse = "branch-in-use",
    /// A hook of the repository refused the commit.
    HookRefused = "hook-refused",
    /// The decision does not exist, or its name matches more than one.
    DecisionNotFound = "decision-not-found",
    /// `.colony/tool-registry.json` is malformed.
    ToolRegistryInvalid = "tool-registry-invalid",
    /// A tool, or another file, exists where a tool would be created.
    ToolExists = "tool-exists",
    /// The URL of a repository would act as an option, run a program, or is not allowed in
    /// repository content.
    UrlRefused = "url-refused",
    /// The hub from which a clone borrows its objects is gone.
    HubMissing = "hub-missing",
    /// The agent has a clone already.
    AgentExists = "agent-exists",
    /// No repository is recorded for a colony of that name.
    ColonyNotFound = "colony-not-found",
    /// No agent or clone has that name.
    CloneNotFound = "clone-not-found",
    /// The clone cannot be removed: a process runs in it, or it holds data that cannot be kept.
    CloneInUse = "clone-in-use",
    /// Another process works in the clone of the agent.
    AgentBusy = "agent-busy",
    /// The name of an agent or fork matches more than one.
    NameAmbiguous = "name-ambiguous",
    /// The clone is read-only.
    ReadOnlyClone = "read-only-clone",
    /// A remote rejected the credentials, or there are none.
    AuthenticationFailed = "authentication-failed",
    /// The remote has no such repository, or hides it from this user.
    RemoteNotFound = "remote-not-found",
    /// The remote could not be reached.
    RemoteUnreachable = "remote-unreachable",
    /// A path is outside the allowed paths of an agent.
    ScopeViolation = "scope-violation",
    /// The allowed paths of an agent cannot be read; that does not mean that all paths are allowed.
    ScopeInvalid = "scope-invalid",
    /// The agent has no allowed paths to check against.
    ScopeMissing = "scope-missing",
    /// An agent cannot approve commands; only the user can.
    ApprovalRefused = "approval-refused",
    /// A migration to git-lfs rewrote the history, and the command would use the old one.
    HistoryRewritten = "history-rewritten",
    /// No pattern of `.gitattributes` assigns files to git-lfs.
    NoLfsPatterns = "no-lfs-patterns",
    /// A migration would not include other worktrees, stashes or clones.
    LeftBehind = "left-behind",
}

/// How the process ends when the error reaches the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Refused or failed: exit code 128.
    Failed,
    /// Wrong usage: exit code 129.
    Usage,
    /// Ended by a signal: exit code 128 + its number.
    Signal(i32),
}

/// An error, for people and for programs.
///
/// Boxed, so that a `Result` stays one word wide.
pub struct Error(Box<Inner>);

struct Inner {
    code: Code,
    message: String,
    hint: Option<String>,
    detail: Map<String, Value>,
    verdict: Verdict,
    /// Whether the error was reported under another code, but is a full disk.
    is_full_disk: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error that ends the process with exit code 128. A full disk is recognized and
    /// gets its own code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        let is_full_disk = full_disk::is_behind(code, &message);
        let code = if is_full_disk { Code::NoSpace } else { code };
        Error(Box::new(Inner {
            code,
            message,
            hint: None,
            detail: Map::new(),
            verdict: if code == Code::Usage {
                Verdict::Usage
            } else {
                Verdict::Failed
            },
            is_full_disk,
            source: None,
        }))
    }

    /// Adds the next command to try, unless the disk is full, which needs another hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        if self.0.is_full_disk {
            return self;
        }
        self.replace_hint(hint)
    }

    /// Sets the next command to try, replacing any other.
    #[must_use]
    pub fn replace_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds a machine-readable field to `detail`.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl serde::Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.0.detail.insert(name.to_owned(), value);
        self
    }

    /// Prefixes the message of `tree-too-large` with the name of the tree.
    #[must_use]
    pub fn of_tree(mut self, name: &str) -> Self {
        if self.0.code == Code::TreeTooLarge {
            self.0.message = format!("'{name}': {}", self.0.message);
        }
        self
    }

    /// Adds the cause. If that is a full disk, replaces code and hint.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let cause = cause.into();
        if full_disk::has_caused(self.0.code, cause.as_ref()) {
            self.0.code = Code::NoSpace;
            self.0.is_full_disk = true;
            self.0.hint = None;
        }
        self.0.source = Some(cause);
        self
    }

    /// Sets how the process ends.
    #[must_use]
    pub fn verdict(mut self, verdict: Verdict) -> Self {
        self.0.verdict = verdict;
        self
    }

    /// Returns an error for a failed file operation; a full disk has its own code.
    pub fn io(what: impl Into<String>, cause: std::io::Error) -> Self {
        Error::new(Code::Io, what).caused_by(cause)
    }

    /// Returns the stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Puts what was done before the failure first.
    #[must_use]
    pub fn after(mut self, done: &str) -> Self {
        self.0.message = format!("{done}: {}", self.0.message);
        self
    }

    /// Returns the message with the chain of causes, in one line.
    pub fn message(&self) -> String {
        let mut text = self.0.message.clone();
        let mut cause = self
            .0
            .source
            .as_deref()
            .map(|s| s as &dyn std::error::Error);
        while let Some(error) = cause {
            let more = error.to_string();
            if !text.contains(&more) {
                text = format!("{text}: {more}");
            }
            cause = error.source();
        }
        text
    }

    /// Returns the next command to try.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the machine-readable fields.
    pub fn details(&self) -> &Map<String, Value> {
        &self.0.detail
    }

    /// Returns how the process ends.
    pub fn ends_with(&self) -> Verdict {
        self.0.verdict
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message(), self.0.code.as_str())?;
        self.0
            .hint
            .iter()
            .try_for_each(|hint| write!(f, " (hint: {hint})"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// Gives a foreign error a code and a sentence.
pub trait ResultExt<T> {
    /// Wraps the error with `code` and the sentence from `message`.
    ///
    /// # Errors
    /// The wrapped error, if there was one.
    fn or_code<M: Into<String>>(self, code: Code, message: impl FnOnce() -> M) -> Result<T>;
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> ResultExt<T> for Result<T, E> {
    fn or_code<M: Into<String>>(self, code: Code, message: impl FnOnce() -> M) -> Result<T> {
        self.map_err(|cause| Error::new(code, message()).caused_by(cause))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(
            names
                .iter()
                .all(|n| n.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
        );
    }
}

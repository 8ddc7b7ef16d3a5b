//! The one error type: a stable code for agents, one sentence for people, and the next command.
//!
//! Messages say what was wanted, what was found and what is untouched; hints are commands that work
//! when pasted. Codes are never renamed: `--json` readers match on them.

use std::fmt;

use serde_json::{Map, Value};

use super::full_disk;

/// A `Result` with our [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The stable, kebab-case names of everything that can go wrong.
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
    /// The repository has no worktree, and the command needs one.
    BareRepository = "bare-repository",
    /// The repository belongs to another user; git would call its ownership dubious.
    UntrustedRepository = "untrusted-repository",
    /// The repository uses a format or feature this version does not handle.
    Unsupported = "unsupported",
    /// Something in the repository could not be read or does not make sense.
    RepositoryBroken = "repository-broken",
    /// The wanted checkpoint does not exist.
    CheckpointNotFound = "checkpoint-not-found",
    /// The name fits more than one checkpoint.
    CheckpointAmbiguous = "checkpoint-ambiguous",
    /// The beginning of a name is not enough for what would be done.
    NameAbbreviated = "name-abbreviated",
    /// The wanted operation does not exist.
    OperationNotFound = "operation-not-found",
    /// The revision does not name a commit.
    RevisionNotFound = "revision-not-found",
    /// A path that was named is neither in the checkpoint nor in the worktree.
    PathNotFound = "path-not-found",
    /// A path that was named lies outside the worktree.
    PathOutside = "path-outside",
    /// A merge, rebase, am, cherry-pick, revert or bisect is in progress, or this runs in a hook of ours.
    OperationInProgress = "operation-in-progress",
    /// Another process holds our lock, git's `index.lock`, or the lock of a ref.
    Locked = "locked",
    /// Plain git changed HEAD, a ref or the index since the operation; undoing would lose that.
    ExternalChange = "external-change",
    /// There is nothing to undo or redo.
    NothingToUndo = "nothing-to-undo",
    /// Commits that are already on a remote would leave the branch.
    PublishedCommits = "published-commits",
    /// The checkpoint is neither ahead of nor behind the branch.
    Diverged = "diverged",
    /// Names of the target fall together on this file system.
    PathCollision = "path-collision",
    /// Something that is no directory stands where a directory of ours has to go.
    PathInTheWay = "path-in-the-way",
    /// Hooks of somebody else stand where those of git-lfs have to go.
    HooksInTheWay = "hooks-in-the-way",
    /// `.colony/manifest.json` does not make sense.
    ManifestInvalid = "manifest-invalid",
    /// A file that has to change has uncommitted edits.
    UncommittedEdits = "uncommitted-edits",
    /// Two lines of work conflict: nothing has changed, or the conflicts were opened to be settled.
    Conflicted = "conflicted",
    /// Paths of the index are in conflict.
    UnmergedPaths = "unmerged-paths",
    /// A branch of that name, or one that rules it out, exists.
    BranchExists = "branch-exists",
    /// `.colony/repo_map.yaml` does not make sense.
    MapInvalid = "map-invalid",
    /// A tree has more entries than `colony.map.maxEntries` lets a source list, or than anything is compared with.
    TreeTooLarge = "tree-too-large",
    /// The tree has no submodule at that path that could be used.
    SubmoduleNotFound = "submodule-not-found",
    /// Something has to be fetched first, and `--offline` or a dry run rules that out.
    Offline = "offline",
    /// No scope with that id is mapped.
    ScopeNotFound = "scope-not-found",
    /// A decision needs others that the branch does not have.
    MissingDependencies = "missing-dependencies",
    /// No fork has that name.
    ForkNotFound = "fork-not-found",
    /// A branch has commits that no other has.
    UnmergedCommits = "unmerged-commits",
    /// Two histories have no common ancestor.
    UnrelatedHistories = "unrelated-histories",
    /// The common ancestor is beyond the end of a shallow history.
    ShallowNoBase = "shallow-no-base",
    /// Nothing that could be continued or aborted is under way.
    NothingToResolve = "nothing-to-resolve",
    /// Files that operations moved aside would be deleted.
    KeptFiles = "kept-files",
    /// An object of git-lfs is neither here nor to be had.
    LfsMissing = "lfs-missing",
    /// git-lfs is not installed, and the command needs it.
    LfsNotInstalled = "lfs-not-installed",
    /// A repository or submodule stands where a file has to go.
    NestedRepository = "nested-repository-in-the-way",
    /// No name and e-mail to sign commits and tags with.
    IdentityUnknown = "identity-unknown",
    /// There are more new files than `colony.maxNewFiles` lets an automatic checkpoint take in.
    TooManyNewFiles = "too-many-new-files",
    /// The wanted page does not exist, or its name fits more than one.
    PageNotFound = "page-not-found",
    /// The database of derived data cannot be used; it may be deleted at any time.
    CacheUnusable = "cache-unusable",
    /// An object, or a file that was kept aside, is missing.
    ObjectMissing = "object-missing",
    /// A filter (for example git-lfs) failed, or a file could not be written beforehand.
    FilterFailed = "filter-failed",
    /// The disk is full.
    NoSpace = "no-space",
    /// Reading or writing failed.
    Io = "io",
    /// git failed, or cannot be started.
    GitFailed = "git-failed",
    /// A ref was moved by somebody else.
    RefMoved = "ref-moved",
    /// An unfinished operation could not be completed or canceled.
    RecoveryNeeded = "recovery-needed",
    /// An agent name or a value is not acceptable.
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
    /// A branch is checked out in another worktree.
    BranchInUse = "branch-in-use",
    /// A hook of the repository refused the commit.
    HookRefused = "hook-refused",
    /// The wanted decision does not exist, or the name fits more than one.
    DecisionNotFound = "decision-not-found",
    /// `.colony/tool-registry.json` does not make sense.
    ToolRegistryInvalid = "tool-registry-invalid",
    /// A tool, or something else, stands where a tool is to begin.
    ToolExists = "tool-exists",
    /// The URL of a repository would be an option, run a program, or is not for the content of a repository to name.
    UrlRefused = "url-refused",
    /// The hub that a clone borrows its objects from is gone.
    HubMissing = "hub-missing",
    /// The agent has a clone already.
    AgentExists = "agent-exists",
    /// No repository is noted for a colony of that name.
    ColonyNotFound = "colony-not-found",
    /// No agent or clone has that name.
    CloneNotFound = "clone-not-found",
    /// A clone cannot be taken away while somebody is in it, or while it holds what cannot be kept.
    CloneInUse = "clone-in-use",
    /// Somebody else works in the clone of the agent.
    AgentBusy = "agent-busy",
    /// The name of an agent or fork fits more than one.
    NameAmbiguous = "name-ambiguous",
    /// A clone is for reading only.
    ReadOnlyClone = "read-only-clone",
    /// A remote refused who asked, or did not learn who asks.
    AuthenticationFailed = "authentication-failed",
    /// A remote has no such repository, or does not show it to who asked.
    RemoteNotFound = "remote-not-found",
    /// A remote could not be reached.
    RemoteUnreachable = "remote-unreachable",
    /// A path lies outside what the rule of an agent lets it change.
    ScopeViolation = "scope-violation",
    /// The rule of an agent cannot be read, which is not the same as having none.
    ScopeInvalid = "scope-invalid",
    /// The agent has no rule that paths could be held against.
    ScopeMissing = "scope-missing",
    /// An agent cannot approve commands: that is for its user.
    ApprovalRefused = "approval-refused",
    /// History was rewritten by a migration to git-lfs, and this would go on with, or go back to, what was before.
    HistoryRewritten = "history-rewritten",
    /// No pattern of `.gitattributes` gives files to git-lfs.
    NoLfsPatterns = "no-lfs-patterns",
    /// Other worktrees, stashes or clones would be left behind by a migration.
    LeftBehind = "left-behind",
}

/// How the process ends when the error reaches the face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Refused or failed: exit code 128.
    Failed,
    /// Wrong usage: exit code 129.
    Usage,
    /// Ended by a signal: exit code 128 + its number.
    Signal(i32),
}

/// What went wrong, for people and for programs.
///
/// Boxed, so that a `Result` stays one word wide.
pub struct Error(Box<Inner>);

struct Inner {
    code: Code,
    message: String,
    hint: Option<String>,
    detail: Map<String, Value>,
    verdict: Verdict,
    /// It was called something else where it was met.
    is_full_disk: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Makes an error that ends the process with exit code 128. What is in truth a full disk is called so.
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

    /// Adds the next command to try; not where the disk turned out to be full, which needs another.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        if self.0.is_full_disk {
            return self;
        }
        self.replace_hint(hint)
    }

    /// Says what to try next, whatever was said before.
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

    /// Begins the message of a tree that is too large with the name that led to it.
    #[must_use]
    pub fn of_tree(mut self, name: &str) -> Self {
        if self.0.code == Code::TreeTooLarge {
            self.0.message = format!("'{name}': {}", self.0.message);
        }
        self
    }

    /// Adds the cause. A full disk has its own code, and the hint was for something else.
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

    /// Changes how the process ends.
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

/// Gives a foreign error our code and a sentence.
pub trait ResultExt<T> {
    /// Wraps the error with `code` and the sentence made by `message`.
    ///
    /// # Errors
    /// The wrapped error, where there was one.
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

//! The stable names of all errors, and what errors of a code have in common.

use super::Untouched;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The stable, kebab-case names of all errors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        /// The codes that refuse a command before it changes anything.
const REFUSING: &[Code] = &[
    Code::AgentBusy,
    Code::AgentConfigRefused,
    Code::AgentExists,
    Code::ApprovalNeeded,
    Code::ApprovalRefused,
    Code::BranchExists,
    Code::BranchInUse,
    Code::BranchProtected,
    Code::CacheUnusable,
    Code::CatalogInvalid,
    Code::CatalogMissing,
    Code::CatalogNotEditable,
    Code::CatalogRowExists,
    Code::StateUnusable,
    Code::CheckpointNeeded,
    Code::CloneInUse,
    Code::DecisionNotFound,
    Code::DirectoryNeeded,
    Code::Diverged,
    Code::ExternalChange,
    Code::FilterMissing,
    Code::ForkNotFound,
    Code::HistoryRewritten,
    Code::HooksInTheWay,
    Code::HubMissing,
    Code::KeptFiles,
    Code::LeftBehind,
    Code::LfsNotInstalled,
    Code::ManifestInvalid,
    Code::MapInvalid,
    Code::MapNotEditable,
    Code::MissingDependencies,
    Code::NameAbbreviated,
    Code::NameAmbiguous,
    Code::NestedRepository,
    Code::NoTests,
    Code::NothingToLand,
    Code::TryIncomplete,
    Code::NoLfsPatterns,
    Code::NothingToRevert,
    Code::OperationInProgress,
    Code::OtherRepository,
    Code::PageNotFound,
    Code::PathCollision,
    Code::PathInTheWay,
    Code::PathNotFound,
    Code::ReadOnlyClone,
    Code::RepositoryNotFound,
    Code::ScopeInvalid,
    Code::ScopeNotFound,
    Code::ScopeViolation,
    Code::ShallowNoBase,
    Code::SigningFailed,
    Code::SourceFailed,
    Code::SourceNotFound,
    Code::SourceNotRun,
    Code::SourceUnknown,
    Code::SessionEnded,
    Code::SessionNotFound,
    Code::TooManySessions,
    Code::TooManyWatches,
    Code::TerminalNeeded,
    Code::ToolExists,
    Code::ToolRegistryInvalid,
    Code::TreeTooLarge,
    Code::UncommittedEdits,
    Code::UnmergedCommits,
    Code::UnmergedPaths,
    Code::UnrelatedHistories,
    Code::UrlRefused,
];

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
    /// A variable names another repository than the one that the command was started in and would change, or another
    /// directory has taken the place of the one in which a server was started.
    OtherRepository = "other-repository",
    /// A program that works in the clone of an agent asks its server for a change and does not say in which directory.
    DirectoryNeeded = "directory-needed",
    /// The repository belongs to another user; git would call its ownership dubious.
    UntrustedRepository = "untrusted-repository",
    /// The repository, or the command, uses a format or feature that this version does not support.
    Unsupported = "unsupported",
    /// Something in the repository cannot be read or is malformed.
    RepositoryBroken = "repository-broken",
    /// The preview is not of this call and the present state, or was used before.
    PreviewStale = "preview-stale",
    /// The server has as many calls, connections or streams as it takes at once.
    ServerBusy = "server-busy",
    /// Another program listens on that port.
    PortInUse = "port-in-use",
    /// The command shows a screen, and its output or its input is not a terminal.
    TerminalNeeded = "terminal-needed",
    /// The dashboard wants a token: its link was used, is too old, or the server was started again.
    LoginRequired = "login-required",
    /// The request to the dashboard names another host than this machine.
    HostRefused = "host-refused",
    /// The request to the dashboard comes from a page of another origin.
    OriginRefused = "origin-refused",
    /// The request to the dashboard has a wrong method, type or length.
    RequestRefused = "request-refused",
    /// The dashboard has nothing at that address.
    RouteNotFound = "route-not-found",
    /// The dashboard was started with --read-only.
    ReadOnlyServer = "read-only",
    /// The MCP server no longer keeps the rest of that answer.
    AnswerGone = "answer-gone",
    /// The checkpoint does not exist.
    CheckpointNotFound = "checkpoint-not-found",
    /// Undo would delete a checkpoint whose files are gone from the working tree, or as they were before it.
    CheckpointNeeded = "checkpoint-needed",
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
    /// The branch has no merge of that name, or it was reverted already.
    NothingToRevert = "nothing-to-revert",
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
    /// A file that would be overwritten has uncommitted changes, or an agent is not done for that reason.
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
    /// `.colony/repo_map.yaml` is valid, but a command cannot make this change of it: it lists what to change.
    MapNotEditable = "map-not-editable",
    /// The user's configuration has no command for a type of source that the map names.
    SourceUnknown = "source-unknown",
    /// The command of a custom source failed, took too long, or did not print records.
    SourceFailed = "source-failed",
    /// The command of a custom source has to run first, and a dry run or a comparison runs none.
    SourceNotRun = "source-not-run",
    /// A tree has more entries than `colony.map.maxEntries` allows for a source, or than git-colony
    /// compares.
    TreeTooLarge = "tree-too-large",
    /// The tree has no usable submodule at that path.
    SubmoduleNotFound = "submodule-not-found",
    /// Something has to be fetched first, and `--offline` or a dry run forbids that.
    Offline = "offline",
    /// No scope with that id is mapped.
    ScopeNotFound = "scope-not-found",
    /// The knowledge base has no such document.
    SourceNotFound = "source-not-found",
    /// The blackboard has no value under that key.
    KeyNotFound = "key-not-found",
    /// A key of a blackboard has another version than the one that was named, or values of several
    /// clones and no version was named.
    VersionMismatch = "version-mismatch",
    /// A value, its name, or the blackboard would be larger than allowed.
    ValueTooLarge = "value-too-large",
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
    /// There are more new files than `colony.maxNewFiles` allows in a checkpoint or commit, or
    /// `status.showUntrackedFiles` hides them.
    TooManyNewFiles = "too-many-new-files",
    /// The page does not exist, or its name matches more than one.
    PageNotFound = "page-not-found",
    /// The database of derived data cannot be used; it may be deleted at any time.
    CacheUnusable = "cache-unusable",
    /// The database of resident pages and locks cannot be used; without it, no page is resident or locked.
    StateUnusable = "state-unusable",
    /// An object, or a file that was moved aside, is missing.
    ObjectMissing = "object-missing",
    /// A filter (for example git-lfs) failed, or a file could not be written beforehand.
    FilterFailed = "filter-failed",
    /// The filter of a file is required and cannot run here: it has no command, or its program is not installed.
    FilterMissing = "filter-missing",
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
    /// The groups that `.colony/colony.toml` or `Vox.toml` names cannot be used.
    GroupsInvalid = "groups-invalid",
    /// cargo would run code of the repository, which the user has not allowed.
    CargoNotAllowed = "cargo-not-allowed",
    /// The root of the checkout is neither a Cargo package nor a Cargo workspace.
    NotACargoPackage = "not-a-cargo-package",
    /// A program that the command needs is not installed.
    ToolMissing = "tool-missing",
    /// The workspace has no catalog of repositories, or it was not refreshed yet.
    CatalogMissing = "catalog-missing",
    /// The catalog of repositories is malformed.
    CatalogInvalid = "catalog-invalid",
    /// The catalog of repositories is valid, but a command cannot make this change of it: it says what to change.
    CatalogNotEditable = "catalog-not-editable",
    /// The catalog has that repository already.
    CatalogRowExists = "catalog-row-exists",
    /// The catalog has no repository of that name.
    RepositoryNotFound = "repository-not-found",
    /// The projects or plans of `.colony/colony.toml` or of git's configuration cannot be used, or not changed.
    ProjectsInvalid = "projects-invalid",
    /// No project has that name.
    ProjectNotFound = "project-not-found",
    /// No plan has that name.
    PlanNotFound = "plan-not-found",
    /// No session of this checkout has that id, or none was named and several are active.
    SessionNotFound = "session-not-found",
    /// The session was ended.
    SessionEnded = "session-ended",
    /// As many sessions are active as a checkout may have.
    TooManySessions = "too-many-sessions",
    /// A working tree has as many watches as `colony.watch.max` allows.
    TooManyWatches = "too-many-watches",
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
    /// A colony of that name is recorded already.
    ColonyExists = "colony-exists",
    /// No repository is recorded for a colony of that name.
    ColonyNotFound = "colony-not-found",
    /// No agent or clone has that name.
    CloneNotFound = "clone-not-found",
    /// The clone cannot be removed: a process runs in it, or it holds data that cannot be kept.
    CloneInUse = "clone-in-use",
    /// Another process works in the clone of the agent.
    AgentBusy = "agent-busy",
    /// A name stands for more than one branch, agent, checkpoint or operation.
    NameAmbiguous = "name-ambiguous",
    /// The clone is read-only.
    ReadOnlyClone = "read-only-clone",
    /// A remote rejected the credentials, or there are none.
    AuthenticationFailed = "authentication-failed",
    /// The remote has no such repository, or hides it from this user.
    RemoteNotFound = "remote-not-found",
    /// The remote could not be reached.
    RemoteUnreachable = "remote-unreachable",
    /// The branch is protected: agents may not move it.
    BranchProtected = "branch-protected",
    /// A path is outside the allowed paths of an agent.
    ScopeViolation = "scope-violation",
    /// The allowed paths of an agent cannot be read; that does not mean that all paths are allowed.
    ScopeInvalid = "scope-invalid",
    /// The agent has no allowed paths to check against.
    ScopeMissing = "scope-missing",
    /// Only a person may do this, and it counts as an agent: 'because' in the detail says why.
    ApprovalRefused = "approval-refused",
    /// The commands that test merged work come from the repository, and the user has not approved their text.
    ApprovalNeeded = "approval-needed",
    /// No command tests merged work here.
    NoTests = "no-tests",
    /// No work is ready to be merged.
    NothingToLand = "nothing-to-land",
    /// The tests of merged work were stopped before they had decided; what they found is kept.
    TestsUnfinished = "tests-unfinished",
    /// Merged work cannot be tested here: something that it needs is missing.
    TryIncomplete = "try-incomplete",
    /// No person has consented to publishing to the URL of that remote.
    NoConsent = "no-consent",
    /// A migration to git-lfs rewrote the history, and the command would use the old one.
    HistoryRewritten = "history-rewritten",
    /// No pattern of `.gitattributes` assigns files to git-lfs.
    NoLfsPatterns = "no-lfs-patterns",
    /// A migration would not include other worktrees, stashes or clones.
    LeftBehind = "left-behind",
}

impl Code {
    /// Returns what an error of this code leaves untouched, unless the error itself says otherwise.
    ///
    /// Only codes that refuse a command before it changes anything have it. A code that git, the disk or
    /// the network may cause in the middle of a change has none.
    pub fn untouched(self) -> Option<Untouched> {
        REFUSING.contains(&self).then_some(Untouched::Everything)
    }

    /// Returns the next command to try, where errors of this code share one. An error that knows a better one
    /// names that.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            Code::BranchInUse => {
                Some("git worktree list   # run it there, or switch that worktree elsewhere")
            }
            Code::RepositoryNotFound => Some("git colony catalog"),
            Code::CheckpointNotFound => Some("git colony checkpoints"),
            Code::SessionNotFound => Some("git colony session list"),
            Code::CloneNotFound => {
                Some("git colony agents   # lists agents, and removed ones whose work is kept")
            }
            Code::Io => Some("git colony doctor   # tells what cannot be read or written"),
            Code::DecisionNotFound => Some("git colony decisions --limit 1000"),
            Code::LfsNotInstalled => Some("git lfs version   # works once it is installed"),
            Code::Locked => Some("run the command again"),
            Code::NewerFormat => Some("install a newer git-colony"),
            Code::OperationNotFound => Some("git colony ops"),
            Code::ShallowNoBase => Some("git fetch --unshallow   # then run it again"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_code_brings_its_hint_and_the_error_replaces_it() {
        let error = crate::model::Error::new(Code::Locked, "another command is running");
        assert_eq!(error.hint_text(), Some("run the command again"));
        let error = error.hint("git colony doctor");
        assert_eq!(error.hint_text(), Some("git colony doctor"));
        let full = crate::model::Error::new(Code::Locked, "No space left on device");
        assert_eq!((full.code(), full.hint_text()), (Code::NoSpace, None));
    }

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(names.iter().all(|n| n.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
    }
}

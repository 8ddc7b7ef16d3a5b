//! The names of the refs we own.

use crate::git::{Oid, RefName};
use crate::model::id::{OperationId, WorktreeKey};

/// Named checkpoints, as annotated tag objects. Not below `refs/tags/`: there they would change `git
/// describe`, fill `git tag` and trigger the tag hooks of servers.
pub const CHECKPOINTS: &str = "refs/colony/checkpoints/";
/// Named checkpoints are here as well if `colony.checkpoint.gitTags` is set, as tags of git.
pub const CHECKPOINT_TAGS: &str = "refs/tags/checkpoint/";
/// Both, the preferred one first.
pub const CHECKPOINT_PLACES: [&str; 2] = [CHECKPOINTS, CHECKPOINT_TAGS];
/// Everything that is private to a repository; never pushed.
pub const PRIVATE: &str = "refs/colony-local/";
/// Automatic checkpoints; never pushed.
pub const AUTOMATIC: &str = "refs/colony-local/auto/";
/// Operations; never pushed.
pub const OPERATIONS: &str = "refs/colony-local/ops/";
/// The branches of forks.
pub const FORKS: &str = "refs/heads/fork/";

/// The refs that clones publish, in the hub; other clones keep copies below [`PRIVATE`].
pub const PUBLISHED: &str = "refs/colony/";
/// The refs of agents, in the hub: `<agent>/<branch>/{heads,tags,forks,on,auto}/...`.
pub const PUBLISHED_AGENTS: &str = "refs/colony/agents/";
/// The refs of the users' checkouts, in the hub: `<id>/{heads,tags,forks,on,auto}/...`.
pub const PUBLISHED_DESKS: &str = "refs/colony/desks/";
/// The work of removed clones, in the hub.
pub const KEPT_WORK: &str = "refs/colony/kept/";
/// The branches of the repository that a hub was made from, in the hub.
pub const MADE_FROM: &str = "refs/colony-local/made-from/";
/// A repository's copies of the refs of agents.
pub const AGENTS: &str = "refs/colony-local/agents/";
/// A repository's copies of the refs of other checkouts.
pub const DESKS: &str = "refs/colony-local/desks/";

/// The refs of remotes as of the last time both agreed: `<remote>/<kind>/<name>`.
pub const REMOTES: &str = "refs/colony-local/remotes/";

/// The records of forks; pushed and fetched.
pub const FORK_RECORDS: &str = "refs/colony/forks/";

/// The mappings of the default branch; pushed and fetched.
pub const SCOPES: &str = "refs/colony/scopes";
/// The records of ingested documents; pushed and fetched.
pub const KNOWLEDGE: &str = "refs/colony/knowledge";
/// The blackboards, one ref each; pushed and fetched.
pub const BLACKBOARDS: &str = "refs/colony/blackboard/";
/// The mappings of other branches, by worktree; never pushed.
pub const LOCAL_SCOPES: &str = "refs/colony-local/scopes/";

/// The committed work of the agents of each checkout, by the random name of that; pushed and fetched.
pub const MACHINES: &str = "refs/colony/machines/";

/// The maps from old to new commits of rewritten histories; pushed and fetched.
pub const MIGRATIONS: &str = "refs/colony/migrations";
/// The name of [`MIGRATIONS`] among the refs of a checkout in the hub.
pub const PUBLISHED_MIGRATIONS: &str = "migrations";
/// The progress of the newest migration; never pushed.
pub const MIGRATION_JOURNAL: &str = "refs/colony-local/migration";
/// Refs as they were before a migration: `<operation>/<name without refs/>`.
pub const BACKUPS: &str = "refs/colony-local/backup/";

/// The map of commits that a merge has rewritten since a migration; never pushed.
pub const REWRITTEN: &str = "refs/colony-local/rewritten";

/// Returns the backup of a ref from before a migration.
pub fn backup(operation: OperationId, name: &RefName) -> RefName {
    let bytes = name.as_bytes();
    let rest = bytes.strip_prefix(b"refs/").unwrap_or(bytes);
    let folder = backups_of(operation);
    RefName::new([folder.as_bytes(), rest].concat())
}

/// Returns the ref that a backup is of.
pub fn backed_up(backup: &RefName) -> Option<RefName> {
    let below = backup.as_bytes().strip_prefix(BACKUPS.as_bytes())?;
    let slash = below.iter().position(|&byte| byte == b'/')?;
    Some(RefName::new([b"refs/", below.get(slash + 1..)?].concat()))
}

/// Returns `true` for one of our refs that holds a record: neither a checkpoint, nor a copy of the work of others or of
/// what a ref was.
pub fn is_record(name: &RefName) -> bool {
    if let Some(name) = backed_up(name) {
        return is_record(&name);
    }
    let text = name.to_string();
    let kind = |(folder, at): &(&str, usize)| text.strip_prefix(folder)?.split('/').nth(*at);
    if let Some(kind) = [(AGENTS, 2), (DESKS, 1), (REMOTES, 1)].iter().find_map(kind) {
        return !COPIED_WORK.contains(&kind);
    }
    let is_below = |folders: [&str; 2]| folders.iter().any(|folder| text.starts_with(folder));
    is_below([PUBLISHED, PRIVATE]) && !is_below([CHECKPOINTS, AUTOMATIC])
}

/// The kinds of copied refs that hold work.
const COPIED_WORK: [&str; 6] = ["heads", "tags", "on", "detached", "auto", "checkpoints"];

/// Returns the prefix of all backups of one migration.
pub fn backups_of(operation: OperationId) -> String {
    format!("{BACKUPS}{operation}/")
}

/// Returns the ref with the mappings of branches other than the default one, made in one worktree.
pub fn local_scopes(key: &WorktreeKey) -> RefName {
    RefName::from(format!("{LOCAL_SCOPES}{key}").as_str())
}

/// The uncommitted work that a worktree's private scopes were made from; never pushed.
pub const UNCOMMITTED: &str = "refs/colony-local/worktree/";

/// Returns the ref of the uncommitted work that one scope of a worktree was made from.
pub fn uncommitted(key: &WorktreeKey, scope_id: &str) -> RefName {
    // A scope id may be longer than the component of a path.
    let digest: String =
        blake3::hash(scope_id.as_bytes()).to_hex().as_str().chars().take(16).collect();
    RefName::from(format!("{UNCOMMITTED}{key}/{digest}").as_str())
}

/// In the repository of a submodule, the states of its files that a repository around it names; never pushed.
pub const OF_PARENTS: &str = "refs/colony-local/parents/";

/// Returns the prefix of the states that one worktree around a submodule names.
pub fn states_of_parent(key: &WorktreeKey) -> String {
    format!("{OF_PARENTS}{key}/")
}

/// Returns the ref of one such state.
pub fn state_of_parent(key: &WorktreeKey, snapshot: Oid) -> RefName {
    RefName::from(format!("{}{snapshot}", states_of_parent(key)).as_str())
}

/// Returns the ref of a named checkpoint, given `<time>-<8 hex>`.
pub fn checkpoint(name: &str) -> RefName {
    RefName::from(format!("{CHECKPOINTS}{name}").as_str())
}

/// Returns the git tag of a named checkpoint, given `<time>-<8 hex>`.
pub fn checkpoint_tag(name: &str) -> RefName {
    RefName::from(format!("{CHECKPOINT_TAGS}{name}").as_str())
}

/// Returns `<time>-<8 hex>` of a named checkpoint at either place; `None` for any other ref.
pub fn parse_checkpoint(name: &RefName) -> Option<String> {
    let name = name.to_string();
    let rest = CHECKPOINT_PLACES.iter().find_map(|place| name.strip_prefix(place));
    rest.map(str::to_owned)
}

/// Returns the branch of a fork, given its label.
pub fn fork_branch(label: &str) -> RefName {
    RefName::from(format!("{FORKS}{label}").as_str())
}

/// Returns the record of a fork, given its label.
pub fn fork_record(label: &str) -> RefName {
    RefName::from(format!("{FORK_RECORDS}{label}").as_str())
}

/// Returns the ref of the agents of a checkout.
pub fn machine(writer: &str) -> RefName {
    RefName::from(format!("{MACHINES}{writer}").as_str())
}

/// Returns the prefix of one worktree's operations.
pub fn operations_of(key: &WorktreeKey) -> String {
    format!("{OPERATIONS}{key}/")
}

/// Returns the ref of one operation.
pub fn operation(key: &WorktreeKey, id: OperationId) -> RefName {
    RefName::from(format!("{}{}", operations_of(key), id.digits()).as_str())
}

/// Returns the prefix of one worktree's automatic checkpoints.
pub fn automatic_of(key: &WorktreeKey) -> String {
    format!("{AUTOMATIC}{key}/")
}

/// Parses the worktree key and the operation of a ref below [`OPERATIONS`].
pub fn parse_operation(name: &RefName) -> Option<(WorktreeKey, OperationId)> {
    let name = name.to_string();
    let (key, digits) = name.strip_prefix(OPERATIONS)?.split_once('/')?;
    Some((WorktreeKey::parse(key)?, OperationId::parse(digits)?))
}

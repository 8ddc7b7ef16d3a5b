//! The names of the refs we own, in one place.

use crate::git::RefName;
use crate::model::id::{OperationId, WorktreeKey};

/// Where named checkpoints live, as annotated tag objects. Not below `refs/tags/`: there they would
/// change `git describe`, fill `git tag` and start what a server does about tags.
pub const CHECKPOINTS: &str = "refs/colony/checkpoints/";
/// Where they lived before, and where they are as well if `colony.checkpoint.gitTags` asks for it.
pub const CHECKPOINT_TAGS: &str = "refs/tags/checkpoint/";
/// Both, the first one first: what it has counts.
pub const CHECKPOINT_PLACES: [&str; 2] = [CHECKPOINTS, CHECKPOINT_TAGS];
/// Where everything is that is private to a repository; never pushed.
pub const PRIVATE: &str = "refs/colony-local/";
/// Where automatic checkpoints live; never pushed.
pub const AUTOMATIC: &str = "refs/colony-local/auto/";
/// Where operations live; never pushed.
pub const OPERATIONS: &str = "refs/colony-local/ops/";
/// Where fork branches live.
pub const FORKS: &str = "refs/heads/fork/";

/// Where a hub keeps what clones publish; others keep copies below [`PRIVATE`].
pub const PUBLISHED: &str = "refs/colony/";
/// Where a hub keeps the tips of agents: `<agent>/<scope>/{heads,tags,forks,on,auto}/...`.
pub const PUBLISHED_AGENTS: &str = "refs/colony/agents/";
/// Where a hub keeps the tips of the checkouts of people: `<id>/{heads,tags,forks,on,auto}/...`.
pub const PUBLISHED_DESKS: &str = "refs/colony/desks/";
/// Where a hub keeps the work of clones that were removed.
pub const KEPT_WORK: &str = "refs/colony/kept/";
/// Where a repository keeps its copies of the tips of agents.
pub const AGENTS: &str = "refs/colony-local/agents/";
/// Where a repository keeps its copies of the tips of other checkouts.
pub const DESKS: &str = "refs/colony-local/desks/";

/// Where a repository notes what remotes had when both last agreed: `<remote>/<kind>/<name>`.
pub const REMOTES: &str = "refs/colony-local/remotes/";

/// Where the records of forks live; they travel.
pub const FORK_RECORDS: &str = "refs/colony/forks/";

/// The mappings of the default branch; they travel.
pub const SCOPES: &str = "refs/colony/scopes";
/// Where the mappings of other branches live, by worktree; never pushed.
pub const LOCAL_SCOPES: &str = "refs/colony-local/scopes/";

/// Which commits became which when history was rewritten; it travels.
pub const MIGRATIONS: &str = "refs/colony/migrations";
/// The name of it below the place of a checkout in the hub.
pub const PUBLISHED_MIGRATIONS: &str = "migrations";
/// How far the newest migration got; never pushed.
pub const MIGRATION_JOURNAL: &str = "refs/colony-local/migration";
/// Where refs are kept as they were before a migration: `<operation>/<name without refs/>`.
pub const BACKUPS: &str = "refs/colony-local/backup/";

/// Returns where a ref is kept as it was before a migration.
pub fn backup(operation: OperationId, name: &RefName) -> RefName {
    let bytes = name.as_bytes();
    let rest = bytes.strip_prefix(b"refs/").unwrap_or(bytes);
    let folder = backups_of(operation);
    RefName::new([folder.as_bytes(), rest].concat())
}

/// Returns the prefix of all that one migration has kept.
pub fn backups_of(operation: OperationId) -> String {
    format!("{BACKUPS}{operation}/")
}

/// Returns the ref with the mappings of branches other than the default one, made in one worktree.
pub fn local_scopes(key: &WorktreeKey) -> RefName {
    RefName::from(format!("{LOCAL_SCOPES}{key}").as_str())
}

/// Where the uncommitted work is that a worktree's private scopes were made of; never pushed.
pub const UNCOMMITTED: &str = "refs/colony-local/worktree/";

/// Returns the ref of the uncommitted work that one scope of a worktree was made of.
pub fn uncommitted(key: &WorktreeKey, scope_id: &str) -> RefName {
    // A scope id may be longer than the component of a path.
    let digest = blake3::hash(scope_id.as_bytes()).to_hex();
    let digest: String = digest.as_str().chars().take(16).collect();
    RefName::from(format!("{UNCOMMITTED}{key}/{digest}").as_str())
}

/// Returns the ref of a named checkpoint, given `<time>-<8 hex>`.
pub fn checkpoint(name: &str) -> RefName {
    RefName::from(format!("{CHECKPOINTS}{name}").as_str())
}

/// Returns the git tag of a named checkpoint, given `<time>-<8 hex>`.
pub fn checkpoint_tag(name: &str) -> RefName {
    RefName::from(format!("{CHECKPOINT_TAGS}{name}").as_str())
}

/// Returns `<time>-<8 hex>` of a named checkpoint, wherever it lives; `None` for any other ref.
pub fn parse_checkpoint(name: &RefName) -> Option<String> {
    let name = name.to_string();
    let rest = CHECKPOINT_PLACES
        .iter()
        .find_map(|place| name.strip_prefix(place));
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

/// Reads worktree key and operation from a ref below [`OPERATIONS`].
pub fn parse_operation(name: &RefName) -> Option<(WorktreeKey, OperationId)> {
    let name = name.to_string();
    let (key, digits) = name.strip_prefix(OPERATIONS)?.split_once('/')?;
    Some((WorktreeKey::parse(key)?, OperationId::parse(digits)?))
}

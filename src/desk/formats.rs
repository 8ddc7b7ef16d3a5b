//! The number of every format that this version writes: of records, journals, and schemas of databases.

use std::collections::BTreeMap;

use crate::blackboard::entry;
use crate::design::checkpoint::tag_message;
use crate::design::fork::fork_record;
use crate::design::pick::continue_pick;
use crate::knowledge::stored::record;
use crate::page::{packer, pages};
use crate::repo_map::{schema, scope_record};
use crate::setup::{manifest, tool_registry};
use crate::source::{lister, parts};
use crate::store::cache::{page_table, search_index, user_cache};
use crate::store::operation::operation_record;
use crate::store::state::{self, event_log};
use crate::store::{lease, membership, migration};
use crate::text::chunk;

/// Returns the numbers by name. A record of a newer format is refused by name; a database of another schema has
/// another path.
pub fn formats() -> BTreeMap<&'static str, u64> {
    let records = [
        ("blackboard", entry::FORMAT),
        ("checkpoint", tag_message::FORMAT),
        ("fork", fork_record::FORMAT),
        ("knowledge", record::FORMAT),
        ("lease", lease::FORMAT),
        ("membership", membership::FORMAT),
        ("migration", migration::FORMAT),
        ("operation", operation_record::FORMAT),
        ("pick", continue_pick::FORMAT),
        ("repo-map", schema::FORMAT),
        ("scope", scope_record::FORMAT),
    ];
    let derived = [
        ("chunk", chunk::VERSION),
        ("listing", lister::VERSION),
        ("page", packer::VERSION),
        ("page-id", pages::ID_FORMAT),
        ("part", parts::VERSION),
        ("passage", crate::search::index::VERSION),
    ];
    let databases = [
        ("database-events", event_log::SCHEMA_VERSION),
        ("database-pages", page_table::SCHEMA_VERSION),
        ("database-search", search_index::SCHEMA_VERSION),
        ("database-state", state::SCHEMA_VERSION),
        ("database-texts", user_cache::SCHEMA_VERSION),
    ];
    let all = records.into_iter().chain(derived).chain(databases);
    let mut formats: BTreeMap<_, _> = all.map(|(name, number)| (name, u64::from(number))).collect();
    formats.insert("manifest", manifest::FORMAT);
    formats.insert("tool-registry", tool_registry::FORMAT);
    formats
}

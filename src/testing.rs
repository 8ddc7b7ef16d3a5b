//! What tests, benchmarks and the generators of the manual use of this crate; not an interface.

pub use crate::cli::commands::team::fleet::screen::sketch::{Sketch, Sketcher};
pub use crate::cli::examples;
pub use crate::cli::habits::with_command_of_this_version as command_of_this_version;
pub use crate::design::drivers::{Clash, Conflict, Driver, DriverOutcome, Marks, driver_for};
pub use crate::design::undo::plain_git::GitHook;
pub use crate::git::lfs::lfs_objects::LfsObjects;
pub use crate::git::lfs::lfs_pointer::Pointer;
pub use crate::git::merge::gix_merge::SideNames;
pub use crate::git::merge::merge_tree::MergeNote;
pub use crate::git::process::Git;
pub use crate::git::remote::network::Network;
pub use crate::git::remote::submodules::Submodules;
pub use crate::git::remote::url::{Provenance, RemoteUrl};
pub use crate::git::{BareRepo, ObjectWrites, Objects, Oid, RefName, Repo};
pub use crate::knowledge::stored::record::{KnowledgeChunk, SourceRecord};
pub use crate::knowledge::stored::sources::Sources;
pub use crate::model::interrupt::Interrupt;
pub use crate::model::progress::{Progress, Step, Unit};
pub use crate::model::warned::Warned;
pub use crate::model::world::{Changes, Plane, UserConfiguration};
pub use crate::model::{Code, Error, RepoPath, Result, World};
pub use crate::repo_map::row::SourceKind;
pub use crate::repo_map::schema::RepoMap;
pub use crate::repo_map::scope_record::{ScopeRecord, Scopes};
pub use crate::repo_map::scope_writing::Change;
pub use crate::repo_map::show::MapState;
pub use crate::setup::hooks::{FolderSort, Presence, git_hooks_state};
pub use crate::source::literature::{ChunkRecord, Fetch, Library, Literature};
pub use crate::store::Session;
pub use crate::store::cache::user_cache::{UserCache, UserCacheKind};
pub use crate::store::files::shared_root::SharedRoot;
pub use crate::store::operation::{EXTERNAL_STEPS, STEPS};
pub use crate::store::settings::Flags;
pub use crate::store::yaml_problem::YamlProblem;
pub use crate::text::chunk::ChunkSize;
pub use crate::text::count::{Measured, json_string, json_tokens};
pub use crate::text::readers::pdf_extractor::Extractor;
pub use crate::text::readers::{Document, Format, ReadFault};
pub use crate::text::tokenizer::Tokenizer;

/// Its functions, by the name of their module.
pub mod atomic {
    pub use crate::store::files::atomic::write_program;
}

/// Its functions, by the name of their module.
pub mod attributes {
    pub use crate::setup::attributes::MERGE_LINES;
}

/// Its functions, by the name of their module.
pub mod chunk {
    pub use crate::text::chunk::{DEFAULT_OVERLAP_TOKENS, DEFAULT_TARGET_TOKENS, chunk_sections};
}

/// Its functions, by the name of their module.
pub mod conflicts {
    pub use crate::design::merge::conflicts::list;
}

/// Its functions, by the name of their module.
pub mod credentials {
    pub use crate::git::remote::credentials::sources;
}

/// Its functions, by the name of their module.
pub mod escape {
    pub use crate::model::escape::{json, line};
}

/// Its functions, by the name of their module.
pub mod file {
    pub use crate::source::file::decode;
}

/// Its functions, by the name of their module.
pub mod hydrate {
    pub use crate::lfs::hydrate::{Fetch, fetch_object};
}

/// Its functions, by the name of their module.
pub mod locate {
    pub use crate::clones::hub::locate::place_of_url;
}

/// Its functions, by the name of their module.
pub mod manual {
    pub use crate::cli::reference::manual::pages;
}

/// Its functions, by the name of their module.
pub mod map_rows {
    pub use crate::map_rows::other_repositories::Network;
    pub use crate::map_rows::{Request, resolve};
}

/// Its functions, by the name of their module.
pub mod merge_drivers {
    pub use crate::setup::merge_drivers::names;
}

/// Its functions, by the name of their module.
pub mod plain_git {
    pub use crate::design::undo::plain_git::record;
}

/// Its functions, by the name of their module.
pub mod readers {
    pub use crate::text::readers::read_text;
}

/// Its functions, by the name of their module.
pub mod record {
    pub use crate::source::record::frame_tokens;
}

/// Its functions, by the name of their module.
pub mod reference {
    pub use crate::cli::reference::tables;
}

/// Its functions, by the name of their module.
pub mod scope_writing {
    pub use crate::repo_map::scope_writing::write;
}

/// Its functions, by the name of their module.
pub mod user_cache {
    pub use crate::store::cache::user_cache::key;
}

/// Its functions, by the name of their module.
pub mod working_files {
    pub use crate::context::scoring::working_files::of_git;
}

/// Its functions, by the name of their module.
pub mod yaml {
    pub use crate::store::yaml::find_value;
}

/// Records that many repositories write at once.
pub mod records {
    pub use crate::blackboard::entry::{Place, Value, write as write_value};
    pub use crate::git::object::NewCommit;
    pub use crate::git::{Signature, TreeEntry};
    pub use crate::records::outbox::Writer;
    pub use crate::records::rules::Sides;
    pub use crate::store::refs::shared_record::{keys, write};
    pub use crate::sync::{Fold, RecordSides};
}

//! The settings: one table, and the values in effect, typed. Their origins are in [`setting_layers`].
//!
//! The repository may set only what the table allows: it is not trusted, so it names no credential, no
//! timeout, and nothing that decides how long something is kept. The commands it names for a new clone are a
//! proposal: see [`approved_commands`].

pub mod affinity_groups;
pub mod agent_rule;
pub mod approved_commands;
pub mod clone_cone;
pub mod colony_toml;
mod mcp_settings;
pub mod project_edit;
pub mod projects;
pub mod setting_kind;
pub mod setting_layers;
pub mod source_commands;
pub mod user_projects;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::git::identity::Identity;
use crate::model::Result;

use super::agent_policy::protected_branches;
use colony_toml::SettingsProblem;
use setting_kind::{
    check, parse_list, parse_number, parse_range, parse_seconds, parse_truth, wanted,
};
use setting_layers::Layers;

pub use mcp_settings::McpSettings;
pub use setting_kind::Kind;
pub use source_commands::SourceCommand;

/// The sources that may set a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// The user alone.
    User,
    /// The user, and the repository in `.colony/colony.toml`.
    Repository,
    /// The user, and the repository in `.colony/colony.toml` of its default branch; all sources count together.
    DefaultBranch,
}

/// Whether agents may run cargo, which runs code of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CargoLeave {
    /// The user has allowed it.
    Given,
    /// The user has not.
    Refused,
}

/// One row of the table.
pub struct Setting {
    /// The key in git's configuration.
    pub key: &'static str,
    /// The environment variable that overrides it.
    pub variable: &'static str,
    /// The flag that overrides both, if there is one.
    pub flag: Option<&'static str>,
    /// The form of its value.
    pub kind: Kind,
    /// Who may set it.
    pub set_by: SetBy,
    /// The value when nothing sets it.
    pub default: &'static str,
    /// Its description.
    pub help: &'static str,
}

/// Every setting.
pub const TABLE: &[Setting] = &[
    Setting {
        key: "colony.agent",
        variable: "COLONY_AGENT",
        flag: Some("--agent"),
        kind: Kind::Text,
        set_by: SetBy::User,
        default: "",
        help: "the agent that acts; empty means the user",
    },
    Setting {
        key: "colony.timeout",
        variable: "COLONY_TIMEOUT",
        flag: Some("--timeout"),
        kind: Kind::Seconds,
        set_by: SetBy::User,
        default: "",
        help: "seconds to wait for a lock; empty means 10 for ours and 2 for git's",
    },
    Setting {
        key: "colony.maxNewFileSize",
        variable: "COLONY_MAX_NEW_FILE_SIZE",
        flag: Some("--allow-large"),
        kind: Kind::Number,
        set_by: SetBy::Repository,
        default: "100m",
        help: "untracked files above this size in bytes are left out of checkpoints",
    },
    Setting {
        key: "colony.maxNewFiles",
        variable: "COLONY_MAX_NEW_FILES",
        flag: None,
        kind: Kind::Number,
        set_by: SetBy::Repository,
        default: "2000",
        help: "an automatic checkpoint with more new files than this is refused",
    },
    Setting {
        key: "colony.keepDays",
        variable: "COLONY_KEEP_DAYS",
        flag: Some("--keep"),
        kind: Kind::Number,
        set_by: SetBy::User,
        default: "90",
        help: "days that prune keeps operations and the files they moved aside",
    },
    Setting {
        key: "colony.keepOperations",
        variable: "COLONY_KEEP_OPERATIONS",
        flag: None,
        kind: Kind::Number,
        set_by: SetBy::User,
        default: "2000",
        help: "operations per worktree that prune keeps",
    },
    Setting {
        key: "colony.keepAutoDays",
        variable: "COLONY_KEEP_AUTO_DAYS",
        flag: None,
        kind: Kind::Number,
        set_by: SetBy::User,
        default: "30",
        help: "days that automatic checkpoints are kept",
    },
    Setting {
        key: "colony.keepAutoPerBranch",
        variable: "COLONY_KEEP_AUTO_PER_BRANCH",
        flag: None,
        kind: Kind::Number,
        set_by: SetBy::User,
        default: "50",
        help: "automatic checkpoints kept per branch",
    },
    Setting {
        key: "colony.checkpoint.offBranch",
        variable: "COLONY_CHECKPOINT_OFF_BRANCH",
        flag: Some("--off-branch"),
        kind: Kind::Truth,
        set_by: SetBy::User,
        default: "false",
        help: "whether 'checkpoint' leaves branch, index and HEAD as they are; --on-branch overrides it",
    },
    Setting {
        key: "colony.checkpoint.gitTags",
        variable: "COLONY_CHECKPOINT_GIT_TAGS",
        flag: None,
        kind: Kind::Truth,
        set_by: SetBy::User,
        default: "false",
        help: "whether a checkpoint is a git tag as well, 'checkpoint/<id>'",
    },
    Setting {
        key: "colony.commit.coAuthor",
        variable: "COLONY_COMMIT_CO_AUTHOR",
        flag: None,
        kind: Kind::Person,
        set_by: SetBy::User,
        default: "",
        help: "'NAME <MAIL>' of the person whom a trailer names in commits of agents",
    },
    Setting {
        key: protected_branches::KEY,
        variable: protected_branches::VARIABLE,
        flag: None,
        kind: Kind::Branches,
        set_by: SetBy::DefaultBranch,
        default: "",
        help: "branches that agents may not move, as in 'main release/*'; all sources count together",
    },
    Setting {
        key: "colony.catalog.roots",
        variable: "COLONY_CATALOG_ROOTS",
        flag: None,
        kind: Kind::List,
        set_by: SetBy::User,
        default: "",
        help: "directories below which agents may query repositories of the catalog by MCP, besides the workspace",
    },
    Setting {
        key: "colony.tools.cargo",
        variable: "COLONY_TOOLS_CARGO",
        flag: None,
        kind: Kind::Truth,
        set_by: SetBy::User,
        default: "false",
        help: "whether agents may run cargo here, which runs code of the repository",
    },
    Setting {
        key: "colony.clone.copy",
        variable: "COLONY_CLONE_COPY",
        flag: None,
        kind: Kind::List,
        set_by: SetBy::Repository,
        default: "",
        help: "ignored paths that 'agents new' copies into the clone",
    },
    Setting {
        key: "colony.clone.link",
        variable: "COLONY_CLONE_LINK",
        flag: None,
        kind: Kind::List,
        set_by: SetBy::Repository,
        default: "",
        help: "ignored paths that 'agents new' hard-links into the clone",
    },
    Setting {
        key: "colony.clone.sparse",
        variable: "COLONY_CLONE_SPARSE",
        flag: Some("--sparse"),
        kind: Kind::Directories,
        set_by: SetBy::Repository,
        default: "",
        help: "directories that a new clone checks out beside the files at the top; empty means all",
    },
    Setting {
        key: "colony.clone.run",
        variable: "COLONY_CLONE_RUN",
        flag: None,
        kind: Kind::Commands,
        set_by: SetBy::Repository,
        default: "",
        help: "commands that prepare a new clone; those of the repository need approval",
    },
    Setting {
        key: "colony.clone.runTime",
        variable: "COLONY_CLONE_RUN_TIME",
        flag: None,
        kind: Kind::Seconds,
        set_by: SetBy::User,
        default: "600",
        help: "seconds each of these commands may take; empty means no limit",
    },
    Setting {
        key: "colony.lineTime",
        variable: "COLONY_LINE_TIME",
        flag: None,
        kind: Kind::Seconds,
        set_by: SetBy::User,
        default: "0.015",
        help: "seconds that 'status --line' may look for changes; 0 means that it does not",
    },
    Setting {
        key: "colony.map.flushThreshold",
        variable: "COLONY_MAP_FLUSH_THRESHOLD",
        flag: None,
        kind: Kind::Range(1, 100_000),
        set_by: SetBy::Repository,
        default: "20",
        help: "maximum records of a page, where a row of the map sets none",
    },
    Setting {
        key: "colony.map.flushTokenBudget",
        variable: "COLONY_MAP_FLUSH_TOKEN_BUDGET",
        flag: None,
        kind: Kind::Range(16, 10_000_000),
        set_by: SetBy::Repository,
        default: "4096",
        help: "maximum tokens of a page, where a row of the map sets none",
    },
    Setting {
        key: "colony.map.chunkTargetTokens",
        variable: "COLONY_MAP_CHUNK_TARGET_TOKENS",
        flag: None,
        kind: Kind::Range(16, 100_000),
        set_by: SetBy::Repository,
        default: "800",
        help: "target tokens of a piece of prose, where a row of the map sets none",
    },
    Setting {
        key: "colony.map.chunkOverlapTokens",
        variable: "COLONY_MAP_CHUNK_OVERLAP_TOKENS",
        flag: None,
        kind: Kind::Range(0, 99_999),
        set_by: SetBy::Repository,
        default: "100",
        help: "tokens that two pieces of prose share, where a row of the map sets none",
    },
    Setting {
        key: "colony.map.pinned",
        variable: "COLONY_MAP_PINNED",
        flag: None,
        kind: Kind::Truth,
        set_by: SetBy::Repository,
        default: "false",
        help: "whether pages are never evicted, where a row of the map does not set it",
    },
    Setting {
        key: "colony.map.tokenizer",
        variable: "COLONY_MAP_TOKENIZER",
        flag: None,
        kind: Kind::OneOf(&["o200k", "cl100k", "bytes"]),
        set_by: SetBy::Repository,
        default: "o200k",
        help: "how tokens are counted: o200k, cl100k, or bytes (a quarter of the bytes)",
    },
    Setting {
        key: "colony.map.gitignore",
        variable: "COLONY_MAP_GITIGNORE",
        flag: None,
        kind: Kind::Truth,
        set_by: SetBy::Repository,
        default: "false",
        help: "whether '.gitignore' files of the tree leave tracked files out of pages",
    },
    Setting {
        key: "colony.map.maxEntries",
        variable: "COLONY_MAP_MAX_ENTRIES",
        flag: None,
        kind: Kind::Range(1, 1_000_000_000),
        set_by: SetBy::User,
        default: "4000000",
        help: "maximum files and directories that a source may list",
    },
    Setting {
        key: "colony.ingest.maxBytes",
        variable: "COLONY_INGEST_MAX_BYTES",
        flag: None,
        kind: Kind::Number,
        set_by: SetBy::User,
        default: "100m",
        help: "maximum size in bytes of a file that the knowledge base takes",
    },
    Setting {
        key: "colony.autoCheckpoint",
        variable: "COLONY_AUTO_CHECKPOINT",
        flag: None,
        kind: Kind::Truth,
        set_by: SetBy::User,
        default: "true",
        help: "whether hooks of agents and 'watch' make automatic checkpoints",
    },
    Setting {
        key: "colony.watch.max",
        variable: "COLONY_WATCH_MAX",
        flag: None,
        kind: Kind::Range(0, 10_000),
        set_by: SetBy::User,
        default: "16",
        help: "maximum watches of a working tree",
    },
    Setting {
        key: "colony.watch.root",
        variable: "COLONY_WATCH_ROOT",
        flag: None,
        kind: Kind::Text,
        set_by: SetBy::User,
        default: "",
        help: "directory that relative paths of 'watch' begin at, in place of the current one",
    },
    Setting {
        key: "colony.context.budgetTokens",
        variable: "COLONY_CONTEXT_BUDGET_TOKENS",
        flag: None,
        kind: Kind::Range(1, 1_000_000_000),
        set_by: SetBy::User,
        default: "100000",
        help: "maximum tokens of the pages that an agent has in its context",
    },
    Setting {
        key: "colony.context.hotTokens",
        variable: "COLONY_CONTEXT_HOT_TOKENS",
        flag: None,
        kind: Kind::Range(0, 1_000_000_000),
        set_by: SetBy::User,
        default: "32000",
        help: "maximum tokens of the files in the hot tier of a project",
    },
    Setting {
        key: "colony.events.namespace",
        variable: "COLONY_EVENTS_NAMESPACE",
        flag: None,
        kind: Kind::Text,
        set_by: SetBy::User,
        default: "vcm",
        help: "namespace of events: commands write them there and show only those",
    },
    Setting {
        key: "colony.mcp.answerTokens",
        variable: "COLONY_MCP_ANSWER_TOKENS",
        flag: None,
        kind: Kind::Range(500, 1_000_000),
        set_by: SetBy::User,
        default: "8192",
        help: "maximum tokens of an answer of the MCP server; the rest comes in parts",
    },
    Setting {
        key: "colony.mcp.maxArgument",
        variable: "COLONY_MCP_MAX_ARGUMENT",
        flag: None,
        kind: Kind::Number,
        set_by: SetBy::User,
        default: "1m",
        help: "maximum bytes of the arguments of a call, as JSON",
    },
    Setting {
        key: "colony.mcp.maxCalls",
        variable: "COLONY_MCP_MAX_CALLS",
        flag: None,
        kind: Kind::Range(1, 10_000),
        set_by: SetBy::User,
        default: "64",
        help: "maximum number of calls of the MCP server that run or wait",
    },
    Setting {
        key: "colony.mcp.callTime",
        variable: "COLONY_MCP_CALL_TIME",
        flag: None,
        kind: Kind::Seconds,
        set_by: SetBy::User,
        default: "600",
        help: "seconds that a call of the MCP server may take; empty means no limit",
    },
];

/// The global options that override settings.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--agent`.
    pub agent: Option<String>,
    /// `--timeout`.
    pub timeout_seconds: Option<String>,
}

/// The settings in effect, typed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The agent that acts.
    pub agent: Option<String>,
    /// How long to wait for locks, if set.
    pub timeout: Option<Duration>,
    /// The size above which untracked files are left out.
    pub max_new_file_size_bytes: u64,
    /// The number of new files that an automatic checkpoint accepts.
    pub max_new_files: u64,
    /// How long operations are kept.
    pub keep_days: u64,
    /// The number of operations that are kept.
    pub keep_operations: u64,
    /// How long automatic checkpoints are kept.
    pub keep_auto_days: u64,
    /// The number of automatic checkpoints that are kept per branch.
    pub keep_auto_per_branch: u64,
    /// Whether checkpoints leave the branch where it is.
    pub checkpoint_off_branch: bool,
    /// Whether checkpoints are git tags as well.
    pub checkpoint_git_tags: bool,
    /// The person whom commits of agents name as co-author.
    pub co_author: Option<Identity>,
    /// Directories below which agents may query repositories of the catalog.
    pub catalog_roots: Vec<String>,
    /// Whether agents may run cargo.
    pub cargo: CargoLeave,
    /// Ignored paths that are copied into a new clone.
    pub clone_copy: Vec<String>,
    /// Ignored paths that are hard-linked into a new clone.
    pub clone_link: Vec<String>,
    /// The time limit of a command that prepares a new clone; `None` for no limit.
    pub clone_run_time: Option<Duration>,
    /// The defaults for rows of the repo map.
    pub map: MapSettings,
    /// The maximum size of a file of the knowledge base.
    pub ingest_max_bytes: u64,
    /// The bounds of the MCP server.
    pub mcp: McpSettings,
    /// Whether hooks of agents and watches make automatic checkpoints.
    pub auto_checkpoint: bool,
    /// Maximum watches of a working tree.
    pub watch_max: u64,
    /// The directory that relative paths of watches begin at; `None` for the current one.
    pub watch_root: Option<PathBuf>,
    /// Maximum tokens of an agent's resident pages.
    pub context_budget_tokens: u64,
    /// Maximum tokens of the hot tier of a project.
    pub context_hot_tokens: u64,
    /// The namespace in which events are written and read.
    pub events_namespace: String,
    /// The unusable parts of `.colony/colony.toml`.
    pub repository_problems: Vec<SettingsProblem>,
}

/// The defaults for rows of the repo map, and the settings for all rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapSettings {
    /// Maximum records of a page.
    pub flush_threshold: u32,
    /// Maximum tokens of a page.
    pub flush_token_budget: u32,
    /// Target tokens of a piece of prose.
    pub chunk_target_tokens: u32,
    /// Tokens that two pieces of prose share.
    pub chunk_overlap_tokens: u32,
    /// Whether pages are never evicted.
    pub pinned: bool,
    /// The name of the tokenizer.
    pub tokenizer: String,
    /// Whether `.gitignore` files of the tree count.
    pub gitignore: bool,
    /// Maximum files and directories that a source may list.
    pub max_entries: u32,
    /// The commands of custom sources, by type.
    pub sources: BTreeMap<String, SourceCommand>,
}

impl MapSettings {
    fn of(layers: &Layers<'_>) -> Result<MapSettings> {
        let number = |key| {
            let found = layers.require(key)?;
            let number = parse_range(found.kind(), &found.value);
            number.map_err(|wanted| found.invalid(&wanted))
        };
        let truth = |key| truth(layers, key);
        let tokenizer = layers.require("colony.map.tokenizer")?;
        if let Err(wanted) = check(tokenizer.kind(), &tokenizer.value) {
            return Err(tokenizer.invalid(&wanted));
        }
        Ok(MapSettings {
            flush_threshold: number("colony.map.flushThreshold")?,
            flush_token_budget: number("colony.map.flushTokenBudget")?,
            chunk_target_tokens: number("colony.map.chunkTargetTokens")?,
            chunk_overlap_tokens: number("colony.map.chunkOverlapTokens")?,
            pinned: truth("colony.map.pinned")?,
            tokenizer: tokenizer.value,
            gitignore: truth("colony.map.gitignore")?,
            max_entries: number("colony.map.maxEntries")?,
            sources: layers.source_commands()?,
        })
    }
}

fn truth(layers: &Layers<'_>, key: &'static str) -> Result<bool> {
    let found = layers.require(key)?;
    parse_truth(&found.value).ok_or_else(|| found.invalid(&wanted(Kind::Truth)))
}

impl Settings {
    /// Returns the settings in effect, typed.
    ///
    /// # Errors
    /// `invalid-value` naming the key and the origin of the value.
    pub fn of(layers: &Layers<'_>) -> Result<Settings> {
        let number = |key| {
            let found = layers.require(key)?;
            parse_number(&found.value).ok_or_else(|| found.invalid(&wanted(Kind::Number)))
        };
        let range = |key| {
            let found = layers.require(key)?;
            let number = parse_range(found.kind(), &found.value).map(u64::from);
            number.map_err(|wanted| found.invalid(&wanted))
        };
        let list = |key| Ok(parse_list(&layers.require(key)?.value));
        let agent = layers.require("colony.agent")?.value;
        let seconds = |key| {
            let found = layers.require(key)?;
            parse_seconds(&found.value).map_err(|wanted| found.invalid(&wanted))
        };
        Ok(Settings {
            agent: Some(agent).filter(|agent| !agent.is_empty()),
            timeout: seconds("colony.timeout")?,
            max_new_file_size_bytes: number("colony.maxNewFileSize")?,
            max_new_files: number("colony.maxNewFiles")?,
            keep_days: number("colony.keepDays")?,
            keep_operations: number("colony.keepOperations")?,
            keep_auto_days: number("colony.keepAutoDays")?,
            keep_auto_per_branch: number("colony.keepAutoPerBranch")?,
            checkpoint_off_branch: truth(layers, "colony.checkpoint.offBranch")?,
            checkpoint_git_tags: truth(layers, "colony.checkpoint.gitTags")?,
            co_author: co_author(layers)?,
            catalog_roots: list("colony.catalog.roots")?,
            cargo: if truth(layers, "colony.tools.cargo")? {
                CargoLeave::Given
            } else {
                CargoLeave::Refused
            },
            clone_copy: list("colony.clone.copy")?,
            clone_link: list("colony.clone.link")?,
            clone_run_time: seconds("colony.clone.runTime")?,
            map: MapSettings::of(layers)?,
            ingest_max_bytes: number("colony.ingest.maxBytes")?,
            mcp: McpSettings::of(layers)?,
            auto_checkpoint: truth(layers, "colony.autoCheckpoint")?,
            watch_max: range("colony.watch.max")?,
            watch_root: Some(layers.require("colony.watch.root")?.value)
                .filter(|root| !root.is_empty())
                .map(PathBuf::from),
            context_budget_tokens: range("colony.context.budgetTokens")?,
            context_hot_tokens: range("colony.context.hotTokens")?,
            events_namespace: layers.require("colony.events.namespace")?.value,
            repository_problems: layers.repository_problems().to_vec(),
        })
    }
}

fn co_author(layers: &Layers<'_>) -> Result<Option<Identity>> {
    let found = layers.require("colony.commit.coAuthor")?;
    match Identity::parse(&found.value) {
        None if !found.value.is_empty() => Err(found.invalid(&wanted(Kind::Person))),
        person => Ok(person),
    }
}

/// Returns how long a prompt may look for changes. A malformed value is reported by 'config'; here it counts
/// as unset.
pub fn line_time(layers: &Layers<'_>) -> Duration {
    let found = layers.require("colony.lineTime").ok();
    let time = found.and_then(|found| parse_seconds(&found.value).ok());
    time.flatten().unwrap_or(Duration::ZERO)
}

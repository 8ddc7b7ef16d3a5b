//! The settings: one table, and the values in effect, typed. Their origins are in [`setting_origin`].
//!
//! The repository may set only what the table allows: it is not trusted, so it names no credential, no
//! timeout, and nothing that decides how long something is kept. The commands it names for a new clone are a
//! proposal: see [`approved_commands`].

pub mod affinity_groups;
pub mod agent_rule;
mod agent_rule_text;
pub mod approved_commands;
pub mod clone_cone;
pub mod colony_toml;
mod mcp_settings;
pub mod project_edit;
pub mod project_tables;
pub mod projects;
pub mod setting_kind;
pub mod setting_layers;
pub mod setting_origin;
mod setting_table;
pub mod source_commands;
pub mod user_projects;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::git::identity::Identity;
use crate::git::inherited::Signing;
use crate::model::{Result, World};

use colony_toml::SettingsProblem;
use setting_kind::{
    check, parse_list, parse_number, parse_range, parse_seconds, parse_truth, wanted,
};
use setting_layers::Layers;

pub use mcp_settings::McpSettings;
pub use setting_kind::Kind;
pub use setting_table::{SetBy, Setting, TABLE};
pub use source_commands::SourceCommand;

/// Whether agents may run cargo, which runs code of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CargoLeave {
    /// The user has allowed it.
    Given,
    /// The user has not.
    Refused,
}

/// Whether checkpoints keep edits inside submodules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmoduleEdits {
    /// They do, in the repositories of the submodules.
    Kept,
    /// They name them only.
    LeftOut,
}

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
    /// The name of this machine, if it is not the host name.
    pub machine: Option<String>,
    /// How long to wait for locks, if set.
    pub timeout: Option<Duration>,
    /// The size above which untracked files are left out.
    pub max_new_file_size_bytes: u64,
    /// The number of new files that an automatic checkpoint accepts.
    pub max_new_files: u64,
    /// How long operations are kept.
    pub keep_days: u64,
    /// The number of days that the folder of a removed clone is kept.
    pub keep_removed_days: u64,
    /// The size in bytes of all folders of removed clones beyond which the oldest are deleted earlier.
    pub keep_removed_size: u64,
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
    /// Whether checkpoints keep edits inside submodules.
    pub submodule_edits: SubmoduleEdits,
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
    /// The time limit of a command that tests merged work; `None` for no limit.
    pub test_time: Option<Duration>,
    /// Whether clones sign commits and tags.
    pub clone_signing: Signing,
    /// The defaults for rows of the repo map.
    pub map: MapSettings,
    /// The maximum size of a file of the knowledge base.
    pub ingest_max_bytes: u64,
    /// How long a question waits for the index of a large repository; `None` means until it is there.
    pub first_answer_time: Option<Duration>,
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
    /// The days that the notes of a day are kept; 0 means for ever.
    pub memory_retention_days: u64,
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
            let setting = layers.require(key)?;
            let number = parse_range(setting.kind(), &setting.value);
            number.map_err(|wanted| setting.invalid(&wanted))
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
    let setting = layers.require(key)?;
    parse_truth(&setting.value).ok_or_else(|| setting.invalid(&wanted(Kind::Truth)))
}

fn cargo(layers: &Layers<'_>) -> Result<CargoLeave> {
    let is_given = truth(layers, "colony.tools.cargo")?;
    Ok(if is_given { CargoLeave::Given } else { CargoLeave::Refused })
}

impl Settings {
    /// Returns the settings in effect, typed.
    pub fn of(layers: &Layers<'_>) -> Result<Settings> {
        let number = |key| {
            let setting = layers.require(key)?;
            parse_number(&setting.value).ok_or_else(|| setting.invalid(&wanted(Kind::Number)))
        };
        let range = |key| {
            let setting = layers.require(key)?;
            let number = parse_range(setting.kind(), &setting.value).map(u64::from);
            number.map_err(|wanted| setting.invalid(&wanted))
        };
        let list = |key| Ok(parse_list(&layers.require(key)?.value));
        let text = |key| -> Result<_> {
            Ok(Some(layers.require(key)?.value).filter(|text| !text.is_empty()))
        };
        let seconds = |key| {
            let setting = layers.require(key)?;
            parse_seconds(&setting.value).map_err(|wanted| setting.invalid(&wanted))
        };
        Ok(Settings {
            agent: text("colony.agent")?,
            machine: text("colony.machine")?,
            timeout: seconds("colony.timeout")?,
            first_answer_time: seconds("colony.firstAnswerTime")?,
            max_new_file_size_bytes: number("colony.maxNewFileSize")?,
            max_new_files: number("colony.maxNewFiles")?,
            keep_days: number("colony.keepDays")?,
            keep_operations: number("colony.keepOperations")?,
            keep_removed_days: number("colony.keepRemovedDays")?,
            keep_removed_size: number("colony.keepRemovedSize")?,
            keep_auto_days: number("colony.keepAutoDays")?,
            keep_auto_per_branch: number("colony.keepAutoPerBranch")?,
            checkpoint_off_branch: truth(layers, "colony.checkpoint.offBranch")?,
            checkpoint_git_tags: truth(layers, "colony.checkpoint.gitTags")?,
            submodule_edits: submodule_edits(layers)?,
            co_author: co_author(layers)?,
            catalog_roots: list("colony.catalog.roots")?,
            cargo: cargo(layers)?,
            clone_copy: list("colony.clone.copy")?,
            clone_link: list("colony.clone.link")?,
            clone_run_time: seconds("colony.clone.runTime")?,
            test_time: seconds("colony.test.time")?,
            clone_signing: if truth(layers, "colony.clone.sign")? {
                Signing::AsInCheckout
            } else {
                Signing::Off
            },
            map: MapSettings::of(layers)?,
            ingest_max_bytes: number("colony.ingest.maxBytes")?,
            mcp: McpSettings::of(layers)?,
            auto_checkpoint: truth(layers, "colony.autoCheckpoint")?,
            watch_max: range("colony.watch.max")?,
            watch_root: text("colony.watch.root")?.map(PathBuf::from),
            context_budget_tokens: range("colony.context.budgetTokens")?,
            context_hot_tokens: range("colony.context.hotTokens")?,
            memory_retention_days: range("colony.memory.retentionDays")?,
            events_namespace: layers.require("colony.events.namespace")?.value,
            repository_problems: layers.repository_problems().to_vec(),
        })
    }
}

/// Returns `true` if the time of commands is kept; `configured` is the value of git's configuration. Asked for every
/// command, so that no further file is read for it.
pub fn keeps_times(world: &World, configured: impl FnOnce(&str) -> Option<String>) -> bool {
    let variable = world.text_variable("COLONY_TELEMETRY_BENCH");
    let value =
        variable.map_or_else(|| configured("colony.telemetry.bench"), |set| Some(set.to_owned()));
    value.is_some_and(|value| parse_truth(&value) == Some(true))
}

fn submodule_edits(layers: &Layers<'_>) -> Result<SubmoduleEdits> {
    let is_kept = truth(layers, "colony.checkpoint.submodules")?;
    Ok(if is_kept { SubmoduleEdits::Kept } else { SubmoduleEdits::LeftOut })
}

fn co_author(layers: &Layers<'_>) -> Result<Option<Identity>> {
    let setting = layers.require("colony.commit.coAuthor")?;
    match Identity::parse(&setting.value) {
        None if !setting.value.is_empty() => Err(setting.invalid(&wanted(Kind::Person))),
        person => Ok(person),
    }
}

/// Returns how long a prompt may look for changes. A malformed value is reported by 'config'; here it counts
/// as unset.
pub fn line_time(layers: &Layers<'_>) -> Duration {
    let setting = layers.require("colony.lineTime").ok();
    let time = setting.and_then(|setting| parse_seconds(&setting.value).ok());
    time.flatten().unwrap_or(Duration::ZERO)
}

//! `git colony schema`
//!
//! Every command answers with one report; its JSON Schema is derived from the very struct that is
//! written, so it cannot promise anything else. A new command adds one line to [`REPORTS`].

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::clones::hub::colonies::Colony;
use crate::design::allowed_paths::path_check::CheckReport;
use crate::design::checkpoint::CheckpointReport;
use crate::design::checkpoint::retention::PruneReport;
use crate::design::commit::CommitReport;
use crate::design::decision::decide::DecideReport;
use crate::design::decision::decisions::{DecisionReport, DecisionsReport};
use crate::design::diff::DiffReport;
use crate::design::fork::ForkReport;
use crate::design::fork::fork_delete::DeleteReport;
use crate::design::merge::MergeReport;
use crate::design::pick::PickReport;
use crate::design::restore::restore_report::RestoreReport;
use crate::design::undo::undo_report::UndoReport;
use crate::flow::agents::NewAgent;
use crate::flow::agents::agent_places::{AgentsReport, PathReport};
use crate::flow::agents::agent_removal::RemovedAgent;
use crate::flow::agents::agent_restore::RestoredAgent;
use crate::flow::blackboard::{BlackboardReport, ChangeReport, KeyReport};
use crate::flow::clones::clone::CloneReport;
use crate::flow::clones::clone_refresh::RefreshReport;
use crate::flow::clones::setup_commands::SetupReport;
use crate::flow::clones::{ClonesReport, GcReport};
use crate::flow::context::fragment_list::FragmentsReport;
use crate::flow::context::hydrate::HydrationReport;
use crate::flow::context::project_changes::ProjectChangeReport;
use crate::flow::context::projects::{PlansReport, ProjectsReport};
use crate::flow::context::tiers::{TierChangeReport, TierStatsReport};
use crate::flow::deinit::DeinitReport;
use crate::flow::doctor::DoctorReport;
use crate::flow::events::EventsReport;
use crate::flow::fleet::FleetReport;
use crate::flow::init::InitReport;
use crate::flow::knowledge::IngestReport;
use crate::flow::knowledge::clear::ClearReport;
use crate::flow::knowledge::listing::KnowledgeReport;
use crate::flow::knowledge::promotion::PromotionReport;
use crate::flow::map::MapReport;
use crate::flow::map::map_blackboard::MapBlackboardReport;
use crate::flow::map::map_diff::MapDiffReport;
use crate::flow::map::map_preview::PreviewReport;
use crate::flow::map::map_repo::MapRepoReport;
use crate::flow::migrate::MigrateReport;
use crate::flow::pages::PagesReport;
use crate::flow::pages::page_graph::PageGraphReport;
use crate::flow::pages::page_show::ShownPages;
use crate::flow::pages::page_stats::PageStatsReport;
use crate::flow::pages::scopes::{MappedReport, ScopeReport, ScopesReport};
use crate::flow::pages::unmap::UnmapReport;
use crate::flow::reports::log::LogReport;
use crate::flow::reports::manual_pages::ManualReport;
use crate::flow::reports::operations::{OperationReport, OperationsReport};
use crate::flow::reports::status::StatusReport;
use crate::flow::reports::status_line::LineReport;
use crate::flow::reports::topology::TopologyReport;
use crate::flow::residency::page_locks::{ExtendReport, LockReport, UnlockReport};
use crate::flow::residency::page_request::PageRequestReport;
use crate::flow::residency::resident_pages::ResidentReport;
use crate::flow::search::SearchReport;
use crate::flow::search::context::ContextReport;
use crate::flow::sessions::new_session::NewSessionReport;
use crate::flow::sessions::old_sessions::AdoptReport;
use crate::flow::sessions::session_changes::SessionChangeReport;
use crate::flow::sessions::session_list::SessionsReport;
use crate::flow::sessions::session_show::SessionReport;
use crate::flow::sessions::session_undo::SessionUndoReport;
use crate::flow::sync::SyncReport;
use crate::flow::tools::{FindReport, NewReport, ToolsReport};
use crate::flow::watch::{StoppedReport, WatchReport, WatchesReport};
use crate::flow::workspace::cargo::CargoReport;
use crate::flow::workspace::catalog::{CatalogCheckReport, CatalogReport};
use crate::flow::workspace::catalog_edit::CatalogChangeReport;
use crate::flow::workspace::code::find_lines::FoundLinesReport;
use crate::flow::workspace::code::line_history::HistoryReport;
use crate::flow::workspace::code::read_lines::ReadReport;
use crate::flow::workspace::git_tools::{GitLogReport, GitTextReport};
use crate::flow::workspace::groups::GroupsReport;
use crate::flow::workspace::id::IdReport;
use crate::flow::workspace::index::IndexReport;
use crate::flow::workspace::memory::{MemoryAddReport, MemoryPathReport, MemoryReport};
use crate::flow::workspace::paths::PathsReport;
use crate::flow::workspace::query::query_file::QueryFileReport;
use crate::flow::workspace::query::query_list::QueryListReport;
use crate::flow::workspace::query::query_log::QueryLogReport;
use crate::flow::workspace::query::query_text::QueryTextReport;
use crate::flow::workspace::validate::ValidateReport;
use crate::lfs::hydrate::HydrateReport;
use crate::lfs::status::LfsStatus;
use crate::map::listing::TreeReport;
use crate::map::show::{MapCheckReport, MapShowReport};
use crate::model::time::Moment;
use crate::model::{Code, Error};
use crate::setup::hooks::{HooksStatusReport, InstallReport};
use crate::ui::answer::{Answer, ErrorAnswer, Form, Outcome};
use crate::ui::text;

use super::{
    Face, Stop, call, checkpoints, colony, completions, config, dashboard, forks, guide, help,
    tour, version,
};

/// Print the JSON Schema of an answer
///
/// Without REPORT it lists the names: each command, as it is typed, and 'error' for what every
/// command answers when it refuses or fails. Fields may be added to answers, never renamed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A command, as in 'checkpoints show' (in quotes with a flag), or 'error'
    #[arg(value_name = "REPORT")]
    report: Vec<String>,
}

/// Makes the schema of one answer.
type Make = fn() -> Schema;

/// What each command answers with `--json`.
const REPORTS: &[(&str, Make)] = &[
    ("agents", answer::<AgentsReport>),
    ("agents check", answer::<CheckReport>),
    ("agents guide", answer::<guide::GuideReport>),
    ("agents new", answer::<NewAgent>),
    ("agents path", answer::<PathReport>),
    ("agents remove", answer::<RemovedAgent>),
    ("agents restore", answer::<RestoredAgent>),
    ("blackboard delete", answer::<ChangeReport>),
    ("blackboard get", answer::<KeyReport>),
    ("blackboard list", answer::<BlackboardReport>),
    ("blackboard put", answer::<ChangeReport>),
    ("call", answer::<call::ActionsReport>),
    ("cargo build", answer::<CargoReport>),
    ("cargo check", answer::<CargoReport>),
    ("cargo coverage", answer::<CargoReport>),
    ("cargo lint", answer::<CargoReport>),
    ("cargo test", answer::<CargoReport>),
    ("cargo test-all", answer::<CargoReport>),
    ("catalog", answer::<CatalogReport>),
    ("catalog add", answer::<CatalogChangeReport>),
    ("catalog check", answer::<CatalogCheckReport>),
    ("catalog focus", answer::<CatalogChangeReport>),
    ("catalog list", answer::<CatalogReport>),
    ("catalog refresh", answer::<CatalogReport>),
    ("catalog remove", answer::<CatalogChangeReport>),
    ("checkpoint", answer::<CheckpointReport>),
    ("checkpoints", answer::<checkpoints::ListReport>),
    ("checkpoints delete", answer::<crate::flow::checkpoint_deletion::CheckpointDeleteReport>),
    ("checkpoints show", answer::<checkpoints::ShowReport>),
    ("cherry-pick", answer::<PickReport>),
    ("cherry-pick --abort", answer::<UndoReport>),
    ("clone", answer::<CloneReport>),
    ("clones", answer::<ClonesReport>),
    ("clones gc", answer::<GcReport>),
    ("clones list", answer::<ClonesReport>),
    ("clones refresh", answer::<RefreshReport>),
    ("clones remove", answer::<RemovedAgent>),
    ("clones setup", answer::<SetupReport>),
    ("colony", answer::<colony::ColoniesReport>),
    ("colony list", answer::<colony::ColoniesReport>),
    ("colony set", answer::<Colony>),
    ("colony show", answer::<Colony>),
    ("commit", answer::<CommitReport>),
    ("completions", answer::<completions::ScriptReport>),
    ("config", answer::<config::ConfigReport>),
    ("config get", answer::<config::ConfigReport>),
    ("config list", answer::<config::ConfigReport>),
    ("context", answer::<ContextReport>),
    ("context flush", answer::<TierChangeReport>),
    ("context gc", answer::<TierChangeReport>),
    ("context hydrate", answer::<HydrationReport>),
    ("context list", answer::<FragmentsReport>),
    ("context stats", answer::<TierStatsReport>),
    ("dashboard", answer::<dashboard::DashboardReport>),
    ("decide", answer::<DecideReport>),
    ("decisions", answer::<DecisionsReport>),
    ("decisions show", answer::<DecisionReport>),
    ("deinit", answer::<DeinitReport>),
    ("demote", answer::<PromotionReport>),
    ("diff", answer::<DiffReport>),
    ("doctor", answer::<DoctorReport>),
    ("error", schema_of::<ErrorAnswer<'static>>),
    ("events", answer::<EventsReport>),
    ("fleet", answer::<FleetReport>),
    ("fork", answer::<ForkReport>),
    ("forks", answer::<forks::ForksReport>),
    ("forks delete", answer::<DeleteReport>),
    ("git blame", answer::<GitTextReport>),
    ("git diff", answer::<GitTextReport>),
    ("git find", answer::<FoundLinesReport>),
    ("git history", answer::<HistoryReport>),
    ("git log", answer::<GitLogReport>),
    ("git read", answer::<ReadReport>),
    ("git status", answer::<GitTextReport>),
    ("groups", answer::<GroupsReport>),
    ("help", answer::<help::CommandsReport>),
    ("help --install", answer::<ManualReport>),
    ("hooks", answer::<HooksStatusReport>),
    ("hooks install", answer::<InstallReport>),
    ("hooks status", answer::<HooksStatusReport>),
    ("hooks uninstall", answer::<InstallReport>),
    ("id", answer::<IdReport>),
    ("index", answer::<IndexReport>),
    ("ingest", answer::<IngestReport>),
    ("init", answer::<InitReport>),
    ("knowledge", answer::<KnowledgeReport>),
    ("knowledge clear", answer::<ClearReport>),
    ("lfs hydrate", answer::<HydrateReport>),
    ("lfs migrate", answer::<MigrateReport>),
    ("lfs status", answer::<LfsStatus>),
    ("log", answer::<LogReport>),
    ("map", answer::<MapReport>),
    ("map blackboard", answer::<MapBlackboardReport>),
    ("map check", answer::<MapCheckReport>),
    ("map diff", answer::<MapDiffReport>),
    ("map preview", answer::<PreviewReport>),
    ("map repo", answer::<MapRepoReport>),
    ("map show", answer::<MapShowReport>),
    ("map tree", answer::<TreeReport>),
    ("memory add", answer::<MemoryAddReport>),
    ("memory path", answer::<MemoryPathReport>),
    ("memory show", answer::<MemoryReport>),
    ("merge", answer::<MergeReport>),
    ("merge --abort", answer::<UndoReport>),
    ("ops", answer::<OperationsReport>),
    ("ops prune", answer::<PruneReport>),
    ("ops show", answer::<OperationReport>),
    ("pages", answer::<PagesReport>),
    ("pages extend", answer::<ExtendReport>),
    ("pages graph", answer::<PageGraphReport>),
    ("pages lock", answer::<LockReport>),
    ("pages request", answer::<PageRequestReport>),
    ("pages resident", answer::<ResidentReport>),
    ("pages show", answer::<ShownPages>),
    ("pages stats", answer::<PageStatsReport>),
    ("pages unlock", answer::<UnlockReport>),
    ("paths", answer::<PathsReport>),
    ("plans", answer::<PlansReport>),
    ("projects", answer::<ProjectsReport>),
    ("projects add", answer::<ProjectChangeReport>),
    ("projects remove", answer::<ProjectChangeReport>),
    ("promote", answer::<PromotionReport>),
    ("prune", answer::<PruneReport>),
    ("query file", answer::<QueryFileReport>),
    ("query list", answer::<QueryListReport>),
    ("query log", answer::<QueryLogReport>),
    ("query text", answer::<QueryTextReport>),
    ("redo", answer::<UndoReport>),
    ("restore", answer::<RestoreReport>),
    ("schema", answer::<SchemaReport>),
    ("scopes", answer::<ScopesReport>),
    ("scopes mapped", answer::<MappedReport>),
    ("scopes show", answer::<ScopeReport>),
    ("scopes unmap", answer::<UnmapReport>),
    ("search", answer::<SearchReport>),
    ("session", answer::<SessionsReport>),
    ("session adopt", answer::<AdoptReport>),
    ("session end", answer::<SessionChangeReport>),
    ("session list", answer::<SessionsReport>),
    ("session new", answer::<NewSessionReport>),
    ("session note", answer::<SessionChangeReport>),
    ("session resume", answer::<SessionChangeReport>),
    ("session show", answer::<SessionReport>),
    ("status", answer::<StatusReport>),
    ("status --line", answer::<LineReport>),
    ("sync", answer::<SyncReport>),
    ("tag", answer::<CheckpointReport>),
    ("tools", answer::<ToolsReport>),
    ("tools find", answer::<FindReport>),
    ("tools new", answer::<NewReport>),
    ("topology", answer::<TopologyReport>),
    ("tour", answer::<tour::TourReport>),
    ("undo", answer::<UndoReport>),
    ("undo --session", answer::<SessionUndoReport>),
    ("validate", answer::<ValidateReport>),
    ("version", answer::<version::VersionReport>),
    ("watch", answer::<WatchReport>),
    ("watches", answer::<WatchesReport>),
    ("watches stop", answer::<StoppedReport>),
];

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let wanted = args.report.join(" ");
    let (reports, found) = if wanted.is_empty() {
        (REPORTS.iter().map(|(name, _)| *name).collect(), None)
    } else {
        let found = REPORTS.iter().find(|(name, _)| *name == wanted);
        (Vec::new(), Some(found.ok_or_else(|| unknown(&wanted))?))
    };
    let schema = found.map(|(name, make)| titled(make(), name));
    let report = SchemaReport {
        count: reports.len(),
        reports,
        report: found.map(|(name, _)| *name),
        schema,
        // As text the schema stands alone, so that it can be piped.
        message: if found.is_some() && face.form == Form::Text {
            Message::Silent
        } else {
            Message::Told
        },
    };
    face.answer(&report)
}

fn unknown(wanted: &str) -> Error {
    Error::new(Code::InvalidValue, format!("no report is named '{wanted}'"))
        .hint("git colony schema")
}

/// Lists the words that may come after the first words of a report's name; flags are left out.
pub(super) fn next_words(typed: &[String]) -> Vec<&'static str> {
    let next = |(name, _): &(&'static str, Make)| {
        let mut words = name.split(' ');
        let fits = typed.iter().all(|typed| words.next() == Some(typed));
        words.next().filter(|next| fits && !next.starts_with('-'))
    };
    let mut found: Vec<_> = REPORTS.iter().filter_map(next).collect();
    found.dedup();
    found
}

fn titled(mut schema: Schema, name: &str) -> Value {
    let title = match name {
        "error" => "what 'git colony --json' answers when it refuses or fails".to_owned(),
        command => format!("what 'git colony {command} --json' answers"),
    };
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

/// Returns the schema of a report as it is answered: with `ok` and `message`.
fn answer<T: JsonSchema>() -> Schema {
    let mut schema = schema_of::<T>();
    let object = schema.ensure_object();
    let mut properties = Map::new();
    let ok = "Whether the work is done and the answer is yes; the exit code is 0 then, else 1.";
    let message = "The same in one sentence, for people.";
    properties.insert("ok".to_owned(), json!({ "description": ok, "type": "boolean" }));
    properties.insert("message".to_owned(), json!({ "description": message, "type": "string" }));
    let mut required = vec![Value::from("ok"), Value::from("message")];
    if let Some(Value::Object(fields)) = object.remove("properties") {
        properties.extend(fields);
    }
    if let Some(Value::Array(names)) = object.remove("required") {
        required.extend(names);
    }
    object.insert("properties".to_owned(), properties.into());
    object.insert("required".to_owned(), required.into());
    schema
}

/// Whether the answer begins with a sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    Told,
    Silent,
}

#[derive(Serialize, JsonSchema)]
struct SchemaReport {
    /// The names of the reports; empty when one was asked for.
    reports: Vec<&'static str>,
    /// How many.
    count: usize,
    /// The one that was asked for.
    report: Option<&'static str>,
    /// Its JSON Schema, draft 2020-12.
    schema: Option<Value>,
    #[serde(skip)]
    message: Message,
}

impl Answer for SchemaReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        match (self.message, self.report) {
            (Message::Silent, _) => String::new(),
            (Message::Told, Some(name)) => format!("the schema of '{name}'"),
            (Message::Told, None) => text::count(self.count, "report"),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        match &self.schema {
            Some(schema) => {
                let text = serde_json::to_string_pretty(schema).expect("a schema is JSON");
                text.lines().map(str::to_owned).collect()
            }
            // As they are typed: a name with a flag is one word.
            None => self.reports.iter().map(|name| as_typed(name)).collect(),
        }
    }
}

fn as_typed(name: &str) -> String {
    if name.contains(" --") { format!("'{name}'") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Commands that never answer with a report.
    const WITHOUT: [&str; 2] = ["hook", "mcp"];

    fn collect(command: &clap::Command, path: &str, found: &mut BTreeSet<String>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let path = format!("{path} {}", sub.get_name());
            if !sub.is_subcommand_required_set() {
                found.insert(path.trim_start().to_owned());
            }
            collect(sub, &path, found);
        }
    }

    #[test]
    fn every_command_has_a_schema_and_every_schema_a_command() {
        let mut commands = BTreeSet::new();
        collect(&crate::cli::grammar::built(), "", &mut commands);
        let known: BTreeSet<_> = REPORTS.iter().map(|(name, _)| *name).collect();
        let missing: Vec<_> = commands
            .iter()
            .filter(|name| !known.contains(name.as_str()) && !WITHOUT.contains(&name.as_str()))
            .collect();
        assert!(missing.is_empty(), "add a line to REPORTS in src/cli/schema.rs for {missing:?}");
        // A flag may ask for another report: 'status --line'.
        let command = |name: &str| name.split(" --").next().unwrap_or_default().to_owned();
        let extra =
            known.iter().find(|name| **name != "error" && !commands.contains(&command(name)));
        assert_eq!(extra, None, "no such command");
        assert!(REPORTS.is_sorted_by_key(|(name, _)| *name));
    }
}

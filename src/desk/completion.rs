//! Completes an argument on TAB: existing names, with a short description each.
//!
//! Repository content is hostile and a completion ends up on a command line: only names that mean
//! themselves in every shell are offered, however the shell quotes. Reads only, refuses nothing:
//! unreadable names are not offered.

use std::collections::{BTreeMap, BTreeSet};

use crate::agents::agent_places;
use crate::blackboard::board::{self, Board};
use crate::context::known_projects;
use crate::design::checkpoint::checkpoints::{self, Checkpoint, CheckpointKind};
use crate::git::{Checkout, ObjectWrites, RefName, Repo};
use crate::model::World;
use crate::model::interrupt::Interrupt;
use crate::model::time::{self, Moment};
use crate::setup::tool_entry::ToolEntry;
use crate::setup::tool_registry;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::key;
use crate::store::operation::Record;
use crate::store::refs::ref_names;
use crate::store::session_log::SessionLogs;
use crate::store::settings::Flags;
use crate::workspace::checkout::catalog::load;
use crate::workspace::checkout::root_files::RootFiles;
use crate::workspace::memory;

/// The kind of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Checkpoints, by label or id.
    Checkpoints,
    /// Checkpoints, and operations of this worktree.
    CheckpointsAndOperations,
    /// Operations of this worktree.
    Operations,
    /// Branches, forks, tags, and remote branches.
    Revisions,
    /// Local branches, forks among them.
    Branches,
    /// Agents, and local branches.
    AgentsAndBranches,
    /// Agents, and all that [`Names::Revisions`] has.
    AgentsAndRevisions,
    /// Fork branches.
    Forks,
    /// Agents that have a file in `.colony/agents`, or a clone, or that have published something.
    Agents,
    /// Removed agents whose work is kept.
    RemovedAgents,
    /// Projects of the repository and of the user.
    Projects,
    /// Blackboards that have keys.
    Blackboards,
    /// Keys of the blackboard that was typed before.
    BlackboardKeys,
    /// Remotes.
    Remotes,
    /// The capabilities of the tools in the registry.
    Capabilities,
    /// The purposes of these tools.
    Purposes,
    /// Scopes that are mapped.
    Scopes,
    /// Sessions of this checkout.
    Sessions,
    /// Days that have notes of this checkout.
    Days,
    /// Repositories of the catalog, by name and by declared id.
    Repositories,
}

/// One completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The word.
    pub value: String,
    /// Its description; may hold anything.
    pub about: String,
}

impl Offer {
    /// Makes a completion.
    pub fn new(value: impl Into<String>, about: impl Into<String>) -> Offer {
        let (value, about) = (value.into(), about.into());
        Offer { value, about }
    }
}

/// The number of newest checkpoints that are read for their labels, and of operations for their
/// summaries.
const DESCRIBED: usize = 50;

/// The names that are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Their kind.
    pub kind: Names,
    /// What they begin with.
    pub typed: &'a str,
    /// The arguments before.
    pub before: &'a [String],
}

/// Returns the names that begin with the typed text, each once.
pub fn names(world: &World, repo: &Repo, wanted: Wanted<'_>) -> Vec<Offer> {
    let (typed, now) = (wanted.typed, &world.now());
    let offers = match wanted.kind {
        Names::Checkpoints => checkpoints_for(repo, typed, now),
        Names::Operations => operations(repo),
        Names::CheckpointsAndOperations => {
            let mut offers = checkpoints_for(repo, typed, now);
            offers.extend(operations(repo));
            offers
        }
        Names::Revisions => revisions(repo),
        Names::Branches => below(repo, "refs/heads/", "refs/heads/", "branch"),
        Names::Forks => below(repo, ref_names::FORKS, "refs/heads/", "fork"),
        Names::AgentsAndBranches => {
            let branches = below(repo, "refs/heads/", "refs/heads/", "branch");
            agents(world, repo).into_iter().chain(branches).collect()
        }
        Names::AgentsAndRevisions => {
            let agents = agents(world, repo).into_iter();
            agents.chain(revisions(repo)).collect()
        }
        Names::Agents => agents(world, repo),
        Names::RemovedAgents => with_session(world, agent_places::removed_names)
            .into_iter()
            .map(|name| Offer::new(name, "removed agent"))
            .collect(),
        Names::Projects => with_session(world, projects)
            .into_iter()
            .map(|name| Offer::new(name, "project"))
            .collect(),
        Names::Blackboards => {
            let boards = board::list(repo).map(|(boards, _)| boards).unwrap_or_default();
            let offer = |board: Board| Offer::new(board.scope, "blackboard");
            boards.into_iter().map(offer).collect()
        }
        Names::BlackboardKeys => keys(repo, wanted.before),
        Names::Remotes => remotes(repo),
        Names::Sessions => sessions(repo),
        Names::Days => days(repo),
        Names::Capabilities => of_tools(repo, |tool| (tool.capability, tool.name)),
        Names::Purposes => of_tools(repo, |tool| (tool.purpose, "purpose".to_owned())),
        Names::Scopes => crate::map::pages::scopes::mapped_ids(repo)
            .into_iter()
            .map(|(id, kind)| Offer::new(id, kind))
            .collect(),
        Names::Repositories => repositories(repo),
    };
    let fits = |offer: &Offer| offer.value.starts_with(typed) && is_plain(&offer.value);
    offers.into_iter().filter(fits).collect()
}

/// Returns `true` if a name can be used on a command line unquoted, except for its spaces.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " ._/,+-:#".contains(c);
    let first = |c: char| c.is_alphanumeric() || "._/".contains(c);
    name.starts_with(first) && !name.ends_with(' ') && name.len() <= 200 && name.chars().all(plain)
}

/// Offers labels, newest first; ids if the label cannot be typed, or if an id is being typed.
fn checkpoints_for(repo: &Repo, typed: &str, now: &Moment) -> Vec<Offer> {
    let mut offers = Vec::new();
    let newest = checkpoints::newest(repo, CheckpointKind::Named, DESCRIBED);
    let mut bearers: BTreeMap<&str, usize> = BTreeMap::new();
    for checkpoint in &newest {
        *bearers.entry(&checkpoint.label).or_default() += 1;
    }
    for checkpoint in &newest {
        let age = age(checkpoint, now);
        if is_plain(&checkpoint.label) && bearers.get(checkpoint.label.as_str()) == Some(&1) {
            offers.push(Offer::new(&checkpoint.label, age));
        } else {
            let about = format!("{}, {age}", checkpoint.label);
            offers.push(Offer::new(&checkpoint.checkpoint_id, about));
        }
    }
    if !typed.is_empty() {
        let named = checkpoints::names_in(repo, CheckpointKind::Named);
        let id =
            |name: &RefName| Some(format!("checkpoint/{}", ref_names::parse_checkpoint(name)?));
        let ids: BTreeSet<String> = named.iter().filter_map(id).collect();
        let offered = |id: &String| offers.iter().any(|offer| offer.value == *id);
        let added: Vec<_> =
            ids.into_iter().rev().filter(|id| id.starts_with(typed) && !offered(id)).collect();
        offers.extend(added.into_iter().map(|id| Offer::new(id, "checkpoint")));
    }
    if typed.starts_with("auto") {
        let automatic = checkpoints::newest(repo, CheckpointKind::Automatic, DESCRIBED);
        let offer = |c: &Checkpoint| Offer::new(&c.checkpoint_id, age(c, now));
        offers.extend(automatic.iter().map(offer));
    }
    offers
}

/// Reads the rows of the catalog; opens none of the repositories.
fn repositories(repo: &Repo) -> Vec<Offer> {
    let files = RootFiles { root: repo.workdir(), interrupt: &Interrupt::default() };
    let manifest = load::find(files).and_then(|loaded| loaded.read.ok());
    let mut offers = Vec::new();
    for row in manifest.unwrap_or_default().repositories {
        let name = row.name();
        let place = row.access.root_path.or(row.access.origin_url);
        offers.extend(row.repository_id.map(|id| Offer::new(id, &name)));
        offers.push(Offer::new(name, place.unwrap_or_default()));
    }
    offers.sort_by(|offer, other| offer.value.cmp(&other.value));
    offers.dedup_by(|offer, other| offer.value == other.value);
    offers
}

fn age(checkpoint: &Checkpoint, now: &Moment) -> String {
    let made = chrono::DateTime::parse_from_rfc3339(&checkpoint.created_at);
    made.map_or_else(|_| String::new(), |made| time::ago(&made, now))
}

fn operations(repo: &Repo) -> Vec<Offer> {
    let Ok(Some(places)) = Places::find(repo) else {
        return Vec::new();
    };
    let names = repo.ref_names_below(&ref_names::operations_of(&places.key));
    let mut offers = Vec::new();
    for (number, name) in names.iter().rev().enumerate() {
        let Some((_, id)) = ref_names::parse_operation(name) else {
            continue;
        };
        let record = match repo.find_ref(name) {
            Ok(Some(commit)) if number < DESCRIBED => Record::read(repo, commit).ok(),
            _ => None,
        };
        let about = record.map_or_else(|| "operation".to_owned(), |record| record.summary);
        offers.push(Offer::new(id.to_string(), about));
    }
    offers
}

fn revisions(repo: &Repo) -> Vec<Offer> {
    let mut offers = vec![Offer::new("HEAD", "the current commit")];
    offers.extend(below(repo, "refs/heads/", "refs/heads/", "branch"));
    offers.extend(below(repo, "refs/tags/", "refs/tags/", "tag"));
    offers.extend(below(repo, "refs/remotes/", "refs/remotes/", "remote branch"));
    offers
}

fn below(repo: &Repo, prefix: &str, stripped: &str, what: &str) -> Vec<Offer> {
    let names = repo
        .ref_names_below(prefix)
        .into_iter()
        .filter_map(|name| Some(name.to_string().strip_prefix(stripped)?.to_owned()));
    let offer = |name: String| {
        let what =
            if stripped.ends_with("heads/") && name.starts_with("fork/") { "fork" } else { what };
        Offer::new(name, what)
    };
    names.map(offer).collect()
}

/// Agents have a file that is reviewed like any other, `.colony/agents/<name>.md`, a clone, or have
/// published something.
fn agents(world: &World, repo: &Repo) -> Vec<Offer> {
    let directory = repo.workdir().join(".colony/agents");
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".md").map(str::to_owned))
        .collect();
    let published = repo.ref_names_below(ref_names::AGENTS);
    names.extend(published.iter().filter_map(|name| {
        let name = name.to_string();
        let agent = name.strip_prefix(ref_names::AGENTS)?.split('/').next()?;
        key::decode(agent)
    }));
    names.extend(with_session(world, agent_places::names));
    names.sort();
    names.dedup();
    names.into_iter().map(|name| Offer::new(name, "agent")).collect()
}

/// Lists names that a session has; a session that cannot be opened has none.
fn with_session(world: &World, list: fn(&Session) -> BTreeSet<String>) -> BTreeSet<String> {
    let session = Session::open(world.clone(), &Flags::default(), ObjectWrites::InMemory);
    session.map(|session| list(&session)).unwrap_or_default()
}

fn projects(session: &Session) -> BTreeSet<String> {
    let known = known_projects::read(session).map(|known| known.projects);
    let projects = known.unwrap_or_default().into_iter();
    projects.map(|project| project.item.name).collect()
}

fn keys(repo: &Repo, before: &[String]) -> Vec<Offer> {
    let board = before.first().and_then(|scope| Board::open(repo, scope).ok());
    let entries = board.and_then(|board| board.read(repo).ok());
    let (entries, _) = entries.unwrap_or_default();
    entries.into_iter().map(|entry| Offer::new(entry.key, "key")).collect()
}

/// Offers words of the registry, each once; a registry that cannot be read offers none.
fn remotes(repo: &Repo) -> Vec<Offer> {
    let names = repo.remote_names().into_iter();
    names.map(|name| Offer::new(name, "remote")).collect()
}

fn sessions(repo: &Repo) -> Vec<Offer> {
    let Ok(checkout) = Checkout::of_repo(repo) else {
        return Vec::new();
    };
    let logs = SessionLogs::of(&checkout.root, checkout.repository_id());
    let ids = logs.ids().unwrap_or_default().into_iter();
    ids.map(|id| Offer::new(id.as_str(), "session")).collect()
}

fn days(repo: &Repo) -> Vec<Offer> {
    let days = Checkout::of_repo(repo).map(|checkout| memory::days(&checkout));
    let known = days.unwrap_or_default().into_iter();
    known.map(|day| Offer::new(day.to_string(), "notes")).collect()
}

fn of_tools(repo: &Repo, as_offer: impl Fn(ToolEntry) -> (String, String)) -> Vec<Offer> {
    let tools = tool_registry::read(repo).unwrap_or_default();
    let words: BTreeMap<String, String> = tools.into_iter().map(as_offer).collect();
    words.into_iter().map(|(word, about)| Offer::new(word, about)).collect()
}

//! Merges records by their meaning: decisions, knowledge graphs, budgets, our own settings.
//!
//! Pure: bytes in, bytes out. A file that is not understood is never guessed at: the caller merges
//! it as text. Unchanged parts keep their bytes; conflict markers surround the fewest lines that a
//! person has to settle.

mod lists;
mod render;
mod text;
mod three_way;
mod triples;

use std::cell::RefCell;

use serde_json::Value;

use crate::model::RepoPath;
use crate::store::data_tree::{Document, json, yaml};

use render::Renderer;
pub use text::Marks;
pub use three_way::{Clash, Conflict};
use three_way::{Merge, Merged, Numbers, PlainLists, Rules, Side, Triples};

/// A merge driver, as attributes and git's configuration name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// `*.kg.json`: triples are a set.
    Graph,
    /// Decisions: by id, then field by field.
    Decisions,
    /// Budgets: numbers that both raised or lowered are joined.
    Budget,
    /// `page_graph.parquet`: derived, not merged.
    PageGraph,
    /// Files in `.colony/`: maps by key, lists by the identity of their items.
    Config,
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverOutcome {
    /// The merged file.
    Clean(Vec<u8>),
    /// There are conflicts.
    Conflicted(Conflicted),
    /// A version is malformed or too large: merge it as text.
    NotUnderstood,
}

/// A merge with conflicts. Both files hold everything that merged cleanly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicted {
    /// The file with each conflict settled as in ours.
    pub ours: String,
    /// The file with each conflict settled as in theirs.
    pub theirs: String,
    /// The conflicts; never empty.
    pub conflicts: Vec<Conflict>,
}

impl Conflicted {
    /// Returns the file with conflict markers around each conflict.
    pub fn marked(&self, marks: &Marks) -> Vec<u8> {
        text::marked(&self.ours, &self.theirs, marks).into_bytes()
    }
}

impl Driver {
    /// Every driver.
    pub const ALL: [Driver; 5] =
        [Driver::Graph, Driver::Decisions, Driver::Budget, Driver::PageGraph, Driver::Config];

    /// Returns the name in attributes and in git's configuration.
    pub fn name(self) -> &'static str {
        match self {
            Driver::Graph => "colony-kg",
            Driver::Decisions => "colony-decisions",
            Driver::Budget => "colony-budget",
            Driver::PageGraph => "colony-page-graph",
            Driver::Config => "colony-config",
        }
    }

    /// Returns the driver with that name.
    pub fn named(name: &str) -> Option<Driver> {
        Driver::ALL.into_iter().find(|driver| driver.name() == name)
    }

    /// Merges two changed versions of a file; an absent or empty `base` means that the file did not
    /// exist.
    ///
    /// A page graph is never merged: `valid_page_graph` decides which version is kept.
    pub fn merge(
        self,
        path: &RepoPath,
        base: Option<&[u8]>,
        ours: &[u8],
        theirs: &[u8],
    ) -> DriverOutcome {
        if ours == theirs || base == Some(theirs) {
            return DriverOutcome::Clean(ours.to_vec());
        }
        if base == Some(ours) {
            return DriverOutcome::Clean(theirs.to_vec());
        }
        let base =
            base.filter(|base| !base.trim_ascii().is_empty()).map(std::str::from_utf8).transpose();
        let (Ok(base), Ok(ours), Ok(theirs)) =
            (base, std::str::from_utf8(ours), std::str::from_utf8(theirs))
        else {
            return DriverOutcome::NotUnderstood;
        };
        let parse: Parse = match self {
            Driver::PageGraph => return DriverOutcome::NotUnderstood,
            Driver::Graph | Driver::Decisions => json::parse,
            Driver::Config if path.as_bytes().ends_with(b".json") => json::parse,
            Driver::Budget | Driver::Config => yaml::parse,
        };
        self.merge_text(parse, base, ours, theirs).unwrap_or(DriverOutcome::NotUnderstood)
    }

    fn merge_text(
        self,
        parse: Parse,
        base: Option<&str>,
        ours: &str,
        theirs: &str,
    ) -> Option<DriverOutcome> {
        let (our_document, their_document) = (parse(ours)?, parse(theirs)?);
        let before = match base {
            Some(base) => Some(parse(base)?),
            None => None,
        };
        let base_root = before.as_ref().map(|before| &before.root);
        let rules = self.rules(before.as_ref(), &our_document, &their_document);
        let mut merge = Merge::new(rules);
        let merged = merge.node(base_root, &our_document.root, &their_document.root);
        let render = |side: Side| -> Option<(String, Vec<Conflict>)> {
            let renderer = Renderer {
                base: before.as_ref(),
                ours: &our_document,
                theirs: &their_document,
                side,
                clashes: RefCell::default(),
            };
            let text = renderer.document(&merged)?;
            says(parse, &text, &merged, side).then_some((text, renderer.clashes.into_inner()))
        };
        if merge.conflicts.is_empty() {
            // A line merge with the same values also keeps comments and formatting.
            let by_lines = base.and_then(|base| text::merge(base, ours, theirs));
            let fits = |text: &String| says(parse, text, &merged, Side::Ours);
            if let Some(text) = by_lines.filter(fits) {
                return Some(DriverOutcome::Clean(text.into_bytes()));
            }
        }
        let (ours, comments) = render(Side::Ours)?;
        let mut conflicts = merge.conflicts;
        conflicts.extend(comments);
        if conflicts.is_empty() {
            return Some(DriverOutcome::Clean(ours.into_bytes()));
        }
        let (theirs, _) = render(Side::Theirs)?;
        // Without a difference to mark, the conflict would be hidden.
        (ours != theirs).then_some(DriverOutcome::Conflicted(Conflicted {
            ours,
            theirs,
            conflicts,
        }))
    }

    fn rules(
        self,
        base: Option<&Document<'_>>,
        ours: &Document<'_>,
        theirs: &Document<'_>,
    ) -> Rules<'static> {
        let generic = Rules {
            identity: &["decision_id", "id", "name", "path"],
            record: None,
            plain_lists: PlainLists::JoinAdditions,
            numbers: Numbers::Conflict,
            triples: Triples::AsLists,
        };
        match self {
            Driver::Graph => Rules { triples: Triples::AsSets, ..generic },
            Driver::Decisions => Rules {
                identity: &["decision_id", "id"],
                record: Some("decision_id"),
                plain_lists: PlainLists::Atomic,
                ..generic
            },
            Driver::Budget => Rules { numbers: policy(base, ours, theirs), ..generic },
            Driver::Config | Driver::PageGraph => generic,
        }
    }
}

type Parse = fn(&str) -> Option<Document<'_>>;

/// Returns `true` if a text parses to the merged values.
fn says(parse: Parse, text: &str, merged: &Merged<'_>, side: Side) -> bool {
    parse(text).is_some_and(|document| document.root.canonical() == merged.canonical(side))
}

/// Returns `metadata.policy` of the merged budget: ours, unless only theirs changed it.
///
/// The policy decides how numbers merge, so its value comes from the YAML reader, in any style.
/// With an unknown policy a person settles the numbers.
fn policy(base: Option<&Document<'_>>, ours: &Document<'_>, theirs: &Document<'_>) -> Numbers {
    let before = base.and_then(policy_of);
    let (our_policy, their_policy) = (policy_of(ours), policy_of(theirs));
    let merged = if our_policy == before { their_policy } else { our_policy };
    match merged.map(Value::as_str) {
        None | Some(Some("max_on_increase")) => Numbers::MaxOnIncrease,
        Some(Some("min_on_increase")) => Numbers::MinOnIncrease,
        Some(_) => Numbers::Conflict,
    }
}

fn policy_of<'d>(document: &'d Document<'_>) -> Option<&'d Value> {
    document.value.as_ref()?.pointer("/metadata/policy")
}

/// Returns the driver that the attributes of a new repository name for a path.
pub fn driver_for(path: &RepoPath) -> Option<Driver> {
    let path = path.as_bytes();
    let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (path.get(..at)?, path.get(at + 1..)?),
        None => (&b""[..], path),
    };
    let ends = |end: &[u8]| name.ends_with(end);
    let in_budgets = folder == b"budgets" || folder.ends_with(b"/budgets");
    let in_decisions = folder == b"design/decisions" || folder.starts_with(b"design/decisions/");
    // As in git, the last matching line counts.
    if folder == b".colony" && (ends(b".json") || ends(b".yaml")) {
        return Some(Driver::Config);
    }
    if name == b"page_graph.parquet" {
        return Some(Driver::PageGraph);
    }
    if in_budgets && (ends(b".yaml") || ends(b".yml")) {
        return Some(Driver::Budget);
    }
    if in_decisions && ends(b".json") {
        return Some(Driver::Decisions);
    }
    ends(b".kg.json").then_some(Driver::Graph)
}

/// Returns the version of a page graph that is kept: ours, unless only theirs is a page graph or a
/// git-lfs pointer to one.
pub fn valid_page_graph<'b>(ours: &'b [u8], theirs: &'b [u8]) -> &'b [u8] {
    let is_valid = |bytes: &[u8]| {
        let is_parquet =
            bytes.len() >= 12 && bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1");
        is_parquet || bytes.starts_with(b"version https://git-lfs.github.com/spec/")
    };
    if !is_valid(ours) && is_valid(theirs) { theirs } else { ours }
}

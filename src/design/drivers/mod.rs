//! Merging records by what they say: decisions, knowledge graphs, budgets, our own settings.
//!
//! Pure: bytes in, bytes out. A file that is not understood is never guessed at: the caller merges
//! it as text. What nobody changed keeps its bytes; what is to be settled by a person stands between
//! conflict marks around the fewest lines.

mod json;
mod lists;
mod render;
mod text;
mod three_way;
mod tree;
mod triples;
mod yaml;
mod yaml_lines;
mod yaml_words;

use std::cell::RefCell;

use serde_json::Value;

use crate::model::RepoPath;

use render::Renderer;
pub use text::Marks;
pub use three_way::{Clash, Conflict};
use three_way::{Merge, Merged, Numbers, PlainLists, Rules, Side, Triples};
use tree::Document;

/// One way of merging, as it is named in attributes and in git's configuration.
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
    /// What is in `.colony/`: maps by key, lists by what tells their items apart.
    Config,
}

/// What a merge came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverOutcome {
    /// The merged file.
    Clean(Vec<u8>),
    /// There is something to settle.
    Conflicted(Conflicted),
    /// A version is not what it should be, or too large: to be merged as text.
    NotUnderstood,
}

/// A merge with something to settle. Both files hold everything that needs no settling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicted {
    /// The file with each conflict settled as in ours.
    pub ours: String,
    /// The file with each conflict settled as in theirs.
    pub theirs: String,
    /// What there is to settle; never empty.
    pub conflicts: Vec<Conflict>,
}

impl Conflicted {
    /// Returns the file with conflict marks around what is to be settled.
    pub fn marked(&self, marks: &Marks) -> Vec<u8> {
        text::marked(&self.ours, &self.theirs, marks).into_bytes()
    }
}

impl Driver {
    /// Every driver.
    pub const ALL: [Driver; 5] = [
        Driver::Graph,
        Driver::Decisions,
        Driver::Budget,
        Driver::PageGraph,
        Driver::Config,
    ];

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

    /// Returns the driver of that name.
    pub fn named(name: &str) -> Option<Driver> {
        Driver::ALL.into_iter().find(|driver| driver.name() == name)
    }

    /// Merges two changed versions of a file; an absent or empty `base` is one that was not there.
    ///
    /// A page graph is never merged: [`valid_page_graph`] says which version is kept.
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
        let base = base.filter(|base| !base.trim_ascii().is_empty());
        let base = base.map(std::str::from_utf8).transpose();
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
        self.merge_text(parse, base, ours, theirs)
            .unwrap_or(DriverOutcome::NotUnderstood)
    }

    fn merge_text(
        self,
        parse: Parse,
        base: Option<&str>,
        ours: &str,
        theirs: &str,
    ) -> Option<DriverOutcome> {
        let (one, other) = (parse(ours)?, parse(theirs)?);
        let before = match base {
            Some(base) => Some(parse(base)?),
            None => None,
        };
        let base_root = before.as_ref().map(|before| &before.root);
        let rules = self.rules(before.as_ref(), &one, &other);
        let mut merge = Merge::new(rules);
        let merged = merge.node(base_root, &one.root, &other.root);
        let render = |side: Side| -> Option<(String, Vec<Conflict>)> {
            let renderer = Renderer {
                base: before.as_ref(),
                ours: &one,
                theirs: &other,
                side,
                clashes: RefCell::default(),
            };
            let text = renderer.document(&merged)?;
            says(parse, &text, &merged, side).then_some((text, renderer.clashes.into_inner()))
        };
        if merge.conflicts.is_empty() {
            // Where lines merge to the same values, they keep what values do not tell.
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
        // Marks around nothing would hide a conflict.
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
            Driver::Graph => Rules {
                triples: Triples::AsSets,
                ..generic
            },
            Driver::Decisions => Rules {
                identity: &["decision_id", "id"],
                record: Some("decision_id"),
                plain_lists: PlainLists::Atomic,
                ..generic
            },
            Driver::Budget => Rules {
                numbers: policy(base, ours, theirs),
                ..generic
            },
            Driver::Config | Driver::PageGraph => generic,
        }
    }
}

type Parse = fn(&str) -> Option<Document<'_>>;

/// Tells whether a text reads as what was decided.
fn says(parse: Parse, text: &str, merged: &Merged<'_>, side: Side) -> bool {
    parse(text).is_some_and(|document| document.root.canonical() == merged.canonical(side))
}

/// Returns what `metadata.policy` says in the merged budget: ours, unless only theirs changed it.
///
/// It decides, so it is what the YAML reader says, in whatever style it is written. A policy that is
/// not known leaves the numbers to a person.
fn policy(base: Option<&Document<'_>>, ours: &Document<'_>, theirs: &Document<'_>) -> Numbers {
    let before = base.and_then(policy_of);
    let (one, other) = (policy_of(ours), policy_of(theirs));
    let merged = if one == before { other } else { one };
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
    // As in git, the last line that fits counts.
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

/// Returns the version of a page graph that stays: ours, unless only theirs is a file of its kind
/// or a pointer of git-lfs to one.
pub fn valid_page_graph<'b>(ours: &'b [u8], theirs: &'b [u8]) -> &'b [u8] {
    let is_valid = |bytes: &[u8]| {
        let is_parquet =
            bytes.len() >= 12 && bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1");
        is_parquet || bytes.starts_with(b"version https://git-lfs.github.com/spec/")
    };
    if !is_valid(ours) && is_valid(theirs) {
        theirs
    } else {
        ours
    }
}

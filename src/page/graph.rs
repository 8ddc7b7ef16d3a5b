//! The graph of pages: which ones are related, and why.
//!
//! An edge joins two different pages of a scope. Its possible sources, with their weight and
//! confidence:
//!
//! | kind | between | weight | confidence |
//! |---|---|---|---|
//! | `same_file` | consecutive parts of a file | 1 | 1 |
//! | `link` | a markdown link and its target file | 0.8 | 1 |
//! | `same_directory` | consecutive files of a directory | 0.5 | 0.5 |
//! | `co_change` | files that commits touched together | 0.3 x the share of those commits | n / (n
//! + 2) for n of them |
//!
//! For a file in several pages, a link starts at the page that contains it; all other edges start
//! and end at the first page of a file (for the earlier of two files of a directory: the last). The
//! weight of an edge combines the weights of its sources, bounded by 1: 1 - (1 - a)(1 - b).., and
//! its confidence is their maximum. An edge leads from the page with the link to the other; an edge
//! without direction starts at the page that comes first. So there are at most two between two
//! pages.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::model::{RepoPath, Result};
use crate::store::cache::database::Unusable;
use crate::store::cache::page_table::{PageTable, ScopeRow};
use crate::store::cache::relation_cache::RelationCache;

use super::listing::Neighbor;
use super::mapping::read_pages;
use super::pages::{Page, PageId};
use super::relations::{self, Source};

/// The maximum weight of a shared history.
const TOGETHER: f64 = 0.3;

/// The reason why two pages are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RelationshipType {
    /// They contain consecutive parts of a file.
    SameFile,
    /// A markdown link in one leads to a file of the other.
    Link,
    /// They contain consecutive files of a directory.
    SameDirectory,
    /// Commits touched files of both together.
    CoChange,
}

impl RelationshipType {
    /// Returns the text for people.
    pub fn as_str(self) -> &'static str {
        match self {
            RelationshipType::SameFile => "same file",
            RelationshipType::Link => "link",
            RelationshipType::SameDirectory => "same directory",
            RelationshipType::CoChange => "changed together",
        }
    }
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GraphNode {
    /// Its id.
    #[schemars(with = "String")]
    pub page_id: PageId,
    /// The scope it belongs to.
    pub scope_id: String,
    /// Its tokens.
    pub tokens: u32,
    /// Its files, in order.
    pub files: Vec<RepoPath>,
}

/// Two related pages.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GraphEdge {
    /// The page with the link; without a direction, the one that comes first.
    #[schemars(with = "String")]
    pub source: PageId,
    /// The other.
    #[schemars(with = "String")]
    pub target: PageId,
    /// How strongly they are related, from 0 to 1.
    pub weight: f64,
    /// The confidence, from 0 to 1.
    pub confidence: f64,
    /// The reasons.
    pub relationship_types: Vec<RelationshipType>,
}

/// Pages and their relations.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The pages, in the order of scopes and paths.
    pub nodes: Vec<GraphNode>,
    /// The edges, in the order of the pages.
    pub edges: Vec<GraphEdge>,
}

/// The pages of one scope while a graph is built.
#[derive(Default)]
struct Scope {
    nodes: Vec<GraphNode>,
    /// The blob of each file, and its parts in order.
    files: BTreeMap<RepoPath, (Oid, Vec<Part>)>,
    edges: BTreeMap<(usize, usize), Joined>,
}

/// A stretch of a file, and its page.
#[derive(Clone, Copy)]
struct Part {
    start: u64,
    page: usize,
}

/// The relation of two pages.
struct Joined {
    /// The difference of the weight from 1.
    missing: f64,
    confidence: f64,
    types: BTreeSet<RelationshipType>,
}

impl Graph {
    /// Adds the pages of a scope and their edges.
    pub fn add(
        &mut self,
        source: &Source<'_>,
        table: &PageTable,
        row: &ScopeRow,
        cache: &mut RelationCache,
    ) -> Result<()> {
        let mut scope = Scope::read(table, row).map_err(super::listing::unusable)?;
        scope.join_parts();
        scope.join_neighbors();
        let files: BTreeMap<_, _> =
            scope.files.iter().map(|(path, (blob, _))| (path.clone(), *blob)).collect();
        for link in relations::links(source, &files, cache)? {
            let from = scope.page_at(&link.from, link.at);
            let to = scope.first_page(&link.to);
            scope.join(from.zip(to), RelationshipType::Link, 0.8, 1.0);
        }
        if let Some(commit) = Oid::parse(&row.revision) {
            for pair in relations::together(source, commit, &files, cache)? {
                let pages = scope.first_page(&pair.first).zip(scope.first_page(&pair.second));
                let commits = f64::from(pair.commits);
                let weight = TOGETHER * pair.share;
                let confidence = commits / (commits + 2.0);
                let kind = RelationshipType::CoChange;
                scope.join(in_order(pages), kind, weight, confidence);
            }
        }
        scope.hand_over(self);
        Ok(())
    }

    /// Lists the neighbors of a page, in both directions: the strongest first, equal ones in the
    /// order of the pages.
    pub fn neighbors(&self, page: PageId) -> Vec<Neighbor> {
        let mut by_neighbor: BTreeMap<PageId, Vec<&GraphEdge>> = BTreeMap::new();
        for edge in &self.edges {
            let other = match (edge.source == page, edge.target == page) {
                (true, false) => edge.target,
                (false, true) => edge.source,
                _ => continue,
            };
            by_neighbor.entry(other).or_default().push(edge);
        }
        let neighbor = |node: &GraphNode| {
            let edges = by_neighbor.get(&node.page_id)?;
            let types: BTreeSet<_> =
                edges.iter().flat_map(|edge| &edge.relationship_types).copied().collect();
            let most =
                |of: fn(&GraphEdge) -> f64| edges.iter().map(|edge| of(edge)).fold(0.0, f64::max);
            Some(Neighbor {
                page_id: node.page_id,
                files: node.files.clone(),
                weight: most(|edge| edge.weight),
                confidence: most(|edge| edge.confidence),
                relationship_types: types.into_iter().collect(),
            })
        };
        let mut neighbors: Vec<_> = self.nodes.iter().filter_map(neighbor).collect();
        neighbors.sort_by(|neighbor, other| other.weight.total_cmp(&neighbor.weight));
        neighbors
    }

    /// Keeps at most `most` pages: those with the most edges, the first among equals. Returns
    /// `true` if any were removed.
    pub fn prune(&mut self, most: usize) -> bool {
        if self.nodes.len() <= most {
            return false;
        }
        let mut degrees: BTreeMap<PageId, usize> = BTreeMap::new();
        for edge in &self.edges {
            *degrees.entry(edge.source).or_default() += 1;
            *degrees.entry(edge.target).or_default() += 1;
        }
        let degree = |node: &GraphNode| degrees.get(&node.page_id).copied().unwrap_or_default();
        let mut ranked: Vec<&GraphNode> = self.nodes.iter().collect();
        // A stable sort: equal pages stay in order.
        ranked.sort_by_key(|node| std::cmp::Reverse(degree(node)));
        let kept: BTreeSet<PageId> = ranked.iter().take(most).map(|node| node.page_id).collect();
        self.nodes.retain(|node| kept.contains(&node.page_id));
        self.edges.retain(|edge| kept.contains(&edge.source) && kept.contains(&edge.target));
        true
    }
}

impl Scope {
    fn read(table: &PageTable, row: &ScopeRow) -> Result<Scope, Unusable> {
        let mut scope = Scope::default();
        let mut is_sound = true;
        table.each_directory(row, |directory| {
            let pages = read_pages(&directory);
            is_sound = pages.is_ok();
            for page in pages.unwrap_or_default() {
                scope.add(&row.scope, page);
            }
            is_sound
        })?;
        if !is_sound {
            return Err(Unusable::because("it is damaged"));
        }
        for (_, parts) in scope.files.values_mut() {
            parts.sort_by_key(|part| part.start);
        }
        Ok(scope)
    }

    fn add(&mut self, scope_id: &str, page: Page) {
        let at = self.nodes.len();
        let mut files: Vec<RepoPath> = Vec::new();
        for record in page.records {
            let empty = || (record.blob, Vec::new());
            let (_, parts) = self.files.entry(record.path.clone()).or_insert_with(empty);
            parts.push(Part { start: record.start, page: at });
            if files.last() != Some(&record.path) {
                files.push(record.path);
            }
        }
        self.nodes.push(GraphNode {
            page_id: page.id,
            scope_id: scope_id.to_owned(),
            tokens: page.tokens,
            files,
        });
    }

    fn join_parts(&mut self) {
        let all: Vec<Vec<Part>> = self.files.values().map(|(_, parts)| parts.clone()).collect();
        let pairs = all.iter().flat_map(|parts| parts.windows(2));
        for pair in pairs {
            let pages = pair.first().zip(pair.last()).map(|(part, next)| (part.page, next.page));
            self.join(in_order(pages), RelationshipType::SameFile, 1.0, 1.0);
        }
    }

    fn join_neighbors(&mut self) {
        let mut last: BTreeMap<Option<RepoPath>, usize> = BTreeMap::new();
        let mut pairs = Vec::new();
        for (path, (_, parts)) in &self.files {
            let (Some(first), Some(end)) = (parts.first(), parts.last()) else {
                continue;
            };
            let before = last.insert(path.parent(), end.page);
            pairs.push(before.map(|before| (before, first.page)));
        }
        for pages in pairs {
            self.join(in_order(pages), RelationshipType::SameDirectory, 0.5, 0.5);
        }
    }

    fn join(
        &mut self,
        pages: Option<(usize, usize)>,
        kind: RelationshipType,
        weight: f64,
        confidence: f64,
    ) {
        let Some(pages) = pages.filter(|(from, to)| from != to) else {
            return;
        };
        let joined = self.edges.entry(pages).or_insert_with(|| Joined {
            missing: 1.0,
            confidence: 0.0,
            types: BTreeSet::new(),
        });
        joined.missing *= 1.0 - weight;
        joined.confidence = joined.confidence.max(confidence);
        joined.types.insert(kind);
    }

    fn first_page(&self, path: &RepoPath) -> Option<usize> {
        let (_, parts) = self.files.get(path)?;
        parts.first().map(|part| part.page)
    }

    /// Returns the page that contains a position of a file.
    fn page_at(&self, path: &RepoPath, at: u64) -> Option<usize> {
        let (_, parts) = self.files.get(path)?;
        let before = parts.partition_point(|part| part.start <= at);
        parts.get(before.checked_sub(1)?).map(|part| part.page)
    }

    fn hand_over(self, graph: &mut Graph) {
        let id = |at: usize| self.nodes.get(at).map(|node| node.page_id);
        // The uncommitted files of a scope share most pages with the committed ones.
        let known: BTreeSet<PageId> = graph.nodes.iter().map(|node| node.page_id).collect();
        let joined_before: BTreeSet<_> =
            graph.edges.iter().map(|edge| (edge.source, edge.target)).collect();
        for ((from, to), joined) in self.edges {
            let pages = id(from).zip(id(to));
            let Some((source, target)) = pages.filter(|pages| !joined_before.contains(pages))
            else {
                continue;
            };
            graph.edges.push(GraphEdge {
                source,
                target,
                weight: rounded(1.0 - joined.missing),
                confidence: rounded(joined.confidence),
                relationship_types: joined.types.into_iter().collect(),
            });
        }
        let new = |node: &GraphNode| !known.contains(&node.page_id);
        graph.nodes.extend(self.nodes.into_iter().filter(new));
    }
}

fn in_order(pages: Option<(usize, usize)>) -> Option<(usize, usize)> {
    pages.map(|(page, other)| (page.min(other), page.max(other)))
}

/// Rounds to four digits: the rest is noise of the arithmetic.
fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

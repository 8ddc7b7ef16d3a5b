//! `pages graph`: the relations between the pages of a worktree.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::plain_file;
use crate::map::pages;
use crate::map_rows::reading::Reading;
use crate::model::{RepoPath, Result};
use crate::page::graph::{Graph, GraphEdge, GraphNode};
use crate::page::listing::Neighbor;
use crate::page::pages::PageId;
use crate::page::relations::Source;
use crate::store::Session;
use crate::store::cache::page_table::{PageTable, ScopeRow};
use crate::store::cache::relation_cache::RelationCache;
use crate::store::files::{atomic, places};

use super::no_pages::NoPages;
use super::{Freshness, is_stale};

/// The maximum number of neighbors of a page that are named.
const MAX_NEIGHBORS: usize = 5;

/// Pages and their relations.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PageGraphReport {
    /// The pages, in the order of scopes and paths.
    pub nodes: Vec<GraphNode>,
    /// The relations between pages of a scope, in the order of the pages.
    pub edges: Vec<GraphEdge>,
    /// The number of pages, including those that are not shown.
    pub node_count: usize,
    /// The number of edges, including those that are not shown.
    pub edge_count: usize,
    /// Whether pages with few edges were left out, with their edges.
    pub truncated: bool,
    /// Whether the branch, or the working tree, has changed since one of the scopes was mapped.
    pub stale: bool,
    /// Those scopes.
    pub stale_scopes: Vec<String>,
    /// Why there is no page; null if there is one.
    pub nothing: Option<NoPages>,
}

/// Makes the graph of a scope, or of all of them, with at most `most` pages.
pub fn graph(session: &Session, scope: Option<&str>, most: usize) -> Result<PageGraphReport> {
    let opened = pages::open(session, scope)?;
    let mut graph = Graph::default();
    if !opened.scopes.is_empty() {
        let mut cache = RelationCache::open(&session.repo);
        for row in &opened.scopes {
            let source = Source {
                world: &session.world,
                objects: &Reading::of(session, row.place.as_deref())?.objects,
            };
            graph.add(&source, &opened.table, row, &mut cache)?;
        }
        if session.repo.keeps_objects() {
            clear_notes(session, &opened.table, &opened.scopes)?;
        }
    }
    let stale_scopes = Freshness::of(session).stale(&opened.scopes);
    let (node_count, edge_count) = (graph.nodes.len(), graph.edges.len());
    Ok(PageGraphReport {
        truncated: graph.prune(most),
        nodes: graph.nodes,
        edges: graph.edges,
        node_count,
        edge_count,
        nothing: (node_count == 0).then(|| NoPages::of(session, &opened.scopes)),
        stale: !stale_scopes.is_empty(),
        stale_scopes,
    })
}

/// Finds for each of some pages of a scope the few that are most related to it, the strongest first.
pub(crate) fn neighbors(
    session: &Session,
    table: &PageTable,
    scope: &ScopeRow,
    pages: &[PageId],
) -> Result<Vec<Vec<Neighbor>>> {
    let source = Source {
        world: &session.world,
        objects: &Reading::of(session, scope.place.as_deref())?.objects,
    };
    let mut graph = Graph::default();
    let mut cache = RelationCache::open(&session.repo);
    graph.add(&source, table, scope, &mut cache)?;
    let of_page = |page: &PageId| {
        let mut neighbors = graph.neighbors(*page);
        neighbors.truncate(MAX_NEIGHBORS);
        neighbors
    };
    Ok(pages.iter().map(of_page).collect())
}

/// Deletes the notes of merges that left a graph stale, for the files that up-to-date scopes of
/// this repository cover.
fn clear_notes(session: &Session, table: &PageTable, scopes: &[ScopeRow]) -> Result<()> {
    let entries = std::fs::read_dir(places::stale_page_graphs(&session.repo));
    let notes = entries.into_iter().flatten().flatten();
    for note in notes {
        let Ok(bytes) = plain_file::read(note.path()) else {
            continue;
        };
        let path = RepoPath::new(bytes);
        let covers = |row: &&ScopeRow| {
            let own = row.place.is_none() && !is_stale(session, row);
            own && table
                .start(row)
                .is_ok_and(|start| start.is_some_and(|start| path.is_at_or_below(&start)))
        };
        if scopes.iter().any(|row| covers(&row)) {
            atomic::remove_file(&note.path())?;
        }
    }
    Ok(())
}

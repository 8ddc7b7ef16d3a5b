//! `git colony pages graph`

use std::collections::BTreeMap;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::commands::reading::scopes::SCOPE;
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::map::pages::page_graph::{self, PageGraphReport};
use crate::model::RepoPath;
use crate::model::time::Moment;
use crate::page::graph::{GraphEdge, GraphNode, RelationshipType};
use crate::page::pages::PageId;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Show which pages are related
///
/// Pages of a scope are joined by parts of a file that follow each other (weight 1), markdown links (0.8),
/// files of a directory that follow each other (0.5), and files that commits touched together (at most
/// 0.3; of the last 1000 commits and 365 days before the mapped one, those that touched at most 20 files).
/// Several of these add up to at most 1.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Only pages of the scope ID
    #[arg(long, value_name = "ID")]
    scope: Option<String>,
    /// At most N pages, those with the most edges
    #[arg(long, value_name = "N", default_value_t = 5000)]
    max_nodes: usize,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("pages graph").answers::<PageGraphReport>().action(
        action("get_page_graph", Group::Pages, Effect::Reads)
            .takes(&[same("max_nodes").about("Those with the most edges"), SCOPE]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let report = page_graph::graph(&session, args.scope.as_deref(), args.max_nodes)?;
    face.answer(&report)
}

impl Answer for PageGraphReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        super::with_stale(self.line(), &self.stale_scopes)
    }

    fn line(&self) -> String {
        if let Some(nothing) = self.nothing {
            return super::nothing(nothing);
        }
        let pages = text::count(self.node_count, "page");
        let edges = text::count(self.edge_count, "edge");
        let shown = if self.truncated {
            let shown = text::count(self.nodes.len(), "page");
            format!("; {shown} shown: --max-nodes shows more")
        } else {
            String::new()
        };
        format!("{pages}, {edges}{shown}")
    }

    fn narration(&self) -> Vec<String> {
        super::narration(&self.stale_scopes)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let nodes: BTreeMap<PageId, &GraphNode> =
            self.nodes.iter().map(|node| (node.page_id, node)).collect();
        let name = |id: PageId| {
            let files = nodes.get(&id).map_or(&[][..], |node| &node.files);
            name(id, files)
        };
        let row = |edge: &GraphEdge| {
            vec![
                format!("{:.2}", edge.weight),
                name(edge.source),
                "->".to_owned(),
                name(edge.target),
                types(&edge.relationship_types),
            ]
        };
        let rows: Vec<_> = self.edges.iter().map(row).collect();
        text::table(&rows)
    }
}

/// A page in a few words.
pub(super) fn name(id: PageId, files: &[RepoPath]) -> String {
    let short: String = id.to_string().chars().take(8).collect();
    match files {
        [] => short,
        [only] => format!("{short} {only}"),
        [first, more @ ..] => format!("{short} {first} and {} more", more.len()),
    }
}

/// Why two pages are joined.
pub(super) fn types(types: &[RelationshipType]) -> String {
    types.iter().map(|relationship| relationship.as_str()).collect::<Vec<_>>().join(", ")
}

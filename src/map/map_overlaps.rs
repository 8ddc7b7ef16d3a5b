//! Rows of the routing that contradict each other: one gives a file to the knowledge base, another keeps it out.

use std::collections::BTreeMap;

use crate::git::Oid;
use crate::knowledge;
use crate::map_rows::home::Home;
use crate::model::{Code, RepoPath, Result, text};
use crate::repo_map::routing::Routing;
use crate::repo_map::row::Destination;
use crate::repo_map::schema::Read;
use crate::store::yaml_problem::YamlProblem;

/// The number of files that a warning names.
const MAX_NAMED: usize = 3;

/// Returns a warning for each pair of rows that overlap in files of the commit, else of HEAD.
pub(super) fn find(home: &Home<'_>, commit: Option<Oid>, read: &Read) -> Result<Vec<YamlProblem>> {
    let Some(map) = &read.map else {
        return Ok(Vec::new());
    };
    let has = |to: Destination| map.knowledge_routing.iter().any(|row| row.ingest_to == to);
    if !(has(Destination::KnowledgeBase) && has(Destination::Vcm)) {
        return Ok(Vec::new());
    }
    let repo = home.repo();
    let commit = match commit {
        Some(commit) => Some(commit),
        None => repo.head()?.commit(),
    };
    let (objects, tree) = (repo.objects(), repo.tree_of(commit)?);
    let routing = Routing::of(map)?;
    let mut overlaps: BTreeMap<(usize, usize), Vec<RepoPath>> = BTreeMap::new();
    let root = RepoPath::default();
    let listed = knowledge::list_files(home.session(), &objects, tree, &root, &mut |path, _| {
        for pair in routing.overlaps(&path) {
            overlaps.entry(pair).or_default().push(path.clone());
        }
    });
    match listed {
        // A tree that is too large to map has other problems.
        Err(error) if error.code() == Code::TreeTooLarge => {}
        listed => listed?,
    }
    let warnings = overlaps.into_iter().map(|((row, veto), files)| {
        let message = format!(
            "row {veto} of 'knowledge_routing' keeps {} out of the knowledge base, which row {row} gives to it",
            named(&files)
        );
        let at = read.routes.get(row.saturating_sub(1));
        at.map_or_else(
            || YamlProblem::of_file(message.clone()),
            |at| YamlProblem::at(*at, message.clone()),
        )
    });
    Ok(warnings.collect())
}

fn named(files: &[RepoPath]) -> String {
    let names =
        files.iter().take(MAX_NAMED).map(|path| format!("'{path}'")).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(MAX_NAMED) {
        0 => names,
        more => format!("{names} and {}", text::count(more, "more file")),
    }
}

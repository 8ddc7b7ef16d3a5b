//! The repo map that init writes: the template, with globs for data as a comment.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::knowledge;
use crate::model::text::count;
use crate::model::{Code, RepoPath, Result};
use crate::repo_map::data_globs::{self, DataGlob};
use crate::setup::attributes;
use crate::source::record;
use crate::store::Session;

use super::files::existing;

/// The map of the sources of a repository.
pub(super) const REPO_MAP: &str = ".colony/repo_map.yaml";

const TEMPLATE: &str = include_str!("repo_map_template.yaml");

/// The end of the row that has the whole tree.
const WHOLE_TREE: &str = "  - name: default\n    type: git_repo\n";

const NOTE: &str = "    # Much of the text of this tree is data. Without the '# ' before each, these lines leave it out:\n";

/// Adds the map if it is missing; returns the globs that it proposes.
pub(super) fn plan(
    session: &Session,
    files: &mut Vec<(RepoPath, Vec<u8>)>,
) -> Result<Vec<DataGlob>> {
    if existing(session, REPO_MAP)?.is_some() {
        return Ok(Vec::new());
    }
    let globs = data_globs::propose(&text_files(session)?);
    files.push((REPO_MAP.into(), text(&globs).into_bytes()));
    Ok(globs)
}

/// Lists the files of HEAD that are text by their names, with their bytes. Objects that are not here have none.
fn text_files(session: &Session) -> Result<BTreeMap<RepoPath, u64>> {
    let mut files = BTreeMap::new();
    let Some(commit) = session.repo.head()?.commit() else {
        return Ok(files);
    };
    let objects = session.repo.objects();
    let tree = objects.tree_of(commit)?;
    let endings = attributes::endings();
    let listed =
        knowledge::list_files(session, &objects, tree, &RepoPath::default(), &mut |path, entry| {
            if is_text(&path, &endings) {
                let bytes = objects.size(entry.id).unwrap_or_default();
                files.insert(path, bytes);
            }
        });
    match listed {
        Err(error) if error.code() == Code::Interrupted => Err(error),
        // A tree that cannot be mapped gets no proposal; 'map' reports the reason.
        Err(_) => Ok(BTreeMap::new()),
        Ok(()) => Ok(files),
    }
}

fn is_text(path: &RepoPath, endings: &[String]) -> bool {
    let name = path.name().to_ascii_lowercase();
    let is_large_format = endings.iter().any(|ending| name.ends_with(ending.as_bytes()));
    let media_type = record::media_type(path);
    !is_large_format && matches!(media_type, "application/octet-stream" | "image/svg+xml")
}

fn text(globs: &[DataGlob]) -> String {
    if globs.is_empty() {
        return TEMPLATE.to_owned();
    }
    let line = |data: &DataGlob| {
        // A text in JSON is the same text in YAML.
        let glob = Value::from(data.glob.as_str());
        let files = count(data.files, "file");
        format!("    #   - {glob}   # {} % of the text, {files}\n", data.percent)
    };
    let lines: String = globs.iter().map(line).collect();
    let row = format!("{WHOLE_TREE}{NOTE}    # exclude_globs:\n{lines}");
    TEMPLATE.replacen(WHOLE_TREE, &row, 1)
}

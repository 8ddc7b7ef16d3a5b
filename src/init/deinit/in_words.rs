//! Describes the parts that a deinit removes and those that stay.

use crate::design::checkpoint::checkpoints::{self, CheckpointKind};
use crate::git::Repo;
use crate::git::lfs::lfs_pointer::LfsOid;
use crate::git::refs::FoundRef;
use crate::model::{Result, text};
use crate::setup::attributes;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::large_files::retained_objects;

/// Names the checkpoints, the newest first: the user wanted to keep these.
pub(super) fn named_checkpoints(repo: &Repo, own: &[FoundRef]) -> Result<Option<String>> {
    /// The maximum number of checkpoints that are named.
    const FEW: usize = 3;
    let mut all = checkpoints::list(repo, CheckpointKind::Named)?.sound;
    all.retain(|checkpoint| {
        let name = format!("refs/{}", checkpoint.git_ref);
        own.iter().any(|own| own.name.to_string() == name)
    });
    let labels: Vec<_> =
        all.iter().rev().take(FEW).map(|checkpoint| format!("'{}'", checkpoint.label)).collect();
    let more = match all.len().saturating_sub(FEW) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let count = text::count(all.len(), "checkpoint");
    Ok((!all.is_empty()).then(|| format!("{count}: {}{more}", labels.join(", "))))
}

/// Describes our lines that stay in `.gitattributes`.
pub(super) fn attribute_lines(session: &Session, lfs_goes: bool) -> Option<String> {
    let text = session.repo.root_attributes();
    let lfs_lines = text.lines().filter(|line| attributes::gives_to_lfs(line));
    let lfs = if lfs_goes { lfs_lines.count() } else { 0 };
    let merges = text.lines().filter(|line| line.contains("merge=colony-"));
    let counted = [(lfs, "git-lfs"), (merges.count(), "merges of git-colony")]
        .into_iter()
        .filter(|(count, _)| *count > 0);
    let parts: Vec<String> =
        counted.map(|(count, of)| format!("{} for {of}", text::count(count, "line"))).collect();
    let list = (!parts.is_empty()).then(|| parts.join(", "))?;
    Some(format!(".gitattributes in the tree: {list}; they have no effect now"))
}

/// Warns that 'git lfs prune' may delete large files of checkpoints from now on: it only protects
/// those of branches and unpublished commits.
pub(super) fn unguarded(session: &Session) -> Option<String> {
    let kept = Places::kept_in(session.repo.common_dir());
    let mut open = vec![kept, retained_objects::pool_of(&session.repo)];
    let mut names = std::collections::BTreeSet::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                _ if name.to_str().and_then(LfsOid::parse).is_some() => drop(names.insert(name)),
                _ => {}
            }
        }
    }
    let files = text::count(names.len(), "large file");
    (!names.is_empty()).then(|| {
        format!(
            "the protection of {files} of checkpoints from 'git lfs prune': push them before \
        it runs"
        )
    })
}

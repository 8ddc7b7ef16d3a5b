//! Checks the storage: its size, its objects, its operations.

use std::path::Path;

use crate::design::checkpoint::retention::{self, Scope};
use crate::git::refs::damaged_refs::DamagedRef;
use crate::model::{Result, text};
use crate::store::Session;
use crate::store::files::folder_size;
use crate::store::files::places::Places;
use crate::store::operation::Log;
use crate::store::refs::lost_refs;

use super::Check;

/// Smaller sizes are not reported.
const NOTABLE_BYTES: u64 = 10 << 20;

pub(super) fn disk(session: &Session) -> Result<Check> {
    let common = session.repo.common_dir();
    let size_below = |folder: &Path| folder_size::below(folder, usize::MAX).unwrap_or_default();
    let kept = size_below(&Places::kept_in(common));
    let ours = size_below(&common.join("colony"));
    let operations = session.repo.refs_below("refs/colony-local/ops/")?.len();
    let automatic = session.repo.refs_below("refs/colony-local/auto/")?.len();
    let freed = retention::prune(session, Scope::Operations, Some(30))?.freed;
    Ok(Check {
        name: "disk",
        ok: true,
        detail: format!(
            "{kept} bytes of kept files, {}, {}, {ours} bytes of other files of ours",
            text::count(operations, "operation"),
            text::count(automatic, "automatic checkpoint")
        ),
        fix: (freed > NOTABLE_BYTES).then(|| "git colony prune --keep 30".to_owned()),
    })
}

/// Finds refs of ours with a missing object, and refs that hold no object id.
pub(super) fn refs(session: &Session) -> Result<Vec<Check>> {
    let lost_refs = lost_refs::find(&session.repo)?;
    let lost = lost_refs.first().map(|first| {
        let count = text::count(lost_refs.len(), "ref");
        let (name, missing) = (&first.name, first.missing);
        Check::ill(
            "refs",
            format!("{count} of git-colony without an object, the first: '{name}' ({missing})"),
            "git colony prune   # deletes them and reports the loss; then git works again",
        )
    });
    let damaged = lost_refs::find_damaged(&session.repo);
    let ours = damaged.ours.first().map(|first| {
        Check::ill(
            "damaged-refs",
            sentence(&damaged.ours, first, " of git-colony"),
            "git colony prune   # deletes them and reports their content; then git works again",
        )
    });
    let others = damaged.others.first().map(|first| {
        let detail = sentence(&damaged.others, first, "");
        Check::ill("damaged-refs", detail, first.removal())
    });
    Ok(lost.into_iter().chain(ours).chain(others).collect())
}

fn sentence(all: &[DamagedRef], first: &DamagedRef, whose: &str) -> String {
    let (count, holds) = (text::count(all.len(), "ref"), &first.holds);
    let verb = if all.len() == 1 { "holds" } else { "hold" };
    format!("{count}{whose} {verb} no object id, the first: '{}' has '{holds}'", first.name)
}

pub(super) fn objects(session: &Session) -> Result<Check> {
    let mut git = session.repo.git(&session.world);
    let output = git.args(["fsck", "--strict", "--no-dangling", "--no-progress"]).run()?;
    Ok(if output.success() {
        Check::well("objects", "git fsck --strict finds nothing")
    } else {
        let said = output.stderr.lines().next().unwrap_or("git fsck failed").to_owned();
        Check::ill("objects", said, "git fsck --strict")
    })
}

/// Reads every operation of this worktree, and checks that every file it moved aside exists.
pub(super) fn operations(session: &Session) -> Result<Check> {
    let Some(places) = Places::find(&session.repo)? else {
        return Ok(Check::well("operations", "none"));
    };
    let prefix = crate::store::refs::ref_names::operations_of(&places.key);
    let refs = session.repo.refs_below(&prefix)?.len();
    let log = Log::read(&session.repo, &places)?;
    let mut lost = Vec::new();
    for entry in &log.entries {
        // The files of an undone operation are back in place; a redo moves them aside again.
        if log.inverse_of(entry.record.op).is_some() {
            continue;
        }
        let folder = places.kept_by(entry.record.op);
        for (number, path) in entry.record.files.aside.iter().enumerate() {
            if std::fs::symlink_metadata(folder.join(number.to_string())).is_err() {
                lost.push(format!("{} of {}", path, entry.record.op));
            }
        }
    }
    let unreadable = refs.saturating_sub(log.entries.len());
    Ok(match (unreadable, lost.first()) {
        (0, None) => {
            Check::well("operations", format!("{} readable", text::count(refs, "operation")))
        }
        (0, Some(first)) => Check::ill(
            "operations",
            format!("{} gone, the first: {first}", text::count(lost.len(), "kept file")),
            "git colony ops   # the snapshots of these operations have their content",
        ),
        (count, _) => Check::ill(
            "operations",
            format!("{} cannot be read", text::count(count, "operation")),
            "git fsck --strict",
        ),
    })
}

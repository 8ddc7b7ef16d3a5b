//! Refs that would publish a likely secret stay here, each with the paths and the command that
//! publishes it nevertheless.

use std::collections::BTreeMap;

use crate::design::checkpoint::published_secrets::{self, Publication};
use crate::git::Oid;
use crate::model::text::shell_word;
use crate::model::{RepoPath, Result};
use crate::records::exchanged_refs;
use crate::store::Session;

use super::SyncResult;
use super::both_sides::BothSides;
use super::plan::Step;

/// Withholds refs that would publish a likely secret; a fork stays as a whole, since its record is
/// useless without its branch.
pub(super) fn keep(
    session: &Session,
    snapshot: &BothSides,
    steps: &mut [Step],
    allowed: &[RepoPath],
) -> Result<()> {
    let ids: Vec<Oid> = steps.iter().filter_map(brought_by).collect();
    let published: Vec<Oid> = snapshot.published.iter().copied().collect();
    let wanted = Publication { ids: &ids, published: &published, allowed };
    let found = published_secrets::find(session, &wanted)?;
    if found.is_empty() {
        return Ok(());
    }
    let mut labels: BTreeMap<String, Vec<RepoPath>> = BTreeMap::new();
    for step in steps.iter() {
        let label = exchanged_refs::label_of(&step.row.name);
        let paths = brought_by(step).and_then(|id| found.get(&id));
        if let Some((label, paths)) = label.zip(paths) {
            labels.insert(label, paths.clone());
        }
    }
    for step in steps.iter_mut().filter(|step| step.remote_move.is_some()) {
        let name = &step.row.name;
        let of_fork = exchanged_refs::label_of(name).and_then(|label| labels.get(&label));
        let own = brought_by(step).and_then(|id| found.get(&id));
        let Some(paths) = own.or(of_fork) else {
            continue;
        };
        let (reason, hint) = explain_secrets(paths, &snapshot.remote);
        *step = Step::still(name, &snapshot.sides(name), SyncResult::KeptHome);
        step.row.reason = Some(reason);
        step.row.hint = Some(hint);
    }
    Ok(())
}

/// Returns the commit that a step sends to the remote. A joint version contains the local one, and
/// exists only in memory in a dry run.
fn brought_by(step: &Step) -> Option<Oid> {
    let new = step.remote_move.as_ref()?.new;
    if step.row.result == SyncResult::Merged { step.row.old } else { new }
}

/// Describes the files that would be published, and the command that publishes them.
pub(super) fn explain_secrets(paths: &[RepoPath], remote: &str) -> (String, String) {
    const MAX_NAMED: usize = 3;
    let mut named: Vec<String> =
        paths.iter().take(MAX_NAMED).map(|path| format!("'{path}'")).collect();
    let more = paths.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let verb = if paths.len() == 1 { "looks like a secret" } else { "look like secrets" };
    let allow = paths
        .iter()
        .map(|path| format!(" --allow-secret {}", shell_word(&path.to_string())))
        .collect::<Vec<_>>()
        .concat();
    (
        format!("it would publish {}, which {verb}", named.join(", ")),
        format!("git colony sync {} --push{allow}   # publishes it anyway", shell_word(remote)),
    )
}

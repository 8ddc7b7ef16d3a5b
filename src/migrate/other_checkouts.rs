//! Other checkouts that share the hub: commits that only they have published there would be left in
//! the old history.

use std::collections::BTreeMap;

use crate::clones::hub::gather;
use crate::git::Oid;
use crate::git::refs::FoundRef;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::refs::ref_names;
use crate::store::{Session, migration};

use super::checks::is_within;

/// Finds branches of other checkouts with commits that are not in the history to be rewritten, and
/// not in an earlier rewritten one; one finding for each checkout.
pub(super) fn unpublished(session: &Session, refs: &[FoundRef]) -> Result<Vec<Error>> {
    let Some(member) = &session.membership else {
        return Ok(Vec::new());
    };
    gather::gather(session)?;
    let repo = &session.repo;
    let mut ours: Vec<Oid> =
        refs.iter().filter_map(|reference| repo.peel_to_commit(reference.id)).collect();
    ours.sort_unstable();
    ours.dedup();
    let map = migration::known(repo)?;
    let mut ahead: BTreeMap<String, Vec<(String, FoundRef)>> = BTreeMap::new();
    for reference in repo.refs_below(ref_names::DESKS)? {
        let name = reference.name.to_string();
        let parts = name.strip_prefix(ref_names::DESKS).and_then(|rest| rest.split_once("/heads/"));
        let Some((id, branch)) = parts else { continue };
        if !is_within(repo, map.current(repo, reference.id), &ours) {
            let of_desk = ahead.entry(id.to_owned()).or_default();
            of_desk.push((branch.to_owned(), reference.clone()));
        }
    }
    let hub = shell_word(&member.hub.display().to_string());
    let errors = ahead.into_iter().filter_map(|(id, branches)| {
        let (branch, first) = branches.first()?;
        let (copy, published) = (
            shell_word(&first.name.to_string()),
            shell_word(&format!("{}{id}/heads/{branch}", ref_names::PUBLISHED_DESKS)),
        );
        let names: Vec<_> = branches.iter().map(|(branch, _)| branch.as_str()).collect();
        Some(
            Error::new(
                Code::LeftBehind,
                format!(
                    "another checkout that shares the hub has commits that are not here, on {}",
                    names.join(", ")
                ),
            )
            .detail("desk", &id)
            .detail("refs", &names)
            .hint(format!(
                "git colony merge {copy}   # merges them; if that checkout no longer exists: git \
                --git-dir {hub} update-ref -d {published}"
            )),
        )
    });
    Ok(errors.collect())
}

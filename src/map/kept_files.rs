//! The private refs of scopes whose files are in no commit of the user: they keep the objects of
//! their pages, and are not pushed.

use crate::git::refs::{ReflogReason, lost_race};
use crate::git::{Oid, RefChange};
use crate::model::Result;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::operation::object_check::{self, Written};
use crate::store::refs::ref_names;

/// Points the private ref of a scope to the commit with the files of its pages; `None` deletes the
/// ref.
pub(in crate::map) fn keep_alive(
    session: &Session,
    places: &Places,
    scope_id: &str,
    commit: Option<Oid>,
) -> Result<()> {
    let name = ref_names::uncommitted(&places.key, scope_id);
    let who = session.record_signature();
    let why = ReflogReason { text: "git-colony: mapped files", who: &who, operation: "map" };
    let written = Written {
        what: &"the mapped files",
        base: session.repo.tree_of(commit.and(session.repo.head()?.commit()))?,
        records: Vec::new(),
        files: commit.into_iter().collect(),
        others: Vec::new(),
    };
    lost_race::retried(|| {
        let old = session.repo.find_ref(&name)?;
        if old == commit {
            return Ok(());
        }
        let change = RefChange { name: name.clone(), old, new: commit };
        object_check::move_ref(session, &change, &why, &written)
    })
}

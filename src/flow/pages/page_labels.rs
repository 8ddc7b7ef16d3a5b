//! What the attributes of a tree say of the files that pages hold. It is looked up when pages are shown: what
//! a file is called changes neither its text nor where it stands, so no page is another for it.

use std::path::Path;

use crate::flow::map::mapping::Reading;
use crate::git::Oid;
use crate::git::attributes::tree_attributes::TreeAttribute;
use crate::model::Result;
use crate::page::listing::RecordEntry;
use crate::store::Session;
use crate::store::cache::page_table::ScopeRow;

/// How a repository says that a file is generated.
const GENERATED: &str = "linguist-generated";

/// Says of each record whether its file is generated, by the tree of the commit that was mapped. Where that
/// is no longer here, it is left open.
///
/// # Errors
/// Where the repository cannot be opened; its place is `None` for this one.
pub(in crate::flow) fn label<'a>(
    session: &Session,
    place: Option<&Path>,
    commit: Option<Oid>,
    records: impl Iterator<Item = &'a mut RecordEntry>,
) -> Result<()> {
    let objects = Reading::of(session, place)?.objects;
    let Some(tree) = commit.and_then(|commit| objects.tree_of(commit).ok()) else {
        return Ok(());
    };
    let mut attribute = TreeAttribute::new(&objects, tree, GENERATED);
    for record in records {
        record.generated = attribute.is_set(&record.path).ok();
    }
    Ok(())
}

/// Does so for records of a scope.
///
/// # Errors
/// As [`label`].
pub(in crate::flow) fn label_of_scope<'a>(
    session: &Session,
    scope: &ScopeRow,
    records: impl Iterator<Item = &'a mut RecordEntry>,
) -> Result<()> {
    let commit = Oid::parse(&scope.revision);
    label(session, scope.place.as_deref(), commit, records)
}

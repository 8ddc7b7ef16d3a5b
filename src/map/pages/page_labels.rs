//! Labels from the attributes of a tree for the files in pages. They are looked up when pages are
//! shown: a label changes neither the text nor the position of a file, so pages do not depend on
//! it.

use std::path::Path;

use crate::git::Oid;
use crate::git::attributes::tree_attributes::TreeAttribute;
use crate::map_rows::reading::Reading;
use crate::model::Result;
use crate::page::listing::RecordEntry;
use crate::store::Session;
use crate::store::cache::page_table::ScopeRow;

/// The attribute that marks a file as generated.
const GENERATED: &str = "linguist-generated";

/// Sets for each record whether its file is generated, from the tree of the mapped commit. If that
/// commit is missing, the label stays unset.
pub(in crate::map) fn label<'a>(
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

/// Does the same for records of a scope.
pub(in crate::map) fn label_of_scope<'a>(
    session: &Session,
    scope: &ScopeRow,
    records: impl Iterator<Item = &'a mut RecordEntry>,
) -> Result<()> {
    let commit = Oid::parse(&scope.revision);
    label(session, scope.place.as_deref(), commit, records)
}

//! The knowledge base as it is: the records of a commit, without their chunks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, RefName, Repo, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::refs::{ref_names, shared_record};

use super::record::SourceRecord;

/// A record that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadableRecord {
    /// Its place in the tree.
    pub name: RepoPath,
    /// The reason.
    pub reason: String,
}

/// The records at one commit.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The commit; `None` if nothing was ever ingested.
    pub tip: Option<Oid>,
    /// The records, by document.
    pub records: Vec<SourceRecord>,
    /// Entries that are not records.
    pub unreadable: Vec<UnreadableRecord>,
}

impl Sources {
    /// Reads the descriptions of all records; no chunk is read.
    pub fn load(repo: &Repo) -> Result<Sources> {
        let name = RefName::from(ref_names::KNOWLEDGE);
        let tip = repo.find_ref(&name)?;
        let keys = shared_record::keys(repo, &name, tip)?;
        let (mut records, mut unreadable) = (Vec::new(), Vec::new());
        for (key, entry) in &keys {
            match SourceRecord::read(repo, key, entry)? {
                Ok(record) => records.push(record),
                Err(reason) => unreadable.push(UnreadableRecord { name: key.clone(), reason }),
            }
        }
        records.sort_by(|source, other| {
            let rank = |record: &SourceRecord| (record.path.clone(), record.finished_at.clone());
            (rank(source), &source.record_id).cmp(&(rank(other), &other.record_id))
        });
        Ok(Sources { tip, records, unreadable })
    }

    /// Returns the records by document, each with the oldest first.
    pub fn by_path(&self) -> BTreeMap<&RepoPath, Vec<&SourceRecord>> {
        let mut by_path: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for record in &self.records {
            by_path.entry(&record.path).or_default().push(record);
        }
        by_path
    }

    /// Returns the record in effect of each document, by path: the newest of the content that `blob_of` returns,
    /// which is that of the reader's branch, else the newest of all.
    pub fn in_effect(
        &self,
        blob_of: impl Fn(&RepoPath) -> Result<Option<Oid>>,
    ) -> Result<Vec<&SourceRecord>> {
        let documents = self.by_path().into_iter();
        let chosen = documents.filter_map(|(path, records)| {
            blob_of(path).map(|blob| in_effect(&records, blob)).transpose()
        });
        chosen.collect()
    }
}

/// Returns the blob of a file in the tree of a reader; `None` if there is no file.
pub fn blob_at(repo: &Repo, tree: Oid, path: &RepoPath) -> Result<Option<Oid>> {
    let leaf = repo.leaf_in(tree, path)?.filter(TreeEntry::is_file);
    Ok(leaf.map(|leaf| leaf.id))
}

/// Returns the record in effect among those of one document, the oldest of which is first.
pub fn in_effect<'a>(records: &[&'a SourceRecord], blob: Option<Oid>) -> Option<&'a SourceRecord> {
    let of_content = |record: &&&SourceRecord| Some(record.blob) == blob;
    let newest = records.iter().rev();
    let record = newest.clone().find(of_content).or(newest.clone().next());
    record.copied()
}

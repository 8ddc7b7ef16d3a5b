//! The tags of a person's checkout in the hub: one list, and not a ref for each. A repository may have thousands, each
//! checkout of it has the same ones, and every command that looks at the hub reads its refs.
//!
//! Nothing in a hub is ever deleted, so the objects of the tags need no refs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::git::refs::FoundRef;
use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::Result;
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

use super::Hub;

/// The ref of the list, below those of a checkout.
pub(super) const TAG_LIST: &str = "tag-list";

/// The tags of a checkout that are not checkpoints.
pub(super) struct TagList {
    tags: Vec<FoundRef>,
    /// A line for each: its id and its name.
    text: String,
    /// The id of the text; `None` without a tag.
    pub(super) id: Option<Oid>,
}

impl TagList {
    /// Lists the tags of a person's checkout; those of clones are copies.
    pub(super) fn of(repo: &Repo, member: &Membership, hub: &Hub) -> Result<TagList> {
        let mut tags = Vec::new();
        if member.role == Role::Desk {
            tags = repo.refs_below("refs/tags/")?;
            let checkpoints = ref_names::CHECKPOINT_TAGS.as_bytes();
            tags.retain(|tag| !tag.name.as_bytes().starts_with(checkpoints));
            // A line is text.
            tags.retain(|tag| std::str::from_utf8(tag.name.as_bytes()).is_ok());
        }
        let mut text = String::new();
        for tag in &tags {
            writeln!(text, "{} {}", tag.id, tag.name).ok();
        }
        let id = (!tags.is_empty()).then(|| hub.store.blob_id(text.as_bytes())).transpose()?;
        Ok(TagList { tags, text, id })
    }

    /// Returns the ref to publish.
    pub(super) fn published(&self) -> Option<(RefName, Oid)> {
        Some((RefName::from(TAG_LIST), self.id?))
    }

    /// Lists the tags whose objects the hub lacks.
    pub(super) fn missing(&self, repo: &Repo, hub: &Hub) -> Vec<RefChange> {
        let is_new = |tag: &&FoundRef| !hub.store.has(tag.id) && !repo.is_gone(tag.id);
        let creation =
            |tag: &FoundRef| RefChange { name: tag.name.clone(), old: None, new: Some(tag.id) };
        self.tags.iter().filter(is_new).map(creation).collect()
    }

    /// Writes the list into the hub, after the objects of the tags.
    pub(super) fn write(&self, hub: &Hub) -> Result<()> {
        match self.id {
            Some(id) if !hub.store.has(id) => hub.store.write_blob(self.text.as_bytes()).map(drop),
            _ => Ok(()),
        }
    }
}

/// Returns the tags that a checkout has published, by their names in it.
pub fn tags_of(hub: &Hub, desk: &Membership) -> Result<Vec<FoundRef>> {
    let name = RefName::from(format!("{}{TAG_LIST}", desk.published_below()).as_str());
    let Some(list) = hub.store.find_ref(&name)? else {
        return Ok(Vec::new());
    };
    let tags = read(hub, list)?.into_iter();
    Ok(tags.filter(|tag| hub.store.has(tag.id)).collect())
}

/// Lists the tags that all checkouts have published.
pub(in crate::clones) fn of_all(hub: &Hub) -> Result<Vec<FoundRef>> {
    let desks = hub.store.refs_below(ref_names::PUBLISHED_DESKS)?.into_iter();
    let lists: BTreeSet<Oid> = desks
        .filter(|reference| is_tag_list(&reference.name))
        .map(|reference| reference.id)
        .collect();
    let mut tags = Vec::new();
    for list in lists {
        tags.extend(read(hub, list)?);
    }
    Ok(tags)
}

/// Returns `true` for the list of a checkout, among the refs of a hub.
pub(super) fn is_tag_list(published: &RefName) -> bool {
    let is_of_desk = published.as_bytes().starts_with(ref_names::PUBLISHED_DESKS.as_bytes());
    is_of_desk && published.as_bytes().ends_with(format!("/{TAG_LIST}").as_bytes())
}

fn read(hub: &Hub, list: Oid) -> Result<Vec<FoundRef>> {
    let text = hub.store.to_read()?.read_blob(list)?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(tag_of).collect())
}

fn tag_of(line: &str) -> Option<FoundRef> {
    let (id, name) = line.split_once(' ')?;
    let name = RefName::from(name);
    let is_tag = name.is_valid() && name.as_bytes().starts_with(b"refs/tags/");
    is_tag.then_some(FoundRef { name, id: Oid::parse(id)? })
}

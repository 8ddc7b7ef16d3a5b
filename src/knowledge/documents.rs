//! The documents of a commit: those that the map routes to the knowledge base, or those that were named.

use std::collections::BTreeMap;

use crate::git::{Objects, Oid, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result};
use crate::repo_map::routing::Route;
use crate::source::globs::Globs;
use crate::source::lister::{self, Directory, DirectoryChoice, FoundDirectory, Listed, Visitor};
use crate::source::selection::{BinaryPolicy, Selection};
use crate::store::Session;

use super::Request;
use super::chunk_rules::Rules;

/// A document to ingest.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) path: RepoPath,
    pub(super) entry: TreeEntry,
    pub(super) profile: Option<String>,
    pub(super) chosen: Chosen,
}

/// The reason why a document is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// A row of the map routes it.
    Routed,
    /// It was named.
    Named,
    /// It is below a directory that was named.
    Below,
    /// It was named, or is below a directory that was, and this row keeps it out.
    KeptOut {
        /// The row, from 1.
        row: usize,
        /// Whether itself was named.
        is_named: bool,
    },
}

/// Finds the documents, by path.
pub(super) fn find(
    session: &Session,
    commit: Oid,
    rules: &Rules,
    request: &Request,
) -> Result<Vec<Document>> {
    let objects = session.repo.objects();
    let tree = objects.tree_of(commit)?;
    let mut documents = BTreeMap::new();
    if request.paths.is_empty() {
        list(session, &objects, tree, &RepoPath::default(), &mut |path, entry| {
            if let Route::KnowledgeBase { profile, .. } = rules.routing.route(&path) {
                let document = Document {
                    path: path.clone(),
                    entry,
                    profile: request.profile.clone().or(profile),
                    chosen: Chosen::Routed,
                };
                documents.insert(path, document);
            }
        })?;
    }
    for named in &request.paths {
        let entry = objects.at(tree, named)?.ok_or_else(|| not_found(named, commit))?;
        if entry.is_directory() {
            list(session, &objects, tree, named, &mut |path, entry| {
                let document = chosen(rules, request, &path, entry, Chosen::Below);
                documents.entry(path).or_insert(document);
            })?;
        } else {
            let document = chosen(rules, request, named, entry, Chosen::Named);
            documents.insert(named.clone(), document);
        }
    }
    Ok(documents.into_values().collect())
}

fn chosen(
    rules: &Rules,
    request: &Request,
    path: &RepoPath,
    entry: TreeEntry,
    chosen: Chosen,
) -> Document {
    let (chosen, profile) = match rules.routing.route(path) {
        Route::Vcm { row } => {
            let is_named = chosen == Chosen::Named;
            (Chosen::KeptOut { row, is_named }, None)
        }
        Route::KnowledgeBase { profile, .. } => (chosen, profile),
        Route::Nowhere => (chosen, None),
    };
    Document { path: path.clone(), entry, profile: request.profile.clone().or(profile), chosen }
}

fn not_found(path: &RepoPath, commit: Oid) -> Error {
    let message = format!("commit {} has no file or directory '{path}'", commit.short());
    Error::new(Code::PathNotFound, message)
        .unchanged()
        .hint("git colony commit PATH   # only committed files are ingested")
}

/// Lists the plain files below a directory, as for the pages of a map: without those that `.colonyignore` leaves out.
pub(crate) fn list(
    session: &Session,
    objects: &Objects,
    tree: Oid,
    start_dir: &RepoPath,
    each: &mut dyn FnMut(RepoPath, TreeEntry),
) -> Result<()> {
    let settings = &session.settings.map;
    let selection = Selection {
        start_dir: start_dir.clone(),
        include: None,
        exclude: Globs::default(),
        binary: BinaryPolicy::Include,
        gitignore: settings.gitignore,
    };
    let listed = Listed { objects, tree, most_entries: settings.max_entries as usize };
    lister::list(&session.world, listed, &selection, &mut FileReceiver(each))
}

/// Receives the files of a listing.
struct FileReceiver<'a>(&'a mut dyn FnMut(RepoPath, TreeEntry));

impl Visitor for FileReceiver<'_> {
    fn enter(&mut self, _: &FoundDirectory) -> Result<DirectoryChoice> {
        Ok(DirectoryChoice::Files)
    }

    fn directory(&mut self, directory: Directory) -> Result<()> {
        for file in directory.files {
            (self.0)(file.path, file.entry);
        }
        Ok(())
    }
}

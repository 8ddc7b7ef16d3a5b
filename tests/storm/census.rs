//! Where each content that a user has written can be found, in all repositories together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Stdio};

use super::edits::{self, Shadow};
use super::ground::{Ground, Home, Place};
use super::look::Worktree;

/// A kind of place that a content is safe in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spot {
    /// A file of a worktree, or a link.
    File(Place),
    /// The index of a worktree.
    Index(Place),
    /// What was moved aside, and whatever else of ours is not on its way out.
    Kept(Home),
    /// An object that a ref leads to.
    Ref(Home),
    /// The store of git-lfs.
    LargeFile(Home),
}

/// The ids of contents, with all places that each is in.
pub(crate) type Census = BTreeMap<String, BTreeSet<Spot>>;

/// Folders of a repository that hold other things, or are read by git.
const PASSED_OVER: [&str; 6] = ["objects", "refs", "logs", "hooks", "info", "agents"];

/// Folders of everything shared that the next command empties, or that are looked into by themselves.
const ON_THE_WAY_OUT: [&str; 4] = ["staging", "trash", "removing", "hubs"];

/// Looks for every content but those in files; fails where git cannot list what its refs lead to.
pub(crate) fn take(
    ground: &Ground,
    worktrees: &BTreeMap<Place, Worktree>,
    shadow: &Shadow,
) -> Result<Census, String> {
    let repositories = ground.repositories();
    let listings: Vec<_> = repositories.iter().map(|(_, git_dir)| list(ground, git_dir)).collect();
    let mut census = Census::new();
    let mut note = |id: &str, spot: Spot| note(&mut census, shadow, (id, spot));
    for (place, worktree) in worktrees {
        for line in &worktree.index {
            note(line.split(' ').nth(1).unwrap_or_default(), Spot::Index(*place));
        }
    }
    for (home, git_dir) in &repositories {
        walk(git_dir, &PASSED_OVER, Spot::Kept(*home), &mut note);
        let store = git_dir.join("lfs/objects");
        walk(&store, &[], Spot::LargeFile(*home), &mut note);
    }
    let shared = ground.path().join("shared");
    let passed_over = [&PASSED_OVER[..], &ON_THE_WAY_OUT].concat();
    walk(&shared, &passed_over, Spot::Kept(Home::Hub), &mut note);
    for folder in ground.removed_clones() {
        walk(&folder, &PASSED_OVER, Spot::Kept(Home::Hub), &mut note);
    }
    for (listing, (home, git_dir)) in listings.into_iter().zip(&repositories) {
        for line in finish(listing, git_dir)?.lines() {
            let id = line.split(' ').next().unwrap_or_default();
            note(id, Spot::Ref(*home));
        }
    }
    Ok(census)
}

/// Says anew which contents are in files.
pub(crate) fn take_files(
    census: &mut Census,
    worktrees: &BTreeMap<Place, Worktree>,
    shadow: &Shadow,
) {
    for spots in census.values_mut() {
        spots.retain(|spot| !matches!(spot, Spot::File(_)));
    }
    for (place, worktree) in worktrees {
        for file in worktree.files.values() {
            note(census, shadow, (&file.id, Spot::File(*place)));
        }
    }
    census.retain(|_, spots| !spots.is_empty());
}

fn note(census: &mut Census, shadow: &Shadow, (id, spot): (&str, Spot)) {
    if shadow.path_of(id).is_some() {
        census.entry(id.to_owned()).or_default().insert(spot);
    }
}

fn list(ground: &Ground, git_dir: &Path) -> Child {
    let mut command = ground.command("git", git_dir);
    command.args(["rev-list", "--objects", "--all"]);
    // A ref leads to the newest stash only; its log, to all of them.
    let log = fs::read_to_string(git_dir.join("logs/refs/stash")).unwrap_or_default();
    let stashes = log.lines().filter_map(|line| line.split(' ').nth(1));
    command.args(stashes);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("git is there")
}

fn finish(mut listing: Child, git_dir: &Path) -> Result<String, String> {
    let mut text = String::new();
    let mut out = listing.stdout.take().expect("it is a pipe");
    // A path may be no UTF-8 elsewhere; ours are.
    out.read_to_string(&mut text).map_err(|e| e.to_string())?;
    let ended = listing.wait_with_output().map_err(|e| e.to_string())?;
    if ended.status.success() {
        return Ok(text);
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(format!("git cannot list {}: {said}", git_dir.display()))
}

fn walk(folder: &Path, passed_over: &[&str], spot: Spot, note: &mut impl FnMut(&str, Spot)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // What is staged is not there yet.
        if passed_over.contains(&&*name) || name.ends_with(".stage") {
            continue;
        }
        let path = entry.path();
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            walk(&path, passed_over, spot, note);
        } else if let Some(id) = edits::id_of(&path, &metadata) {
            note(&id, spot);
        }
    }
}

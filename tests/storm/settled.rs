//! What a restore leaves is what the checkpoint holds, and an undo leaves what was before, byte by byte.

use std::collections::BTreeMap;
use std::fs;

use super::actions::{Action, Nature};
use super::edits;
use super::ground::{Ground, Place};
use super::look::{File, LINK, Look};
use super::repository;

/// Compares files, modes and links with a checkpoint that was restored.
pub(crate) fn check_restore(ground: &Ground, action: &Action, after: &Look) -> Result<(), String> {
    let [verb, label, rest @ ..] = &action.args[..] else {
        return Ok(());
    };
    if verb != "restore" {
        return Ok(());
    }
    let place = action.place;
    let Some(commit) = commit_of(ground, place, label) else {
        return Ok(());
    };
    let tree = tree(ground, place, &commit)?;
    let worktree = after.worktrees.get(&place);
    let files = &worktree.ok_or("the worktree is gone")?.files;
    let path = rest.iter().skip_while(|word| *word != "--").nth(1);
    let is_meant =
        |name: &str| path.is_none_or(|path| name == path || name.starts_with(&format!("{path}/")));
    for (name, wanted) in tree.iter().filter(|(name, _)| is_meant(name)) {
        let found = files.get(name);
        if found.is_none_or(|found| !is_same(ground, place, wanted, found)) {
            return Err(format!("'{label}' has {wanted:?} at '{name}', and here is {found:?}"));
        }
    }
    let keeps_others = ["files", "--keep-untracked"];
    if !action.args.iter().any(|word| keeps_others.contains(&word.as_str())) {
        let more =
            files.keys().find(|name| !tree.contains_key(*name) && !name.ends_with(".ignored"));
        if let Some(more) = more {
            return Err(format!("'{label}' has no '{more}'"));
        }
    }
    Ok(())
}

/// Takes the operation back and brings it again; compares branches, tags, HEAD, index and files.
/// Returns how everything looks then.
pub(crate) fn check_undo(
    ground: &Ground,
    action: &Action,
    (before, after): (&Look, &Look),
    look: impl Fn() -> Result<Look, String>,
) -> Result<Option<Look>, String> {
    let is_step = matches!(action.nature, Nature::Operation | Nature::Perhaps);
    // Taking back what takes back is another step, and an init has set up more than an operation.
    let others = ["undo", "undo --force", "redo", "init", "merge --abort", "cherry-pick --abort"];
    if !is_step || others.contains(&action.name) {
        return Ok(None);
    }
    let mut last = None;
    for (args, wanted) in [(&["undo", "--force"][..], before), (&["redo", "--force"], after)] {
        let output = ground.colony(action.place, args);
        if !output.status.success() {
            return Err(format!("{args:?} said: {}", repository::words(&output)));
        }
        let found = look()?;
        let differences = wanted.differences(&found);
        if !differences.is_empty() {
            let differences = differences.join("\n    ");
            return Err(format!("{args:?} leaves\n    {differences}"));
        }
        last = Some(found);
    }
    Ok(last)
}

fn commit_of(ground: &Ground, place: Place, label: &str) -> Option<String> {
    let output = ground.colony(place, &["checkpoints", "show", label]);
    let said = repository::words(&output);
    let (_, rest) = said.split_once(r#""sha""#)?;
    rest.split('"').nth(1).map(str::to_owned)
}

/// The files of a commit, with the modes of git.
fn tree(ground: &Ground, place: Place, commit: &str) -> Result<BTreeMap<String, File>, String> {
    let listed = ground.git(&ground.root(place), &["ls-tree", "-r", "-z", commit])?;
    let entries = listed.split_terminator('\0').map(|entry| {
        let (what, name) = entry.split_once('\t').expect("the format has a tab");
        let mut what = what.split(' ');
        let mode = what.next().and_then(|mode| u32::from_str_radix(mode, 8).ok());
        let file = File {
            mode: mode.expect("the format has a mode"),
            id: what.nth(1).unwrap_or_default().to_owned(),
        };
        (name.to_owned(), file)
    });
    Ok(entries.collect())
}

fn is_same(ground: &Ground, place: Place, wanted: &File, found: &File) -> bool {
    let is_link = found.mode == LINK;
    let is_executable = !is_link && found.mode & 0o100 != 0;
    let same_mode = (wanted.mode == LINK) == is_link && (wanted.mode == 0o100_755) == is_executable;
    let same_content = wanted.id == found.id
        || large_file(ground, place, &wanted.id).is_some_and(|id| id == found.id);
    same_mode && same_content
}

/// The id of the content that a pointer of git-lfs stands for.
fn large_file(ground: &Ground, place: Place, pointer: &str) -> Option<String> {
    let text = ground.git(&ground.root(place), &["cat-file", "blob", pointer]);
    let text = text.ok()?;
    let (_, oid) = text.split_once("oid sha256:")?;
    let oid = oid.lines().next()?;
    let store = ground.repository(place.home()).join("lfs/objects");
    let path = store.join(&oid[..2]).join(&oid[2..4]).join(oid);
    fs::read(path).ok().map(|bytes| edits::blob_id(&bytes))
}

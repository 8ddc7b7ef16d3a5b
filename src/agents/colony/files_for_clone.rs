//! Copies files of the checkout into a new agent's clone: uncommitted changes, and ignored files.

use std::path::Path;

use crate::clones::new_clone::Staged;
use crate::clones::new_clone::copy_files::{FileTransfer, copy_path};
use crate::design::checkpoint::automatic;
use crate::design::checkpoint::checkpoints::{self, CheckpointKind};
use crate::git::Oid;
use crate::git::process::OPERATION_VARIABLE;
use crate::model::{Code, Error, Result, World, text};
use crate::store::Session;

/// Copies the ignored files that the settings name.
pub(in crate::agents) fn ignored_files(
    session: &Session,
    to: &Path,
    setup: &mut Vec<String>,
) -> Result<()> {
    let settings = &session.settings;
    let lists = [
        (&settings.clone_copy, FileTransfer::Copy, "copied"),
        (&settings.clone_link, FileTransfer::Link, "linked"),
    ];
    bring(session, to, &lists, setup)
}

/// Copies all of them, also those that a clone gets as links: what runs in the tree must not change those of the checkout.
pub(crate) fn copies(session: &Session, to: &Path, setup: &mut Vec<String>) -> Result<()> {
    let settings = &session.settings;
    let lists = [&settings.clone_copy, &settings.clone_link];
    bring(session, to, &lists.map(|paths| (paths, FileTransfer::Copy, "copied")), setup)
}

/// Paths, how they get into a clone, and the word for it.
type Lists<'a> = [(&'a Vec<String>, FileTransfer, &'a str)];

fn bring(session: &Session, to: &Path, lists: &Lists<'_>, setup: &mut Vec<String>) -> Result<()> {
    for (paths, how, did) in lists {
        for path in *paths {
            let from = session.repo.workdir();
            let brought = copy_path(&session.world, from, to, path, *how)?;
            if brought.files > 0 {
                let files = text::count(brought.files, "file");
                setup.push(format!("{did} '{path}' ({files})"));
            } else {
                (session.world.narrate)(&format!(
                    "warning: '{path}' was not {did}, although the settings name it: it does not exist, leads \
                    elsewhere, or is in the clone already"
                ));
            }
        }
    }
    Ok(())
}

/// Keeps the uncommitted changes of the checkout as an automatic checkpoint; returns its commit, or
/// `None` if there are none.
pub(in crate::agents) fn uncommitted(session: &Session) -> Result<Option<Oid>> {
    let scan = session.repo.scan(&session.world)?;
    if scan.count_uncommitted() == 0 {
        return Ok(None);
    }
    let made = automatic::create(session, "copied to a new agent")?;
    if made.reason == Some("busy") {
        return Err(
            Error::new(Code::Locked, "another git-colony command is running here").unchanged()
        );
    }
    // Unchanged since the newest checkpoint: that holds the state.
    let known = checkpoints::list(&session.repo, CheckpointKind::Automatic)?;
    Ok(made.sha.or_else(|| known.sound.last().map(|newest| newest.sha)))
}

/// Puts the files of a state over those of a staged clone, as uncommitted changes.
pub(in crate::agents) fn put(world: &World, staged: &Staged, state: Oid) -> Result<()> {
    let inside = staged.session(world)?;
    let mut git = inside.repo.git(&inside.world);
    git.env(OPERATION_VARIABLE, "agents new");
    let source = format!("--source={state}");
    git.args(["restore", "-q", "--worktree", "--no-overlay", &source, "--", ":/"]);
    git.run_checked("copy the uncommitted changes into the clone").map(drop)
}

//! Checks the hub of this repository: whether it is there, and can be read by git and by git-colony.

use std::path::Path;

use crate::agents::agent_places;
use crate::clones::damaged::DamagedClone;
use crate::clones::hub::{Hub, joining};
use crate::git::process::Output;
use crate::model::{Code, Result, text};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;

use super::{Check, Depth};

/// Returns the problem of the hub, if it has one.
pub(super) fn check(session: &Session, depth: Depth) -> Result<Option<Check>> {
    let Some(member) = &session.membership else {
        return Ok(None);
    };
    let path = member.hub.as_path();
    if joining::is_hub_missing(session, path)? {
        let missing = Hub::open(path).err();
        return Ok(missing.map(|error| {
            let way = error.hint_text().unwrap_or("git colony clones gc");
            Check::ill("hub", error.message(), way)
        }));
    }
    if !path.is_dir() {
        // Who has deleted it with the last clone misses nothing; elsewhere it may be alive.
        let is_elsewhere = member.root().is_some_and(|root| {
            !root.is_dir()
                && SharedRoot::of_environment(&session.world)
                    .is_ok_and(|shared_root| shared_root.path() != root)
        });
        let root = member.root().map(|root| root.display().to_string()).unwrap_or_default();
        return Ok(is_elsewhere.then(|| {
            let detail =
                format!("the agents of this repository are below '{root}', which is not here");
            let word = text::shell_word(&root);
            Check::ill(
                "hub",
                detail,
                format!("COLONY_SHARED_ROOT={word} git colony agents new NAME"),
            )
        }));
    }
    let broken = match fault(session, path, depth) {
        Ok(fault) => fault,
        Err(error) if error.code() == Code::UntrustedRepository => {
            let way = error.hint_text().unwrap_or("run it as the owner of the hub");
            return Ok(Some(Check::ill("hub", error.message(), way)));
        }
        Err(error) => Some(error.message()),
    };
    let place = path.display();
    Ok(broken.map(|why| {
        let shown = text::shell_word(&path.to_string_lossy());
        Check::ill(
            "hub",
            format!("cannot use the hub '{place}': {why}"),
            format!("git -C {shown} fsck   # names the broken files; restore them from a backup"),
        )
    }))
}

/// Returns the problem of each clone of an agent that is damaged.
pub(super) fn clones(session: &Session) -> Result<Vec<Check>> {
    let ill = |clone: &DamagedClone| Check::ill("clones", clone.to_text(), clone.repair_command());
    Ok(agent_places::damaged_here(session)?.iter().map(ill).collect())
}

fn fault(session: &Session, path: &Path, depth: Depth) -> Result<Option<String>> {
    let hub = Hub::open(path)?;
    for reference in hub.store.refs_below("refs/")? {
        session.world.interrupt.check()?;
        if !hub.store.has(reference.id) {
            return Ok(Some(format!(
                "the object of '{}' is missing: {}",
                reference.name, reference.id
            )));
        }
    }
    let run = |args: &[&str]| hub.store.git(&session.world).args(args).run();
    let listed = run(&["for-each-ref", "--count=1"])?;
    // git goes on after some faults, with a warning.
    if !listed.success() || !listed.stderr.is_empty() {
        return Ok(Some(first_line(&listed)));
    }
    if depth == Depth::Deep {
        let checked = run(&["fsck", "--strict", "--no-dangling", "--no-progress"])?;
        return Ok((!checked.success()).then(|| first_line(&checked)));
    }
    Ok(None)
}

fn first_line(output: &Output) -> String {
    output.stderr.lines().next().unwrap_or("git gave no reason").to_owned()
}

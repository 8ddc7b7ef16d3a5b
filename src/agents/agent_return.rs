//! Brings the folder of a removed agent back as it stood, while it is kept.

use std::path::Path;

use crate::clones::hub::{Hub, publish};
use crate::clones::removal::kept_clone::{self, KeptClone};
use crate::clones::removal::{removal_lock, removed_log};
use crate::git::ObjectWrites;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::refs::ref_names;

use super::agent_restore::RestoredAgent;
use super::restore_place::RestorePlace;
use super::session_at;

/// Renames a removed clone back to its path and fills the report; in a dry run, only looks at it.
pub(super) fn bring_back(
    from: &RestorePlace<'_>,
    hub: &Hub,
    clone: &KeptClone,
    mut report: RestoredAgent,
) -> Result<RestoredAgent> {
    let world = from.world;
    report.path.clone_from(&clone.place);
    report.as_it_stood = true;
    if from.is_dry {
        let inside = Session::open_foreign(world, &clone.folder, ObjectWrites::InMemory)?;
        let unsaved = inside.repo.scan(&inside.world)?.count_uncommitted();
        report.had_uncommitted = unsaved > 0;
        report.operations = inside.repo.refs_below(ref_names::OPERATIONS)?.len();
        return Ok(report);
    }
    let _turn = removal_lock::take_turn(world, &clone.member)?;
    move_late_aside(world, &clone.place)?;
    clone.bring_back()?;
    world.reach("clone-in-place")?;
    let inside = session_at(world, &clone.place)?;
    publish::publish(&inside)?;
    let agent = clone.member.agent.as_deref().unwrap_or_default();
    removed_log::take_back(world, &SharedRoot::of(world)?, hub, agent, &inside.repo)?;
    let unsaved = inside.repo.scan(&inside.world)?.count_uncommitted();
    report.files = Some(unsaved);
    report.had_uncommitted = unsaved > 0;
    report.operations = inside.repo.refs_below(ref_names::OPERATIONS)?.len();
    report.clone.clone_from(&clone.member.id);
    report.dry_run = false;
    Ok(report)
}

/// Moves a folder aside that another process wrote at the path of a removed clone, and names it.
pub(super) fn move_late_aside(world: &World, place: &Path) -> Result<()> {
    let root = SharedRoot::of(world)?;
    if let Some(late) = kept_clone::move_late_aside(world, &root, place)? {
        (world.narrate)(&format!(
            "warning: another process wrote at the path of the removed clone: it is now in '{}'",
            late.display()
        ));
    }
    Ok(())
}

/// Refuses the name of a removed agent while a process goes on in its folder.
pub(super) fn refuse_running(session: &Session, agent: &str) -> Result<()> {
    let root = SharedRoot::of(&session.world)?;
    let mut kept = kept_clone::list(&root, None).into_iter();
    let of_agent = kept.find_map(|clone| {
        let is_its = clone.member.agent.as_deref() == Some(agent);
        let user = if is_its { clone.held_by(&session.world).transpose() } else { None };
        user.map(|user| user.map(|user| (user, clone)))
    });
    let Some((user, clone)) = of_agent.transpose()? else {
        return Ok(());
    };
    let (command, pid, name) = (&user.command, user.pid, shell_word(agent));
    let message =
        format!("'{command}' (process {pid}) works in the removed clone of agent '{agent}'");
    Err(Error::new(Code::AgentExists, message)
        .unchanged()
        .detail("path", clone.folder.display().to_string())
        .detail("pid", pid)
        .hint(format!("git colony agents restore {name}   # or 'agents new' with another name")))
}

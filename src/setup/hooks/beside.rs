//! Hooks in a folder inside the git directory: existing ones are renamed beside ours and run first.

use std::path::{Path, PathBuf};

use crate::store::files::places::HookPlaces;

use super::action::Action;
use super::found_hook::FoundHook;
use super::hook_state::HookState;
use super::record::{Blob, HooksRecord, bytes_of};
use super::script::{self, Content, Former, HookName};

/// The suffix of a hook that was renamed.
const SUFFIX: &str = ".before-colony";

/// The suffix of pre-commit for a hook that it replaces, and runs.
const RUNS_OURS: &str = ".legacy";

/// The suffixes of other programs for a hook they replace: that of pre-commit, and that of lefthook, which does not run
/// it.
const ALIASES: [&str; 2] = [RUNS_OURS, ".old"];

/// One hook in a folder.
struct Slot {
    hook: HookName,
    path: PathBuf,
    former: PathBuf,
}

impl Slot {
    fn of(folder: &Path, hook: HookName) -> Slot {
        let name = hook.as_str();
        Slot { hook, path: folder.join(name), former: folder.join(former_name(name)) }
    }

    fn alias(&self, ending: &str) -> PathBuf {
        self.path.with_file_name(format!("{}{ending}", self.hook.as_str()))
    }

    /// Returns our script if another program has renamed it.
    fn renamed(&self) -> Option<(&'static str, FoundHook)> {
        ALIASES.into_iter().find_map(|ending| {
            let standing = FoundHook::at(&self.alias(ending))?;
            (standing.content == Content::Ours).then_some((ending, standing))
        })
    }

    fn script(&self) -> Vec<u8> {
        let file = former_name(self.hook.as_str());
        script::git_hook(self.hook, &Former::Beside(&file))
    }
}

/// Returns the name of the file of a hook that was renamed.
pub(super) fn former_name(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

/// Returns `true` if a hook in the folder would not work after a rename.
pub(super) fn has_dispatcher(folder: &Path) -> bool {
    let depends = |hook| {
        let standing = FoundHook::at(&Slot::of(folder, hook).path);
        standing.is_some_and(|standing| {
            !matches!(standing.content, Content::Ours | Content::Edited)
                && standing.executable
                && script::depends_on_its_name(&standing.bytes)
        })
    };
    HookName::ALL.into_iter().any(depends)
}

/// Plans the installation into a folder.
pub(super) fn install(
    folder: &Path,
    places: &HookPlaces,
    known: Option<&HooksRecord>,
) -> Vec<Action> {
    let steps: Vec<Action> =
        HookName::ALL.into_iter().flat_map(|hook| install_one(&Slot::of(folder, hook))).collect();
    if steps.is_empty() && known.is_some() {
        return steps;
    }
    let missing = !folder.exists();
    let made = missing.then(|| Blob(bytes_of(folder)));
    let record = HooksRecord {
        made_folder: made.or_else(|| known.and_then(|known| known.made_folder.clone())),
        redirect: None,
    };
    let mut plan = vec![Action::Remember(places.record(), record)];
    if missing {
        plan.push(Action::MakeFolder(folder.to_owned()));
    }
    plan.extend(steps);
    plan
}

fn install_one(slot: &Slot) -> Vec<Action> {
    let write = || Action::Write { path: slot.path.clone(), bytes: slot.script() };
    match FoundHook::at(&slot.path) {
        None => vec![write()],
        Some(hook_file) if hook_file.content == Content::Ours => {
            let current = hook_file.executable && hook_file.bytes == slot.script();
            if current { Vec::new() } else { vec![write()] }
        }
        Some(hook_file) if hook_file.content == Content::Edited => Vec::new(),
        // Another program took our place while the hook before ours is still renamed: it is not for us to decide which
        // of the two should run.
        Some(_) if slot.former.symlink_metadata().is_ok() => Vec::new(),
        Some(_) => {
            let aside = Action::MoveAside { from: slot.path.clone(), to: slot.former.clone() };
            match slot.renamed() {
                Some((RUNS_OURS, _)) => Vec::new(),
                // Nothing runs our renamed script: it takes its place again, and runs theirs.
                Some((ending, _)) => vec![aside, write(), Action::Remove(slot.alias(ending))],
                None => vec![aside, write()],
            }
        }
    }
}

/// Plans to restore a folder; returns the files that stay because they are not ours.
pub(super) fn uninstall(folder: &Path, known: Option<&HooksRecord>) -> (Vec<Action>, Vec<PathBuf>) {
    let (mut plan, mut left) = (Vec::new(), Vec::new());
    for hook in HookName::ALL {
        let slot = Slot::of(folder, hook);
        let has_former = slot.former.symlink_metadata().is_ok();
        let at_name = match FoundHook::content_at(&slot.path) {
            None if has_former => Some(slot.path.clone()),
            None => None,
            Some(Content::Ours) => Some(slot.path.clone()),
            Some(Content::Edited) => {
                left.push(slot.path.clone());
                continue;
            }
            Some(_) => slot.renamed().map(|(ending, _)| slot.alias(ending)),
        };
        match (at_name, has_former) {
            (Some(to), true) => plan.push(Action::PutBack { from: slot.former.clone(), to }),
            (Some(path), false) => plan.push(Action::Remove(path)),
            (None, true) => left.push(slot.former.clone()),
            (None, false) => {}
        }
    }
    let made = known.and_then(|known| known.made_folder.as_ref());
    if let Some(made) = made.filter(|made| made.path() == folder) {
        plan.push(Action::RemoveEmptyFolder(made.path()));
    }
    (plan, left)
}

/// Returns the state of a hook in a folder.
pub(super) fn state(
    folder: &Path,
    hook: HookName,
    known: Option<&HooksRecord>,
) -> (HookState, bool) {
    let slot = Slot::of(folder, hook);
    let chained = slot.former.symlink_metadata().is_ok();
    match FoundHook::at(&slot.path) {
        Some(hook_file) if hook_file.content == Content::Ours && !hook_file.executable => {
            (HookState::Disabled, false)
        }
        Some(hook_file) if hook_file.content == Content::Ours && chained => {
            (HookState::Chained, true)
        }
        Some(hook_file) if hook_file.content == Content::Ours => (HookState::Installed, true),
        Some(hook_file) if hook_file.content == Content::Edited => {
            (HookState::Edited, hook_file.executable)
        }
        Some(hook_file) => match slot.renamed() {
            Some((ending, ours)) => {
                let runs = ending == RUNS_OURS && hook_file.executable && ours.executable;
                (HookState::Replaced, runs)
            }
            None if chained || known.is_some() => (HookState::Replaced, false),
            None => (HookState::NotInstalled, false),
        },
        None => (HookState::NotInstalled, false),
    }
}

/// Returns the path that the earlier hook is run from.
pub(super) fn former(folder: &Path, hook: HookName) -> PathBuf {
    Slot::of(folder, hook).former
}

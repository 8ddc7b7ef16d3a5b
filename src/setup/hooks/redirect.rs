//! Hooks where git uses a folder that we must not write to: `core.hooksPath` names a folder of ours, whose
//! scripts run the hooks of the former one, including those that are added to it later.

use std::path::{Path, PathBuf};

use crate::git::Repo;

use super::action::{Action, Configure};
use super::folder::{FolderSort, HooksFolder};
use super::found_hook::FoundHook;
use super::home::Home;
use super::hook_state::HookState;
use super::record::{HooksRecord, Redirect};
use super::script::{self, Content, Former, HookName};

/// The hooks that are always forwarded.
const ALWAYS: [&str; 13] = [
    "applypatch-msg",
    "commit-msg",
    "post-applypatch",
    "post-receive",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-merge-commit",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "sendemail-validate",
    "update",
];

/// The hooks that are forwarded only if they exist: they run on every command, or their existence changes
/// what git does.
const WHERE_THERE_IS_ONE: [&str; 9] = [
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-index-change",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
];

/// Lists the hooks of git beside those that we install.
pub(super) fn others() -> impl Iterator<Item = &'static str> {
    ALWAYS.into_iter().chain(WHERE_THERE_IS_ONE)
}

/// Plans to replace the folder in effect by ours.
pub(super) fn install(home: &Home, folder: &HooksFolder) -> Vec<Action> {
    let former = folder.as_former();
    let mut plan = vec![Action::MakeFolder(home.folder.clone())];
    plan.extend(scripts(home, former, &folder.path));
    plan.push(Action::Configure(Box::new(Configure {
        scope: home.scope,
        ours: home.folder.clone(),
        former: former.to_owned(),
        record: home.record.clone(),
    })));
    plan
}

/// Plans to replace our folder from before the repository was moved; the record of the earlier state stays.
pub(super) fn follow(home: &Home, redirect: &Redirect, repo: &Repo) -> Vec<Action> {
    let known = redirect.former.path();
    let own = repo.common_dir();
    // A folder inside the git directory has moved with it; git would look for it here.
    let moved = redirect.ours.path();
    let inside = moved
        .parent()
        .and_then(Path::parent)
        .and_then(|before| known.strip_prefix(before).ok())
        .filter(|_| redirect.values.is_empty());
    let former = inside.map_or_else(|| known.clone(), |inside| own.join(inside));
    let folder = HooksFolder {
        path: repo.workdir().join(&former),
        sort: FolderSort::Moved,
        value: Some(former),
        scope: Some(home.scope),
    };
    install(home, &folder)
}

/// Plans to write missing scripts into our folder, which is in effect.
pub(super) fn complete(home: &Home, redirect: &Redirect, worktree: &Path) -> Vec<Action> {
    let former = redirect.former.path();
    let folder = worktree.join(&former);
    let missing = (!home.folder.exists()).then(|| Action::MakeFolder(home.folder.clone()));
    let scripts = scripts(home, &former, &folder);
    missing.into_iter().chain(scripts).collect()
}

/// Plans the scripts that are missing or of another version; other files stay.
fn scripts(home: &Home, former: &Path, folder: &Path) -> Vec<Action> {
    let there_is = |name: &&str| FoundHook::at(&folder.join(name)).is_some_and(|s| s.executable);
    let ours = HookName::ALL.map(|hook| {
        let script = script::git_hook(hook, &Former::In(former));
        (hook.as_str(), script)
    });
    let forwarded = ALWAYS
        .into_iter()
        .chain(WHERE_THERE_IS_ONE.into_iter().filter(there_is))
        .map(|name| (name, script::forwarder(name, former)));
    let wanted = |(name, bytes): (&str, Vec<u8>)| {
        let path = home.folder.join(name);
        let fine = match FoundHook::at(&path) {
            Some(hook_file) if hook_file.content == Content::Ours => {
                hook_file.executable && hook_file.bytes == bytes
            }
            hook_file => hook_file.is_some(),
        };
        (!fine).then_some(Action::Write { path, bytes })
    };
    ours.into_iter().chain(forwarded).filter_map(wanted).collect()
}

/// Plans to remove our folder; returns the files that stay because they are not ours.
pub(super) fn uninstall(home: &Home, known: Option<&HooksRecord>) -> (Vec<Action>, Vec<PathBuf>) {
    let (mut plan, mut left) = (Vec::new(), Vec::new());
    if let Some(redirect) = known.and_then(|known| known.redirect.as_ref()) {
        plan.push(Action::Unconfigure(Box::new(redirect.clone())));
    }
    let mut entries: Vec<PathBuf> = std::fs::read_dir(&home.folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    entries.sort();
    for path in entries {
        if FoundHook::content_at(&path) == Some(Content::Ours) {
            plan.push(Action::Remove(path));
        } else {
            left.push(path);
        }
    }
    if home.folder.exists() {
        plan.push(Action::RemoveEmptyFolder(home.folder.clone()));
    }
    (plan, left)
}

/// Returns the state of a hook in our folder, which is in effect.
pub(super) fn state(home: &Home, hook: HookName, former: Option<&Path>) -> (HookState, bool) {
    let name = hook.as_str();
    let former = former.and_then(|folder| FoundHook::at(&folder.join(name)));
    let chained = former.is_some_and(|former| former.executable);
    match FoundHook::at(&home.folder.join(name)) {
        None => (HookState::NotInstalled, false),
        Some(hook_file) => match hook_file.content {
            Content::Ours if !hook_file.executable => (HookState::Disabled, false),
            Content::Ours if chained => (HookState::Chained, true),
            Content::Ours => (HookState::Installed, true),
            Content::Edited => (HookState::Edited, hook_file.executable),
            Content::GitLfs | Content::Foreign => (HookState::Replaced, false),
        },
    }
}

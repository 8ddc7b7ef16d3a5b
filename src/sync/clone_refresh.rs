//! Updates a clone: its remote branches.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::colony::lost_record::{self, Record};
use crate::agents::colony::{checkout_settings, clone_user_config, large_file_store};
use crate::clones::found::FoundClone;
use crate::clones::hub::{Hub, locate, publish, tag_list};
use crate::clones::removal::kept_work;
use crate::git::new_repository::ConfigEntry;
use crate::git::remote::Remote;
use crate::git::{ObjectWrites, Oid, RefChange, RefName, Repo, config, process};
use crate::model::{Code, Error, Result, Untouched, World, text};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::config_file::ConfigFile;
use crate::store::lock::WorktreeLock;
use crate::store::membership::Role;
use crate::store::refs::own_refs;
use crate::sync::{self, ChangedBranch};

/// The refspec of the remote of a clone.
const FETCH: &str = "+refs/heads/*:refs/remotes/origin/*";

/// A clone that was updated.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RefreshReport {
    /// Its id.
    pub id: String,
    /// Its path.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The new URL of the repository, without credentials, if it has changed.
    pub url_changed: Option<String>,
    /// The new store of large files, if the manifest names another one than before; empty for the remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lfs_url: Option<String>,
    /// Remote branches that moved.
    pub moved: Vec<String>,
    /// The commit that was checked out before.
    pub from: Option<Oid>,
    /// The commit that is checked out now; it only moves in a clone for reading.
    pub commit: Option<Oid>,
    /// The prefix of the refs in the hub that keep the own work of a clone for reading; `None` if
    /// it had none.
    pub kept_as: Option<String>,
    /// The hub.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// Whether settings, ignore rules or attributes of the checkout have changed, and are copied again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub settings_renewed: bool,
    /// Whether its record was lost, and is restored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub record_renewed: bool,
    /// True if nothing was done because of a dry run.
    pub dry_run: bool,
}

/// Fetches from the remote into the hub, and from there the remote branches of the clone. A clone
/// for reading moves to the new tip of its branch.
pub fn refresh(world: &World, session: Option<&Session>, name: &str) -> Result<RefreshReport> {
    let (clone, record) = lost_record::find(world, session, name)?;
    if record == Record::Lost {
        clone.member.write(&clone.git_dir())?;
    }
    let url_changed = follow_origin(session, &clone)?;
    let settings_renewed = match session {
        Some(session) => checkout_settings::renew(session, &clone)?,
        None => false,
    };
    let hub = Hub::open(&clone.member.hub)?;
    if hub.has_remote() {
        hub.fetch(world)?;
    }
    if let Some(checkout) = session {
        publish::publish(checkout)?;
    }
    let mut inside = open(world, &clone, &hub, ObjectWrites::Durable)?;
    let repo = &inside.repo;
    let from = repo.head()?.commit();
    let is_read = clone.member.role == Role::Reader;
    // Compared with its known remote branches: commits that were pushed elsewhere are not its own
    // work.
    let own = is_read.then(|| kept_work::keep_own(&inside.world, repo, &clone.member));
    let kept_as = own.transpose()?.flatten();
    let changes = move_remote_branches(&inside, &hub)?;
    add_tags(&inside, &hub, session)?;
    announce(session.unwrap_or(&inside), &changes);
    if is_read {
        follow(&inside, &clone)?;
    }
    clone_user_config::follow_manifest(&inside)?;
    let commit = repo.head()?.commit();
    let lfs_url = large_file_store::follow_manifest(&mut inside)?;
    let prefix = "refs/remotes/";
    let short = |change: &RefChange| change.name.to_string().replacen(prefix, "", 1);
    Ok(RefreshReport {
        id: clone.member.id,
        path: clone.path,
        url_changed,
        lfs_url,
        moved: changes.iter().map(short).collect(),
        from,
        commit,
        kept_as,
        hub: clone.member.hub,
        settings_renewed,
        record_renewed: record == Record::Lost,
        dry_run: false,
    })
}

/// Opens a clone with the remote of its hub, whatever its own configuration names.
fn open(world: &World, clone: &FoundClone, hub: &Hub, writes: ObjectWrites) -> Result<Session> {
    let mut inside = Session::open_foreign(world, &clone.path, writes)?;
    if let Some(url) = hub.store.config("remote.origin.url") {
        let of_origin = |name, value: &str| ConfigEntry::sub("remote", "origin", name, value);
        inside.repo.adopt(&[of_origin("url", &url), of_origin("fetch", FETCH)])?;
    }
    Ok(inside)
}

/// Announces the remote branches that moved, in the name of the one who refreshed the clone.
fn announce(session: &Session, changes: &[RefChange]) {
    for change in changes {
        let name = change.name.to_string();
        let branch = ChangedBranch {
            name: name.replacen("refs/remotes/", "", 1),
            old: change.old,
            new: change.new,
        };
        sync::announce_changed(session, &branch);
    }
}

/// Updates the remote branches of a clone from its hub; returns those that moved.
fn move_remote_branches(inside: &Session, hub: &Hub) -> Result<Vec<RefChange>> {
    let mut changes = Vec::new();
    for found in hub.remote_branches()? {
        let old = inside.repo.find_ref(&found.name)?;
        if old != Some(found.id) {
            changes.push(RefChange { name: found.name, old, new: Some(found.id) });
        }
    }
    move_refs(inside, &changes)?;
    Ok(changes)
}

/// Adds the tags of the checkout that the clone does not have; a tag of the clone stays as it is.
fn add_tags(inside: &Session, hub: &Hub, checkout: Option<&Session>) -> Result<()> {
    let member = checkout.and_then(|checkout| checkout.membership.as_ref());
    let Some(desk) = member.filter(|member| member.role == Role::Desk) else {
        return Ok(());
    };
    let mut changes = Vec::new();
    for tag in tag_list::tags_of(hub, desk)? {
        if inside.repo.find_ref(&tag.name)?.is_none() {
            changes.push(RefChange { name: tag.name, old: None, new: Some(tag.id) });
        }
    }
    move_refs(inside, &changes)
}

fn move_refs(inside: &Session, changes: &[RefChange]) -> Result<()> {
    let who = inside.record_signature();
    let why = crate::git::refs::ReflogReason {
        text: "colony: refreshed",
        who: &who,
        operation: "refresh",
    };
    own_refs::move_refs(inside, changes, &why)
}

/// Returns the report of [`refresh`]: asks the remote, and changes nothing. Does not detect a new
/// origin of the checkout.
pub fn preview(world: &World, session: Option<&Session>, name: &str) -> Result<RefreshReport> {
    let (clone, record) = lost_record::find(world, session, name)?;
    if record == Record::Lost {
        return Ok(RefreshReport {
            id: clone.member.id,
            path: clone.path,
            url_changed: None,
            lfs_url: None,
            moved: Vec::new(),
            from: None,
            commit: None,
            kept_as: None,
            hub: clone.member.hub,
            settings_renewed: false,
            record_renewed: true,
            dry_run: true,
        });
    }
    let hub = Hub::open(&clone.member.hub)?;
    let inside = open(world, &clone, &hub, ObjectWrites::InMemory)?;
    let repo = &inside.repo;
    let mut moved = Vec::new();
    if hub.has_remote() {
        let remote = Remote::find(repo, &inside.world, "origin")?;
        for (name, id) in remote.list(|_| true)? {
            if let Some(branch) = name.as_bytes().strip_prefix(b"refs/heads/") {
                let seen = RefName::new([b"refs/remotes/origin/", branch].concat());
                if repo.find_ref(&seen)? != Some(id) {
                    moved.push(seen.to_string().replacen("refs/remotes/", "", 1));
                }
            }
        }
    }
    let from = repo.head()?.commit();
    Ok(RefreshReport {
        id: clone.member.id,
        path: clone.path,
        url_changed: None,
        lfs_url: None,
        moved,
        from,
        commit: from,
        kept_as: None,
        hub: clone.member.hub,
        settings_renewed: false,
        record_renewed: false,
        dry_run: true,
    })
}

/// Gives the hub and the clone the origin and the push URL of the checkout that this runs in;
/// returns the URL if the clone had another.
fn follow_origin(session: Option<&Session>, clone: &FoundClone) -> Result<Option<String>> {
    let is_desk = |session: &&Session| {
        let member = session.membership.as_ref();
        member.is_some_and(|m| m.role == Role::Desk && m.hub == clone.member.hub)
    };
    let Some(desk) = session.filter(is_desk) else {
        return Ok(None);
    };
    let Some(url) = locate::origin_of(desk)?.map(|url| url.without_credentials()) else {
        return Ok(None);
    };
    let inside = Repo::open_foreign(&desk.world, &clone.path, ObjectWrites::InMemory)?;
    let hub = Hub::open(&clone.member.hub)?;
    let key = "remote.origin.url";
    let fetch = ("remote.origin.fetch", FETCH);
    if hub.store.config(key).as_ref() != Some(&url) {
        for (key, value) in [(key, url.as_str()), fetch] {
            own_refs::in_hub(&desk.world, hub.store.path(), |lock| {
                let mut git = hub.store.git(&desk.world);
                git.keep_open(lock)?;
                git.args(["config", "--local", "--replace-all", key, value]);
                let done = git.run_checked("follow the origin of this checkout");
                done.map(drop)
            })?;
        }
    }
    let file = ConfigFile::of_repository(&inside);
    let written = file.read()?;
    let is_set = |key: &str, value: &String| config::values_in(&written, key).last() == Some(value);
    let set = |(key, value): (&str, &str)| {
        // The lock of that worktree proves that a leftover of a killed process is stale.
        let _lock = WorktreeLock::take(&desk.world, &inside, desk.wait_limit())?;
        let args = ["--replace-all", key, value];
        file.change(&inside, &desk.world, &args)
    };
    let push_key = "remote.origin.pushurl";
    let push = locate::push_url_of(desk);
    let before = config::values_in(&written, push_key).pop();
    if push.is_some() || before.as_deref() == Some(locate::NO_PUSH) {
        // A checkout that had no origin has one now.
        let push = push.unwrap_or_else(|| url.clone());
        if before.as_ref() != Some(&push) {
            set((push_key, &push))?;
        }
    }
    if is_set(key, &url) {
        return Ok(None);
    }
    set((key, &url))?;
    set(fetch)?;
    Ok(Some(url))
}

/// Moves a clone for reading to the newest commit of its branch, with git, which refuses if it has
/// edits.
fn follow(inside: &Session, clone: &FoundClone) -> Result<()> {
    let Some(branch) = &clone.member.branch else {
        return Ok(());
    };
    let remote = format!("refs/remotes/origin/{branch}");
    if inside.repo.find_ref(&RefName::from(remote.as_str()))?.is_none() {
        return Ok(());
    }
    own_refs::check_out(inside, || {
        let checkout = || {
            let mut git = inside.repo.git(&inside.world);
            git.env(process::OPERATION_VARIABLE, "refresh");
            // Ignored files belong to the user as well.
            git.args(["checkout", "-q", "--no-overwrite-ignore", "--no-track"]);
            git.args(["-B", branch, &remote, "--"]);
            git.run()
        };
        let mut output = checkout()?;
        if !output.success() && take_for_done(inside, &remote, &in_the_way(&output.stderr))? {
            output = checkout()?;
        }
        if output.success() {
            return Ok(());
        }
        let failed = process::failed("update the clone", &output.stderr);
        if failed.code() == Code::Locked {
            return Err(failed);
        }
        Err(cannot_follow(clone, &output.stderr))
    })
}

/// Lists the paths that git names when it refuses a checkout.
fn in_the_way(said: &str) -> Vec<&str> {
    let named = said.lines().filter_map(|line| line.strip_prefix('\t'));
    named.collect()
}

/// Refreshes the index if all files in the way of a checkout already hold their new content: a
/// killed checkout has left them, and no edit is lost. Returns `false` if one differs.
fn take_for_done(inside: &Session, goal: &str, paths: &[&str]) -> Result<bool> {
    if paths.is_empty() {
        return Ok(false);
    }
    let literal: Vec<_> = paths.iter().map(|path| format!(":(literal){path}")).collect();
    let index = inside.repo.git_dir().join("colony").join("tmp-index-of-goal");
    let run = |args: &[&str], is_of_goal: bool| {
        let mut git = inside.repo.git(&inside.world);
        git.args(args);
        if is_of_goal {
            git.env("GIT_INDEX_FILE", &index);
        }
        let output = git.run();
        output.map(|output| output.success())
    };
    let literal: Vec<&str> = literal.iter().map(String::as_str).collect();
    let equal = run(&["read-tree", goal], true)?
        && run(&[&["diff", "--quiet", "--no-ext-diff", "--"], &literal[..]].concat(), true)?;
    atomic::remove_file(&index)?;
    Ok(equal && run(&[&["reset", "-q", goal, "--"], &literal[..]].concat(), false)?)
}

/// Explains git's refusal: with the paths it names, else with its first message.
fn cannot_follow(clone: &FoundClone, said: &str) -> Error {
    let paths = in_the_way(said);
    let why = match paths.as_slice() {
        [] => said.lines().next().unwrap_or_default().to_owned(),
        [path] => format!("'{path}' is edited there"),
        [first, rest @ ..] => format!("'{first}' and {} more are edited there", rest.len()),
    };
    let place = text::shell_word(&clone.path.to_string_lossy());
    let id = clone.member.id.get(..8).unwrap_or(&clone.member.id);
    Error::new(
        Code::UncommittedEdits,
        format!("the clone stays at its commit: {why}"),
    )
    .untouched(Untouched::Only("its files have not changed"))
    .detail("paths", paths)
    .detail("path", clone.path.display().to_string())
    .hint(format!(
        "git -C {place} stash -u   # stashes the edits; 'git colony clones remove {id} --force' \
        deletes them"
    ))
}

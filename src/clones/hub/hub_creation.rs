//! Creates a hub: a bare clone of a repository here or of its remote, configured so that no object in it is
//! ever deleted.

use std::path::Path;

use crate::git::plain_file;
use crate::git::remote::network::Network;
use crate::git::remote::url::RemoteUrl;
use crate::git::{BareRepo, RefChange, RefName, Repo, process};
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::refs::ref_names;

use super::REMOTE_CHECKPOINTS;
use super::locate::origin_of;

/// The configuration of a hub, beyond what git writes.
const CONFIG: &str = "\
[extensions]
	preciousObjects = true
[gc]
	auto = 0
[receive]
	autogc = false
[maintenance]
	auto = false
[core]
	logAllRefUpdates = false
";

pub(in crate::clones) fn make_from_repository(session: &Session, new: &Path) -> Result<()> {
    let (repo, world) = (&session.repo, &session.world);
    refuse_incomplete(repo)?;
    let mut git = process::Git::new(world);
    git.env("GIT_DEFAULT_REF_FORMAT", "files");
    // Without --local, which would fail on another file system; git then copies by itself.
    // The user may forbid local URLs, but this is none: the hub is ours.
    git.config("protocol.file.allow", "always");
    git.args(["clone", "-q", "--bare", "--no-tags", "--template="]);
    // A path of this machine, which git must not take for a URL.
    git.arg("--").arg(repo.common_dir()).arg(new);
    git.run_checked("make the hub from this repository")?;
    own_all_objects(world, new)?;
    let remote = repo.refs_below("refs/remotes/origin/")?;
    let url = origin_of(session)?.map(|url| url.in_full());
    let store = configure(new, url.as_deref())?;
    let mut changes = gone(&store)?;
    // All below the branches is whole; the other copied objects need not be.
    let made_from: Vec<RefChange> = changes.iter().map(made_from).collect();
    changes.extend(made_from);
    let known = remote.into_iter().filter(|reference| store.has(reference.id));
    changes.extend(known.map(|reference| RefChange {
        name: reference.name,
        old: None,
        new: Some(reference.id),
    }));
    store.move_refs_unshared(world, &changes)
}

/// Returns the change that keeps the tip of a branch which is deleted.
fn made_from(gone: &RefChange) -> RefChange {
    let name = RefName::from(format!("{}{}", ref_names::MADE_FROM, gone.name.short()).as_str());
    RefChange { name, old: None, new: gone.old }
}

/// Fails for a repository that lacks parts of its own history, for what it published would have holes, and for one whose
/// path is not UTF-8, for no record could name it.
pub fn refuse_incomplete(repo: &Repo) -> Result<()> {
    if repo.common_dir().to_str().is_none() {
        let message = "the path of this repository is not UTF-8: agents need one that is";
        return Err(Error::new(Code::Unsupported, message)
            .unchanged()
            .hint("mv OLD NEW   # in the folder above; git needs nothing else"));
    }
    let (what, hint) = if repo.is_shallow() {
        ("shallow", "git fetch --unshallow")
    } else if repo.is_partial() {
        ("partial", "git clone URL   # a full clone can have agents")
    } else {
        return Ok(());
    };
    Err(Error::new(
        Code::Unsupported,
        format!("this clone is {what}: a hub needs the whole history"),
    )
    .unchanged()
    .hint(hint))
}

/// Copies the objects that a hub would borrow because its source borrows them.
fn own_all_objects(world: &World, new: &Path) -> Result<()> {
    let alternates = new.join("objects/info/alternates");
    if !alternates.exists() {
        return Ok(());
    }
    let store = BareRepo::open(new)?;
    let mut git = store.git(world);
    git.args(["repack", "-a", "-d", "-q"]);
    git.run_checked("copy the objects that this repository borrows")?;
    atomic::remove_file(&alternates)
}

pub(in crate::clones) fn make_from_url(world: &World, url: &RemoteUrl, new: &Path) -> Result<()> {
    let mut git = process::Git::new(world);
    git.env("GIT_DEFAULT_REF_FORMAT", "files");
    let mut network = Network::new(world, git, Some(url))?;
    network.git().args(["clone", "-q", "--bare", "--template="]);
    let checkpoints = format!("remote.origin.fetch={REMOTE_CHECKPOINTS}");
    network.git().args(["-c", &checkpoints, "--"]);
    network.arg_url(url).arg(new);
    network.run_checked("make the hub from the remote")?;
    own_all_objects(world, new)?;
    let store = configure(new, Some(&url.in_full()))?;
    let heads = store.refs_below("refs/heads/")?;
    let mut changes = gone(&store)?;
    changes.extend(heads.into_iter().map(|head| RefChange {
        name: RefName::from(format!("refs/remotes/origin/{}", head.name.short()).as_str()),
        old: None,
        new: Some(head.id),
    }));
    store.move_refs_unshared(world, &changes)?;
    store.follow_remote_head(world)
}

/// Returns the changes that delete the branches git created.
fn gone(store: &BareRepo) -> Result<Vec<RefChange>> {
    let heads = store.refs_below("refs/heads/")?.into_iter();
    Ok(heads.map(|head| RefChange { name: head.name, old: Some(head.id), new: None }).collect())
}

fn configure(new: &Path, url: Option<&str>) -> Result<BareRepo> {
    let cannot = |e| Error::io("cannot configure the hub", e);
    let path = new.join("config");
    let written = plain_file::read_text(&path).map_err(cannot)?;
    // The configuration that git copied from the source may hold credentials.
    let own = written.lines().scan(false, |skip, line| {
        if line.starts_with('[') {
            *skip = line.starts_with("[remote");
        }
        Some((!*skip).then(|| format!("{line}\n")))
    });
    let mut text: String = own.flatten().collect();
    text = text.replace("repositoryformatversion = 0", "repositoryformatversion = 1");
    text.push_str(CONFIG);
    if let Some(url) = url {
        text.push_str(&crate::git::new_repository::remote_section(url));
    }
    atomic::write_durably(&path, text.as_bytes())?;
    BareRepo::open(new)
}

//! Sets a repository up: one commit of our files, git-lfs, and a push only on request.

mod before_init;
pub mod deinit;
mod files;
mod init_migration;
mod repo_map_file;
mod side_effects;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::colony::large_file_store;
use crate::design::commit::scaffold;
use crate::git::attributes::AttributesOf;
use crate::git::remote::{Pushed, Remote};
use crate::git::{Head, Oid, RefChange};
use crate::lfs::exempt::LeftOut;
use crate::lfs::install::{self, Way};
use crate::lfs::status;
use crate::lfs::store_url;
use crate::migrate::{self, Publication, Replaced};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result};
use crate::records::consent::{self, Ask};
use crate::repo_map::data_globs::DataGlob;
use crate::setup::hooks::{self, HookChange, Target};
use crate::setup::manifest::{self, LfsMode, Manifest};
use crate::setup::{attributes, info_attributes, merge_drivers};
use crate::store::Session;
use crate::store::lock::WorktreeLock;
use crate::store::operation::Kind;

use before_init::BeforeInit;
use files::{Attributes, existing, new_manifest, plan_attributes, refuse_edited};
pub use side_effects::forget_shown;

const IGNORE_FILE: &str = ".colony/.gitignore";
/// The folders below `.colony` that are never committed.
const IGNORED: &str =
    "# Kept by git-colony beside the repository, never in it.\n/cache/\n/sessions/\n";

/// The options of init.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The URL of the repository; `None` takes `origin`.
    pub url: Option<String>,
    /// The colony it belongs to.
    pub colony: Option<String>,
    /// Whether git-lfs is used.
    pub lfs: WantedLfs,
    /// Whether the commit is pushed to `origin`, and with it the rewritten history.
    pub push: Publication,
    /// Whether history is rewritten.
    pub migrate: bool,
}

/// Whether git-lfs is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WantedLfs {
    /// As the manifest says; without one, it is used for large files.
    #[default]
    AsRecorded,
    /// It is used for large files, whatever the manifest says.
    Lfs,
    /// It is not used.
    NoLfs,
}

/// Whether git-lfs stores large files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lfs {
    Yes,
    No,
}

/// Whether something had to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InitStatus {
    /// Files were committed.
    Initialized,
    /// Everything existed.
    AlreadyInitialized,
}

/// The parts that were configured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the fields of the answer, as the requirements name them"
)]
pub struct InitReport {
    /// Whether something had to be done.
    pub status: InitStatus,
    /// The files that were written, sorted.
    pub files_created: Vec<RepoPath>,
    /// The commit that holds them; `None` if there was nothing to commit.
    pub committed_sha: Option<Oid>,
    /// Whether the commit is on `origin`.
    pub pushed: bool,
    /// Why it is not, if a push was requested; `no-consent` if no person has consented to the URL.
    pub push_error: Option<String>,
    /// The command that publishes it.
    pub push_command: Option<&'static str>,
    /// The branches of the remote that a push of the rewritten history replaces, as last fetched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<Replaced>,
    /// Whether git-lfs is configured here.
    pub lfs_enabled: bool,
    /// Why it is not, if it was requested.
    pub lfs_error: Option<String>,
    /// Whether git-lfs stores the large files of all of history.
    pub migrated_to_lfs: bool,
    /// Whether history was rewritten for that just now.
    pub history_rewritten: bool,
    /// Why it was not, if it was requested.
    pub migrate_error: Option<String>,
    /// The result of rewriting history, as text, if that was requested in a dry run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub would_migrate: Vec<String>,
    /// The parts that are, or would be, configured here outside the tree, as text.
    pub set_up: Vec<String>,
    /// The git-lfs lines that the user's own `.gitattributes` lacks: without them git-lfs gets no
    /// file. They are never written into it.
    pub lines_to_add: Vec<String>,
    /// Whether an earlier run has printed the very same lines.
    pub lines_were_shown: bool,
    /// Committed files that match git-lfs patterns and stay in git, by lines of their own in
    /// `.gitattributes`.
    pub exempt: Vec<RepoPath>,
    /// git-lfs patterns that are left out of `.gitattributes`, because too many committed files
    /// match.
    pub patterns_left_out: Vec<LeftOut>,
    /// Whether git-lfs is not used because `.colony/manifest.json` says so.
    pub lfs_kept_off: bool,
    /// Flags without effect: the manifest exists and is kept.
    pub unused_flags: Vec<&'static str>,
    /// Globs for data that has much of the text of the tree: the new map has them as a comment, so nothing is left
    /// out. Empty if the map exists.
    pub proposed_globs: Vec<DataGlob>,
    /// The merge drivers that this run configures.
    pub merge_drivers: Vec<String>,
    /// Committed files that a git-lfs pattern would convert at their next change.
    pub would_dirty: Vec<RepoPath>,
    /// The operation; `None` if nothing was committed, or in a dry run.
    pub op: Option<OperationId>,
    /// True if nothing was done because of a dry run.
    pub dry_run: bool,
}

/// Sets a repository up; in a dry run, only plans that. Existing files are kept.
pub fn init(session: &Session, request: &Request) -> Result<InitReport> {
    let outlook =
        request.migrate.then(|| migrate::check(session, &attributes::endings())).transpose()?;
    let plan = Plan::make(session, request)?;
    let mut report = plan.report(session, request)?;
    if session.is_dry() {
        report.would_migrate = outlook.map_or_else(Vec::new, |outlook| {
            init_migration::outlook(&outlook, request.push, report.would_dirty.len())
        });
        return Ok(report);
    }
    side_effects::outlast(session, &report.would_dirty)?;
    let before = BeforeInit::read(session);
    match set_up(session, request, &plan) {
        Ok(Some(done)) => {
            report.committed_sha = Some(done.commit);
            report.op = Some(done.op);
        }
        Ok(None) => {
            report.status = InitStatus::AlreadyInitialized;
            report.files_created.clear();
        }
        Err(error) => {
            before.restore(session, request);
            return Err(error);
        }
    }
    if request.migrate {
        init_migration::migrate(session, request.push, &mut report)?;
    }
    side_effects::note_shown(session, &report.lines_to_add)?;
    if request.push != Publication::Local && !report.migrated_to_lfs {
        report.push(push(session, request.push));
    }
    Ok(report)
}

/// Carries out the plan: the commit comes last, since it alone can be undone.
fn set_up(
    session: &Session,
    request: &Request,
    plan: &Plan,
) -> Result<Option<scaffold::Committed>> {
    if let Way::Chained(_) = plan.way {
        hooks::install::run(session, HookChange::Install, Target::Git)?;
    }
    let lock = WorktreeLock::take(&session.world, &session.repo, session.wait_limit())?;
    install::install(session, plan.way)?;
    store_url::follow(session, plan.store_url.as_deref())?;
    if plan.attributes.merge_lines == MergeLines::InInfo {
        info_attributes::add(&session.repo, attributes::MERGE_LINES)?;
    }
    merge_drivers::install(session)?;
    drop(lock);
    if plan.commit.is_none() {
        return Ok(None);
    }
    scaffold::commit_files(session, Kind::Init, || Ok(Plan::make(session, request)?.commit))
}

/// The place of the merge driver lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergeLines {
    /// In the `.gitattributes` that we write, or they exist there.
    InTree,
    /// In `info/attributes`: the file in the tree is the user's own.
    InInfo,
}

/// Everything decided before anything is done.
struct Plan {
    commit: Option<scaffold::Request>,
    way: Way,
    lfs: Lfs,
    wanted: Lfs,
    /// The separate store of large files.
    store_url: Option<String>,
    attributes: Attributes,
    proposed_globs: Vec<DataGlob>,
}

impl Plan {
    fn make(session: &Session, request: &Request) -> Result<Plan> {
        let theirs: Option<(Manifest, Vec<u8>)> = existing(session, manifest::PATH)?
            .map(|bytes| Ok((Manifest::parse(&bytes)?, bytes)))
            .transpose()?;
        let is_off = |(manifest, _): &(Manifest, _)| manifest.lfs.mode == LfsMode::Disabled;
        let wanted = match request.lfs {
            WantedLfs::NoLfs => Lfs::No,
            WantedLfs::AsRecorded if !request.migrate && theirs.as_ref().is_some_and(is_off) => {
                Lfs::No
            }
            WantedLfs::AsRecorded | WantedLfs::Lfs => Lfs::Yes,
        };
        let way = match wanted {
            Lfs::Yes => install::plan_chained(session)?,
            Lfs::No => Way::NotInstalled,
        };
        let lfs = if way == Way::NotInstalled { Lfs::No } else { Lfs::Yes };
        let named = theirs.as_ref().filter(|_| lfs == Lfs::Yes);
        let store_url = match named.map(|(manifest, _)| large_file_store::url_of(&manifest.lfs)) {
            Some(url) => url?,
            None => None,
        };
        let mut files = Vec::from_iter(manifest_file(session, request, theirs, lfs)?);
        let proposed_globs = repo_map_file::plan(session, &mut files)?;
        if existing(session, IGNORE_FILE)?.is_none() {
            files.push((IGNORE_FILE.into(), IGNORED.as_bytes().to_vec()));
        }
        let attributes = plan_attributes(session, request, lfs, &mut files)?;
        if attributes.merge_lines == MergeLines::InInfo {
            info_attributes::check(&session.repo)?;
        }
        files.sort();
        scaffold::check(session, "init", files.iter().map(|(path, _)| path))?;
        let commit = (!files.is_empty()).then(|| scaffold::Request {
            summary: "init".to_owned(),
            message: message_for(&files).to_owned(),
            files,
            form: scaffold::FileForm::Worktree,
        });
        Ok(Plan { commit, way, lfs, wanted, store_url, attributes, proposed_globs })
    }

    fn report(&self, session: &Session, request: &Request) -> Result<InitReport> {
        let index = match &self.commit {
            Some(work) => scaffold::preview_index(session, work)?,
            None => session.repo.load_index()?,
        };
        let would_dirty = match self.lfs {
            Lfs::Yes => status::would_dirty(session, &index, AttributesOf::Index)?,
            Lfs::No => Vec::new(),
        };
        let missing = merge_drivers::missing(session);
        let files = self.commit.iter().flat_map(|work| &work.files);
        Ok(InitReport {
            status: match &self.commit {
                Some(_) => InitStatus::Initialized,
                None => InitStatus::AlreadyInitialized,
            },
            files_created: files.map(|(path, _)| path.clone()).collect(),
            committed_sha: None,
            pushed: false,
            push_error: None,
            push_command: None,
            replaces: Vec::new(),
            lfs_enabled: self.lfs == Lfs::Yes,
            lfs_kept_off: self.wanted == Lfs::No && request.lfs == WantedLfs::AsRecorded,
            lfs_error: (self.wanted != self.lfs)
                .then(|| "git-lfs is not installed, so large files stay in git".to_owned()),
            migrated_to_lfs: false,
            history_rewritten: false,
            migrate_error: None,
            would_migrate: Vec::new(),
            set_up: side_effects::set_up(session, self)?,
            lines_were_shown: side_effects::were_shown(session, &self.attributes.to_add)?,
            lines_to_add: self.attributes.to_add.clone(),
            exempt: self.attributes.exempt.files.clone(),
            patterns_left_out: self.attributes.exempt.left_out.clone(),
            unused_flags: side_effects::unused_flags(session, request)?,
            proposed_globs: self.proposed_globs.clone(),
            merge_drivers: missing.into_iter().map(str::to_owned).collect(),
            would_dirty,
            op: None,
            dry_run: session.is_dry(),
        })
    }
}

/// Returns the manifest to write: a new one, or the existing one with git-lfs turned on.
fn manifest_file(
    session: &Session,
    request: &Request,
    theirs: Option<(Manifest, Vec<u8>)>,
    lfs: Lfs,
) -> Result<Option<(RepoPath, Vec<u8>)>> {
    let bytes = match theirs {
        None => new_manifest(session, request, lfs)?.write()?,
        Some((manifest, bytes)) if lfs == Lfs::Yes && manifest.lfs.mode == LfsMode::Disabled => {
            refuse_edited(session, manifest::PATH, &bytes)?;
            manifest::with_lfs(&bytes)?
        }
        Some(_) => return Ok(None),
    };
    Ok(Some((manifest::PATH.into(), bytes)))
}

/// Returns the message of the commit: it names the file that changes the behavior of git for
/// others.
fn message_for(files: &[(RepoPath, Vec<u8>)]) -> &'static str {
    let is_attributes = |(path, _): &(RepoPath, _)| path.as_bytes() == b".gitattributes";
    if files.iter().any(is_attributes) {
        "init: scaffold .colony/ (manifest + repo_map.yaml) and .gitattributes"
    } else {
        "init: scaffold .colony/ (manifest + repo_map.yaml)"
    }
}

/// Pushes the branch to `origin`: to its branch there, and only forward.
fn push(session: &Session, publication: Publication) -> Result<()> {
    let (repo, world) = (&session.repo, &session.world);
    let Head::Branch { name, commit } = repo.head()? else {
        return Err(Error::new(Code::InvalidValue, "HEAD is not on a branch with a commit"));
    };
    let remote = Remote::find(repo, world, "origin")?;
    let ask = match publication {
        Publication::Consents => Ask::Gives,
        Publication::Local | Publication::WithConsent => Ask::Uses,
    };
    let leave = consent::find(session, &remote, ask)?;
    let permit = leave.permit(session, &remote)?;
    let old = remote.list(|listed| *listed == name)?.get(&name).copied();
    let is_forward = old.is_none_or(|old| {
        repo.object_size(old).is_some() && !repo.has_more(old, commit).unwrap_or(true)
    });
    if !is_forward {
        let message = format!("'{}' on 'origin' has commits that are not here", name.short());
        return Err(Error::new(Code::LeftBehind, message).hint("git pull --rebase && git push"));
    }
    let change = RefChange { name, old, new: Some(commit) };
    let pushed = remote.push(&permit, std::slice::from_ref(&change))?;
    match pushed.get(&change.name) {
        Some(Pushed::Refused(why)) => {
            Err(Error::new(Code::GitFailed, format!("'origin' refuses the push: {why}")))
        }
        Some(Pushed::Moved) => Err(Error::new(Code::RefMoved, "'origin' moved at the same time")
            .hint("git pull --rebase && git push")),
        Some(Pushed::Done) | None => Ok(()),
    }
}

impl InitReport {
    /// Records the result of the push.
    fn push(&mut self, pushed: Result<()>) {
        self.pushed = pushed.is_ok();
        let Err(error) = pushed else { return };
        self.push_error = Some(match error.code() {
            Code::NoConsent => Code::NoConsent.as_str().to_owned(),
            _ => with_hint(&error),
        });
        self.push_command = (error.code() == Code::NoConsent).then_some("git colony init --push");
    }
}

fn with_hint(error: &Error) -> String {
    let hint = error.hint_text().map(|hint| format!("; hint: {hint}"));
    error.sentence() + &hint.unwrap_or_default()
}

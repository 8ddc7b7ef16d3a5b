//! Assembles a checkpoint: its name, message, commit and tag.

use std::path::PathBuf;

use crate::design::submodule::snapshots::SubmoduleStates;
use crate::design::worktree::write_commit;
use crate::git::object::tag::NewTag;
use crate::git::object::{NewCommit, Signatures};
use crate::git::{Head, Oid, RefChange, Signature};
use crate::model::{Result, time};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::lease::lease_holder::session_of;
use crate::store::operation::{Kind, Operation};
use crate::store::refs::ref_names;

use super::left_out::LeftOut;
use super::tag_message::{Mode, TagMessage};
use super::worktree_snapshot::Kept;
use super::{CheckpointReport, Request};

/// A checkpoint that is being made.
pub(in crate::design) struct Draft {
    pub(in crate::design) short_id: String,
    pub(in crate::design) message: TagMessage,
    /// The tagger. Checkpoints are sorted by the time at which each was made, and not by `GIT_COMMITTER_DATE`.
    signature: Signature,
    /// Author and committer, where the user asked for it; else both are the tagger.
    pub(super) by: Option<Signatures>,
    created_at: String,
    /// The folder in which its tag can be signed; `None` signs nothing: automatic checkpoints are
    /// never signed, and no hook opens a dialog for a passphrase.
    scratch: Option<PathBuf>,
}

impl Draft {
    pub(in crate::design) fn new(
        session: &Session,
        request: &Request,
        kept: &Kept,
        submodules: &SubmoduleStates,
        signature: Signature,
    ) -> Draft {
        let mut draft = Draft::of_commit(session, request, &kept.scan.head, signature);
        if request.off_branch {
            draft.message.mode = Mode::OffBranch;
            draft.message.base = kept.scan.head.commit();
        }
        draft.message.left_out.clone_from(&kept.left_out);
        draft.message.submodules = submodules.named();
        draft.message.secrets.clone_from(&kept.secrets);
        draft
    }

    pub(in crate::design) fn of_commit(
        session: &Session,
        request: &Request,
        head: &Head,
        signature: Signature,
    ) -> Draft {
        let moment = session.world.now();
        let branch = head.label();
        let label = request.label.clone();
        let default = || format!("{branch} {}", moment.format("%Y-%m-%d %H:%M:%S"));
        Draft {
            short_id: format!("{}-{}", time::compact(&moment), session.world.nonce8()),
            message: TagMessage {
                label: label.unwrap_or_else(default),
                rationale: request.rationale.clone(),
                mode: Mode::Branch,
                branch: Some(branch),
                base: None,
                operation: None,
                session: session_of(&session.world),
                left_out: Vec::new(),
                submodules: Vec::new(),
                secrets: Vec::new(),
            },
            signature,
            by: None,
            created_at: time::rfc3339(&moment),
            scratch: None,
        }
    }

    /// Records the operation that makes it; from here on it is signed as configured.
    pub(in crate::design) fn belongs_to(&mut self, operation: &Operation<'_>) {
        let places = &operation.places;
        self.message.operation = Some((places.key.clone(), operation.id));
        self.scratch = Some(places.signing(operation.id));
    }

    /// Makes the id sort after the newest automatic one of the same second.
    pub(in crate::design) fn sort_after_the_last(
        &mut self,
        session: &Session,
        places: &Places,
    ) -> Result<()> {
        let newest = session.repo.refs_below(&ref_names::automatic_of(&places.key))?.pop();
        let name = newest.map(|reference| reference.name.to_string()).unwrap_or_default();
        let last = name.rsplit('/').next().and_then(|id| id.split_once('-'));
        let own = self.short_id.split_once('-').map(|(time, nonce)| (time.to_owned(), nonce));
        if let (Some((last_time, last_nonce)), Some((time, nonce))) = (last, own)
            && last_time == time
            && last_nonce >= nonce
            && let Ok(number) = u32::from_str_radix(last_nonce, 16)
        {
            self.short_id = format!("{time}-{:08x}", number.saturating_add(1));
        }
        Ok(())
    }

    pub(in crate::design) fn id(&self) -> String {
        match self.message.mode {
            Mode::Auto => format!("auto/{}", self.short_id),
            Mode::Branch | Mode::OffBranch => format!("checkpoint/{}", self.short_id),
        }
    }

    /// Returns the short name of its ref, as plain git prints it.
    fn git_ref(&self) -> Option<String> {
        let name = match (self.message.mode, &self.message.operation) {
            (Mode::Auto, None) => return None,
            (Mode::Auto, Some((key, _))) => {
                format!("{}{}", ref_names::automatic_of(key), self.short_id)
            }
            (Mode::Branch | Mode::OffBranch, _) => {
                ref_names::checkpoint(&self.short_id).to_string()
            }
        };
        name.strip_prefix("refs/").map(str::to_owned)
    }

    /// Writes the commit, and the change of the branch if it moves.
    pub(in crate::design) fn commit(
        &self,
        session: &Session,
        kept: &Kept,
    ) -> Result<(Oid, Option<RefChange>)> {
        let mut message = format!("checkpoint: {}", first_line(&self.message.label));
        if !self.message.rationale.is_empty() {
            message = format!("{message}\n\n{}", self.message.rationale);
        }
        if self.message.mode != Mode::Branch {
            let commit = kept.beside(session, &self.signature, message)?;
            return Ok((self.write_commit(session, commit)?, None));
        }
        let head = kept.scan.head.commit();
        if let Some(head) = head.filter(|_| !kept.differs_from_head()) {
            return Ok((head, None));
        }
        let new = NewCommit {
            tree: kept.snapshot.worktree_tree,
            parents: head.into_iter().collect(),
            signature: &self.signature,
            message: session.with_trailers(message),
        };
        let commit = self.write_commit(session, new)?;
        let name = kept.scan.head.moving_ref();
        Ok((commit, Some(RefChange { name, old: head, new: Some(commit) })))
    }

    fn write_commit(&self, session: &Session, commit: NewCommit<'_>) -> Result<Oid> {
        match &self.by {
            Some(by) => {
                let commit = NewCommit { signature: &by.committer, ..commit };
                write_commit(session, commit, &by.author)
            }
            None => session.repo.write_commit(commit),
        }
    }

    /// Writes the tag object; no ref points to it yet.
    pub(in crate::design) fn write_tag(&self, session: &Session, commit: Oid) -> Result<Oid> {
        let (repo, id) = (&session.repo, self.id());
        let new = NewTag {
            name: &id,
            target: commit,
            tagger: &self.signature,
            message: self.message.write(),
        };
        match &self.scratch {
            Some(scratch) if repo.signs_tags()? => {
                repo.write_signed_tag(&session.world, scratch, new)
            }
            _ => repo.write_tag(new),
        }
    }

    /// Writes the tag object; returns the ref changes of a named checkpoint.
    pub(in crate::design) fn tag(&self, session: &Session, commit: Oid) -> Result<Vec<RefChange>> {
        let tag = self.write_tag(session, commit)?;
        let mut names = vec![ref_names::checkpoint(&self.short_id)];
        if session.settings.checkpoint_git_tags {
            names.push(ref_names::checkpoint_tag(&self.short_id));
        }
        let made = |name| RefChange { name, old: None, new: Some(tag) };
        Ok(names.into_iter().map(made).collect())
    }

    pub(in crate::design) fn report(
        &self,
        session: &Session,
        kept: &Kept,
    ) -> Result<CheckpointReport> {
        let (before, after) = (kept.scan.head_tree, kept.snapshot.worktree_tree);
        let files = session.repo.diff_trees(before, after)?.len();
        let mut report = self.report_on(&kept.scan.head, files, kept.left_out.clone());
        report.without_filter = kept.without_filter(session)?;
        Ok(report)
    }

    pub(in crate::design) fn report_on(
        &self,
        head: &Head,
        files: usize,
        left_out: Vec<LeftOut>,
    ) -> CheckpointReport {
        CheckpointReport {
            checkpoint_id: Some(self.id()),
            git_ref: self.git_ref(),
            sha: None,
            label: self.message.label.clone(),
            label_uses: None,
            rationale: self.message.rationale.clone(),
            author: format!("{} <{}>", self.signature.name, self.signature.email),
            created_at: self.created_at.clone(),
            changed: true,
            branch_moved: false,
            branch: head.label(),
            files_changed: files,
            left_out,
            submodules: Vec::new(),
            without_filter: Vec::new(),
            op: None,
            reason: None,
            dry_run: false,
            kind: Kind::Checkpoint,
        }
    }
}

fn first_line(label: &str) -> String {
    let line: String = label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let shown = line.trim();
    if shown.is_empty() { "(no label)".to_owned() } else { shown.to_owned() }
}

//! `git colony map scopes`

use crate::cli::actions::{Effect, Group, Takes, action, as_arg};
use crate::cli::commands::states::checkpoints::age;
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Run, Stop};
use crate::map::pages::scopes::{self, MappedReport, Mapping, ScopeReport, ScopesReport};
use crate::map::pages::unmap::{self, ScopeCopy, UnmapReport, UnmapStatus};
use crate::model::time::Moment;
use crate::repo_map::row::SourceKind;
use crate::store::operation::last_act;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// The scope that an action of pages is about.
pub(in crate::cli) const SCOPE: Takes =
    as_arg("scope_id", "scope").about("Its id, a prefix, or the name of its row");
/// The scope that an action of scopes is about.
const SCOPE_ID: Takes = as_arg("scope_id", "id").about("Its id, a prefix, or the name of its row");

/// List the mapped scopes
///
/// A scope is a mapped row of the repo map. 'sync' shares scopes of the default branch with every clone;
/// those of other branches stay in this worktree.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// Show one scope: its row, its limits, the branch it follows
    Show {
        /// The scope, the name of its row, or the beginning of its id
        #[arg(value_name = "SCOPE")]
        id: String,
    },
    /// Check whether a scope is mapped; the exit code is 1 if it is not
    Mapped {
        /// The scope, by its full id: a prefix or the name of a row does not count
        #[arg(value_name = "SCOPE")]
        id: String,
    },
    /// Unmap a scope; its files stay, and 'git colony undo op-12' restores the mapping
    Unmap {
        /// The scope, the name of its row, or the beginning of its id
        #[arg(value_name = "SCOPE")]
        id: String,
        /// Show what would be done, and change nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("map scopes")
        .lists_by_itself()
        .example("git colony map scopes", "the mapped scopes")
        .example("git colony map scopes unmap default -n", "show what taking it back would do")
        .answers::<ScopesReport>()
        .action(action("list_mapped_scopes", Group::Pages, Effect::Reads))
        .below([
            Declaration::of("map scopes unmap").answers::<UnmapReport>().action(
                action("munmap_scope", Group::Pages, Effect::Adds)
                    .about("Unmap a scope; its files stay, and undo restores the mapping")
                    .takes(&[SCOPE_ID]),
            ),
            Declaration::of("map scopes mapped").answers::<MappedReport>().action(
                action("is_scope_mapped", Group::Pages, Effect::Reads)
                    .about("Check whether a scope is mapped")
                    .takes(&[as_arg("scope_id", "id").about("The full id")]),
            ),
            Declaration::of("map scopes show")
                .answers::<ScopeReport>()
                .action(action("get_scope_status", Group::Pages, Effect::Reads).takes(&[SCOPE_ID])),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    match &args.action {
        None => {
            let session = face.session(Opening::Read)?;
            let report = scopes::list(&session)?;
            face.answer(&report)
        }
        Some(Action::Show { id }) => {
            let session = face.session(Opening::Read)?;
            let report = scopes::show(&session, id)?;
            face.answer(&report)
        }
        Some(Action::Mapped { id }) => {
            let session = face.session(Opening::Read)?;
            let report = scopes::mapped(&session, id)?;
            face.answer(&report)
        }
        Some(Action::Unmap { id, dry_run }) => {
            let session = face.session(Run::from(*dry_run))?;
            let report = unmap::unmap(&session, id)?;
            if report.status == UnmapStatus::Unmapped && report.op.is_none() {
                let command = format!("map scopes unmap {}", report.scope_id);
                last_act::note(&session, command, "git colony map".to_owned());
            }
            face.answer(&report)
        }
    }
}

impl Answer for ScopesReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        text::count(self.count, "scope")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |mapping: &Mapping| {
            let whose = if mapping.syscontext.shared { "shared" } else { "this worktree" };
            vec![
                mapping.scope_id.clone(),
                mapping.source_type.clone(),
                mapping.branch.clone().unwrap_or_default(),
                whose.to_owned(),
                if mapping.stale == Some(true) { "stale" } else { "" }.to_owned(),
            ]
        };
        let mut lines = text::table(&self.mappings.iter().map(row).collect::<Vec<_>>());
        let unreadable = self.unreadable.iter();
        lines.extend(
            unreadable.map(|record| format!("not used: {}: {}", record.name, record.reason)),
        );
        lines
    }
}

impl Answer for ScopeReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let branch = self.revision.branch.as_deref().unwrap_or("no branch");
        let at = match self.frozen {
            Some(commit) => format!("frozen at {}", commit.short()),
            None if self.row.kind == SourceKind::Blackboard => {
                format!("follows {}", self.revision.commit)
            }
            None if self.worktree => format!("follows the working tree on {branch}"),
            None => format!("follows {} of {branch}", self.revision.commit),
        };
        let pages = match self.page_count {
            Some(pages) => text::count(usize::try_from(pages).unwrap_or(usize::MAX), "page"),
            None => "no pages here".to_owned(),
        };
        let stale = if self.stale == Some(true) { ", stale" } else { "" };
        format!("{at}, {pages}{stale}: {}", self.scope_id)
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let config = &self.config;
        let mut lines = vec![
            format!("source: {} ({})", self.row.name, self.row.kind.name()),
            format!(
                "pages: at most {} and {}",
                text::count(count_of(config.flush_threshold), "record"),
                text::count(count_of(config.flush_token_budget), "token")
            ),
            format!("mapped: {}", age(&self.created_at, now)),
        ];
        let commit = self.mapped_commit.iter();
        lines.extend(commit.map(|commit| format!("pages of commit: {commit}")));
        lines.extend(self.revision.origin_url.iter().map(|url| format!("from: {url}")));
        lines
    }
}

fn count_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Answer for MappedReport {
    fn message(&self) -> String {
        let word = if self.mapped { "mapped" } else { "not mapped" };
        format!("{word}: {}", self.scope_id)
    }

    fn narration(&self) -> Vec<String> {
        let meant = self.meant.iter().filter(|_| !self.mapped);
        let line = |id| format!("the id must be given in full, as in: {id}");
        meant.map(line).collect()
    }

    fn outcome(&self) -> Outcome {
        if self.mapped { Outcome::Yes } else { Outcome::No }
    }
}

impl Answer for UnmapReport {
    fn message(&self) -> String {
        let what = match (self.status, self.dry_run) {
            (UnmapStatus::Unmapped, false) => "unmapped",
            (UnmapStatus::Unmapped, true) => "would unmap",
            (UnmapStatus::NotMapped, _) => "not mapped",
        };
        let states: Vec<String> = self.copies.iter().map(|copy| words(*copy).to_owned()).collect();
        let copies = match states.as_slice() {
            [] => String::new(),
            some => format!(" ({})", text::list(some)),
        };
        format!("{what}{copies}: {}", self.scope_id)
    }

    fn narration(&self) -> Vec<String> {
        let is_none = self.status == UnmapStatus::NotMapped;
        let hint = is_none.then(|| "'git colony map scopes' lists the mapped scopes".to_owned());
        hint.into_iter().collect()
    }
}

fn words(copy: ScopeCopy) -> &'static str {
    match copy {
        ScopeCopy::Local => "the record of this worktree",
        ScopeCopy::Shared => "the shared record",
        ScopeCopy::Pages => "the pages here",
    }
}

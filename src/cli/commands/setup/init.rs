//! `git colony init`

use std::path::Path;

use crate::cli::actions::{Effect, Group, How, action, how, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop};
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::init::{self, InitReport, InitStatus, Request, WantedLfs};
use crate::model::text::shell_word;
use crate::model::time::Moment;
use crate::model::{Code, Error};
use crate::repo_map::data_globs::DataGlob;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::deinit;
use super::lfs_migrate::{publication, replaced};

/// Set this repository up: manifest, map, git-lfs; or remove that
///
/// Commits `.colony/` and a `.gitattributes`, and nothing else, whatever is staged, and sets git-lfs up
/// here. Existing files stay as they are. Nothing is pushed without --push. Committed files that a pattern
/// matches stay in git, by lines of their own in `.gitattributes`; --migrate-existing-to-lfs moves them to
/// git-lfs by rewriting history (see 'lfs migrate'). All other commands work without it.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Where the repository is (default: the URL of origin)
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The colony it belongs to
    #[arg(long, value_name = "NAME")]
    colony: Option<String>,
    /// Keep large files in git-lfs (the default, unless the manifest turns it off)
    #[arg(long, conflicts_with = "no_lfs")]
    lfs: bool,
    /// Leave git-lfs out: no patterns, no filters
    #[arg(long)]
    no_lfs: bool,
    /// Push the branch to origin afterward: this allows pushing there until its URL changes
    #[arg(long, conflicts_with_all = ["push_if_allowed", "no_push"])]
    push: bool,
    /// Push only if a person has allowed pushing to this URL before, by --push
    #[arg(long, conflicts_with = "no_push")]
    push_if_allowed: bool,
    /// Push nothing; this is the default
    #[arg(long)]
    no_push: bool,
    /// Move committed large files to git-lfs by rewriting history here; 'git colony undo' takes it back
    #[arg(long, conflicts_with = "no_lfs")]
    migrate_existing_to_lfs: bool,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    Remove(deinit::Args),
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("init", Section::Keep, Screen::First)
        .example("git colony init -n", "show what would be set up")
        .example("git colony init", "set the repository up, in one commit")
        .answers::<InitReport>()
        .action(
            action(
                "initialize_repo_map",
                Group::Repository,
                Effect::PublishesUnlessNot("push", "migrate_existing_to_lfs"),
            )
            .about(
                "Set this repository up by one commit: manifest, map, git-lfs. Pages do not need \
                 it",
            )
            .takes(&[
                how("push", How::Either("push_if_allowed", "no_push")),
                how("enable_lfs", How::Either("lfs", "no_lfs"))
                    .about("Unless the manifest turns it off"),
                same("migrate_existing_to_lfs"),
            ]),
        )
        .below([deinit::declaration()])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    if let Some(Action::Remove(args)) = args.action {
        return deinit::run(face, &args);
    }
    let session = face.session(Run::from(args.dry_run)).map_err(|error| {
        let url = args.url.as_deref();
        without_repository(error, url, &face.env.world.cwd)
    })?;
    let request = Request {
        url: args.url,
        colony: args.colony,
        lfs: match (args.lfs, args.no_lfs) {
            (true, _) => WantedLfs::Lfs,
            (_, true) => WantedLfs::NoLfs,
            _ => WantedLfs::AsRecorded,
        },
        push: publication(args.push, args.push_if_allowed),
        migrate: args.migrate_existing_to_lfs,
    };
    let report = init::init(&session, &request)?;
    face.answer(&report)
}

/// Says what helps where there is no repository to set up: a URL alone makes none.
fn without_repository(error: Error, url: Option<&str>, cwd: &Path) -> Error {
    let Some(url) = url.filter(|_| error.code() == Code::NotARepository) else {
        return error;
    };
    let message = format!("not a git repository: '{}', and '--url' makes none", cwd.display());
    // The URL that is shown has no token in it.
    let url = RemoteUrl::parse(url, Provenance::User, cwd)
        .map_or_else(|_| "URL".to_owned(), |url| shell_word(&url.in_full()));
    Error::new(Code::NotARepository, message)
        .hint(format!("git clone {url}   # then run 'git colony init' in it"))
}

impl Answer for InitReport {
    fn message(&self) -> String {
        let files = text::count(self.files_created.len(), "file");
        match (self.status, self.dry_run, self.committed_sha) {
            (InitStatus::AlreadyInitialized, ..) if self.set_up.is_empty() => {
                "everything is set up already".to_owned()
            }
            (InitStatus::AlreadyInitialized, true, _) => {
                "would set up the missing parts here; every file exists".to_owned()
            }
            (InitStatus::AlreadyInitialized, false, _) => {
                "set up the missing parts here; every file existed".to_owned()
            }
            (InitStatus::Initialized, true, _) => format!("would commit {files}"),
            (InitStatus::Initialized, false, sha) => {
                format!("committed {files} in {}", text::short(sha))
            }
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines: Vec<String> =
            self.files_created.iter().map(|path| format!("  {path}")).collect();
        let verb = if self.dry_run { "would set up" } else { "set up" };
        lines.extend(self.set_up.iter().map(|what| format!("{verb} here: {what}")));
        lines.extend(self.large_files());
        lines.extend(self.data());
        for flag in &self.unused_flags {
            lines.push(format!(
                "{flag} changed nothing: .colony/manifest.json is kept as it is, and edited by hand"
            ));
        }
        lines.extend(self.would_migrate.iter().cloned());
        match (&self.migrate_error, self.migrated_to_lfs) {
            (Some(error), _) => lines.push(format!("history is not rewritten: {error}")),
            (None, true) if self.history_rewritten => {
                lines.push("history is rewritten: git-lfs has its large files".to_owned());
            }
            (None, true) => lines.push("git-lfs has the large files of all history".to_owned()),
            (None, false) => {}
        }
        let was_there = self.migrated_to_lfs && !self.history_rewritten && self.op.is_none();
        match (&self.push_error, self.pushed) {
            (Some(error), _) => lines.push(format!("not pushed: {error}")),
            (None, true) if was_there => lines.push("origin has all of it".to_owned()),
            (None, true) => lines.push("pushed to origin".to_owned()),
            (None, false) => {}
        }
        lines.extend(replaced(&self.replaces, self.push_command));
        if self.op.is_some() && self.migrated_to_lfs {
            lines.push("to undo the rewriting: git colony undo".to_owned());
        } else if self.op.is_some() {
            lines.push("to undo the commit: git colony undo".to_owned());
            if !self.set_up.is_empty() {
                lines.push("to undo the rest: git colony init remove".to_owned());
            }
        }
        lines
    }

    fn outcome(&self) -> Outcome {
        let is_refused = self.push_error.as_deref().is_some_and(|error| error != "no-consent");
        if is_refused || self.migrate_error.is_some() { Outcome::No } else { Outcome::Yes }
    }
}

impl InitReport {
    /// Lists the data that has much of the text of the tree.
    fn data(&self) -> Vec<String> {
        if self.proposed_globs.is_empty() {
            return Vec::new();
        }
        let row = |glob: &DataGlob| {
            let files = text::count(glob.files, "file");
            vec![
                format!("  {}", glob.glob),
                format!("{} %", glob.percent),
                format!("{} in {files}", text::size(glob.bytes)),
            ]
        };
        let rows: Vec<_> = self.proposed_globs.iter().map(row).collect();
        let mut lines = vec!["attention: much of the text of this tree is data:".to_owned()];
        lines.extend(text::table(&rows));
        lines.push(
            "'git colony map' cuts it into pages, too, unless you uncomment the globs for it in .colony/repo_map.yaml"
                .to_owned(),
        );
        lines
    }

    /// Lists the lines that a file of another owner lacks: once, and when asked for.
    fn proposed_lines(&self) -> Vec<String> {
        let none = "attention: git-lfs gets no file: .gitattributes is kept as it is, and no line of it names git-lfs";
        if self.lines_were_shown && !self.dry_run {
            return vec![format!("{none}; lines to add: git colony init -n")];
        }
        let mut lines = vec![format!("{none}; lines to add at its end:")];
        lines.extend(self.lines_to_add.iter().map(|line| format!("  {line}")));
        lines
    }

    /// Says which files stay in git although a pattern matches, and which patterns are not written.
    fn exempt_lines(&self) -> Vec<String> {
        /// The maximum number of names.
        const FEW: usize = 5;
        let mut lines = Vec::new();
        if !self.exempt.is_empty() {
            let files = text::count(self.exempt.len(), "file");
            let (stays, lines_of) = match self.exempt.len() {
                1 => ("stays", "a line of its own"),
                _ => ("stay", "lines of their own"),
            };
            lines.push(format!(
                "{files} committed before {stays} in git, by {lines_of} in .gitattributes:"
            ));
            let few = self.exempt.iter().take(FEW);
            lines.extend(few.map(|path| format!("  {path}")));
            let more = self.exempt.len().saturating_sub(FEW);
            if more > 0 {
                lines.push(format!("  and {more} more"));
            }
        }
        for left_out in &self.patterns_left_out {
            lines.push(format!("left out: {}, since {}", left_out.pattern, left_out.why.to_text()));
        }
        if !lines.is_empty() {
            lines.push(
                "move all of them to git-lfs, in all of history: git colony lfs migrate".to_owned(),
            );
        }
        lines
    }

    /// Says what becomes of large files.
    fn large_files(&self) -> Vec<String> {
        let mut lines = Vec::new();
        match (&self.lfs_error, self.lfs_enabled) {
            (Some(error), _) => lines.push(format!(
                "attention: {error}; install it and run 'git colony init --lfs'"
            )),
            (None, true) if self.lines_to_add.is_empty() => {
                lines.push("from now on git-lfs stores large formats".to_owned());
            }
            (None, true) => lines.extend(self.proposed_lines()),
            (None, false) if self.lfs_kept_off => lines.push(
                "large files stay in git, as .colony/manifest.json says; otherwise: git colony init --lfs"
                    .to_owned(),
            ),
            (None, false) => {}
        }
        if self.lines_to_add.is_empty() {
            lines.extend(self.exempt_lines());
        }
        if !self.would_dirty.is_empty() && self.would_migrate.is_empty() {
            let files = text::count(self.would_dirty.len(), "file");
            let (matches, stays) = match self.would_dirty.len() {
                1 => ("matches", "stays as it is"),
                _ => ("match", "stay as they are"),
            };
            lines.push(format!(
                "{files} committed before {matches} a pattern of git-lfs and {stays}; git calls it \
                 modified once it looks inside again (after a touch, say)"
            ));
            lines.push(
                "convert them from now on: git add --renormalize . && git commit   # history stays"
                    .to_owned(),
            );
            lines.push("or leave them: each is converted when it is next edited".to_owned());
        }
        lines
    }
}

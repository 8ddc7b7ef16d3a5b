//! `git colony knowledge`

use crate::cli::actions::{Effect, Group, How, action, how, same};
use crate::cli::commands::states::checkpoints::age;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Run, Stop, typed_path};
use crate::knowledge::clear::{self, Choice, ClearReport, ClearedSource};
use crate::knowledge::listing::{self, KnowledgeReport, KnowledgeSource};
use crate::model::Result;
use crate::model::time::Moment;
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::{ingest, promote};

/// Keep documents in a knowledge base of all clones; list them
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    Ingest(ingest::Args),
    Promote(promote::PromoteArgs),
    Demote(promote::DemoteArgs),
    /// Delete documents from the knowledge base; their files stay, and 'git colony undo' restores them
    Clear(ClearArgs),
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct ChoiceArgs {
    /// Documents: paths, or names as in 'repo:docs/a.md'
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    /// All whose path begins with PREFIX: from the current directory, as SOURCE, or as in 'repo:docs/'
    #[arg(long, value_name = "PREFIX", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    prefix: Option<String>,
    /// All that the routing row N of the map matches, from 1
    #[arg(long, value_name = "N")]
    row: Option<usize>,
    /// Versions that no branch has, of those that are known here
    #[arg(long)]
    unused: bool,
}

#[derive(Debug, clap::Args)]
struct ClearArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Show what would be deleted, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("knowledge", Section::Inspect, Screen::All)
        .example("git colony knowledge", "the documents of the knowledge base")
        .example(
            "git colony knowledge clear --prefix docs/",
            "delete those of a directory from it; undo restores them",
        )
        .answers::<KnowledgeReport>()
        .action(
            action("list_knowledge", Group::Pages, Effect::Reads)
                .about("List the documents of the knowledge base"),
        )
        .below([ingest::declaration(), promote::declaration(), promote::demote_declaration()])
        .below([Declaration::of("knowledge clear").answers::<ClearReport>().action(
            action("clear_knowledge", Group::Pages, Effect::Adds)
                .about(
                    "Delete documents from the knowledge base, by path, prefix or row of the map",
                )
                .takes(&[
                    same("sources").about("Paths, or names as in 'repo:docs/a.md'"),
                    same("prefix")
                        .about("Of paths from the current directory, or as in 'repo:docs/'"),
                    how("row", How::Number("row", None))
                        .about("What this routing row matches, from 1"),
                    same("unused").about("Known versions that no branch has"),
                ]),
        )])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.action {
        None => {
            let session = face.session(Opening::Read)?;
            let report = listing::list(&session)?;
            face.answer(&report)
        }
        Some(Action::Ingest(args)) => ingest::run(face, args),
        Some(Action::Promote(args)) => promote::promote(face, &args),
        Some(Action::Demote(args)) => promote::demote(face, &args),
        Some(Action::Clear(args)) => run_clear(face, args),
    }
}

fn run_clear(face: &mut Face<'_>, args: ClearArgs) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let ChoiceArgs { sources, prefix, row, unused } = args.choice;
    let choice = match (prefix, row) {
        _ if unused => Choice::Unused,
        (Some(prefix), _) => Choice::Prefix(prefix_from_root(&session, prefix)?),
        (None, Some(row)) => Choice::Row(row),
        (None, None) => {
            let names = sources.into_iter().map(|source| {
                if source.starts_with("repo:") {
                    return Ok(source);
                }
                let path = typed_path::repo_path(&session, source.as_ref())?;
                Ok(crate::knowledge::stored::record::source_uri(&path))
            });
            Choice::Named(names.collect::<Result<_>>()?)
        }
    };
    let report = clear::clear(&session, &choice)?;
    face.answer(&report)
}

/// Returns the beginning of paths from the root of the repository.
fn prefix_from_root(session: &Session, typed: String) -> Result<String> {
    if typed.starts_with("repo:") {
        return Ok(typed);
    }
    let path = typed_path::repo_path(session, typed.as_ref())?;
    let is_folder = typed.ends_with('/') && !path.as_bytes().is_empty();
    let end = if is_folder { "/" } else { "" };
    Ok(format!("{}{end}", crate::knowledge::stored::record::source_uri(&path)))
}

impl Answer for KnowledgeReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let documents = text::count(self.count, "document");
        let chunks = text::count(self.chunks, "chunk");
        let tokens = text::count(self.tokens, "token");
        format!("{documents} in the knowledge base: {chunks}, {tokens}")
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let row = |source: &KnowledgeSource| {
            let notes = [(source.stale, "stale"), (source.unrouted == Some(true), "unrouted")]
                .into_iter()
                .filter(|(is_so, _)| *is_so)
                .map(|(_, note)| note);
            vec![
                source.path.to_string(),
                source.data_type.clone(),
                text::count(source.chunks, "chunk"),
                text::count(source.tokens, "token"),
                age(&source.ingested_at, now),
                notes.collect::<Vec<_>>().join(", "),
            ]
        };
        let mut lines = text::table(&self.sources.iter().map(row).collect::<Vec<_>>());
        let unreadable = self.unreadable.iter();
        lines.extend(
            unreadable.map(|record| format!("not used: {}: {}", record.name, record.reason)),
        );
        lines
    }
}

impl Answer for ClearReport {
    fn message(&self) -> String {
        if let Some(problem) = &self.problem {
            return problem.clone();
        }
        let verb = if self.dry_run { "would clear" } else { "cleared" };
        let documents = text::count(self.count, "document");
        format!("{verb} {documents} from the knowledge base")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |source: &ClearedSource| {
            let chunks = text::count(source.chunks, "chunk");
            vec![source.path.to_string(), chunks]
        };
        text::table(&self.cleared.iter().map(row).collect::<Vec<_>>())
    }

    fn outcome(&self) -> Outcome {
        match self.problem {
            Some(_) => Outcome::No,
            None => Outcome::Yes,
        }
    }
}

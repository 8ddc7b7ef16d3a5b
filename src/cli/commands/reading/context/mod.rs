//! `git colony context`

mod hydrate;
mod tiers;

use std::path::{Path, PathBuf};

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::reading::pages;
use crate::cli::commands::reading::projects;
use crate::cli::commands::reading::scopes::SCOPE;
use crate::cli::commands::reading::search::{FilesArgs, MAPPED_WORKTREE, partial_note};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Stop, typed_path};
use crate::context::assembly::{self, TaskRequest};
use crate::model::text::shell_word;
use crate::model::{self, Code, Error, RepoPath};
use crate::search::absence;
use crate::search::context::{self, About, ContextReport, ContextRequest, MAX_BUDGET};
use crate::store::Session;
use crate::store::settings::projects::{ContextView, unknown_view};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// The tokens of a context without a plan.
const DEFAULT_BUDGET: usize = 4_000;

/// Print what a question is about, within a number of tokens
///
/// The best passages of the mapped files and their surroundings, as one text for a prompt: for each part a line with its
/// file and lines, and then these lines. The text has at most the tokens of the budget, counted exactly, and is in the
/// order of paths, so that most of it stays the same when a file changes. With paths instead of a question, these
/// files are printed, then the definitions of what they use, and then related files.
///
/// '--budget' limits this one text. 'colony.context.hotTokens' limits the files in the hot tier of a project, from which a
/// plan's text is taken, and 'colony.context.budgetTokens' the pages that an agent has requested: neither limits the text.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The question, in plain words
    #[arg(required_unless_present_any = ["question", "paths", "all", "plan", "view", "skeleton"])]
    words: Vec<String>,
    /// The question, if it is a single word that is a command
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["words", "all"])]
    question: Option<String>,
    /// Print these files, or those of these directories, then what they use and related files; with a question, search
    /// only them
    #[arg(last = true, value_name = "PATH", conflicts_with = "all")]
    paths: Vec<PathBuf>,
    /// Print all mapped files, from the first on
    #[arg(long, conflicts_with = "words")]
    all: bool,
    /// The maximum number of tokens (default: 4,000; of a plan its own, else 3,584)
    #[arg(long, value_name = "N", value_parser = budget)]
    budget: Option<usize>,
    /// Print the best of the files of the plan NAME for the question, in the order of paths; they are hydrated before
    #[arg(long, value_name = "NAME", conflicts_with_all = ["paths", "all"])]
    plan: Option<String>,
    /// As VIEW sees the plan: default, strategize, execute or apply (default: the view of the plan)
    #[arg(long, value_name = "VIEW", value_parser = view, conflicts_with_all = ["paths", "all"])]
    view: Option<ContextView>,
    /// Do not read the files of the plan again: print what the tiers have and has not changed
    #[arg(long, conflicts_with_all = ["paths", "all"])]
    no_hydrate: bool,
    /// Print only headings and first lines of definitions of what the plan's context has, within RATIO of the budget, as
    /// for the context of a child plan: 0.15 (more than 0, at most 1)
    #[arg(long, value_name = "RATIO", value_parser = ratio, conflicts_with_all = ["paths", "all"])]
    skeleton: Option<f64>,
    /// Leave out the pages that are resident already
    #[arg(long)]
    exclude_resident: bool,
    #[command(flatten)]
    files: FilesArgs,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Command {
    Hydrate(hydrate::Args),
    List(tiers::ListArgs),
    Stats(tiers::StatsArgs),
    Gc(tiers::GcArgs),
    Flush(tiers::FlushArgs),
    Projects(projects::Args),
    Plans(projects::PlansArgs),
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("context", Section::Inspect, Screen::All)
        .example(
            "git colony context how is a header parsed --budget 4000",
            "the passages about it, for a prompt",
        )
        .example(
            "git colony context --budget 8000 -- src",
            "the files of a directory and related ones",
        )
        .answers::<ContextReport>()
        .action(
            action("context", Group::Pages, Effect::Reads)
                .about(
                    "Search code in the repository for what a question is about: the best \
                     passages as one text, with sources. 'paths': these and related files",
                )
                .takes(&[
                    as_arg("query", "question").or("question").plain(),
                    same("paths").plain(),
                    same("all").about("All mapped files"),
                    as_arg("budget_tokens", "budget")
                        .about("Default: one answer of a tool, else 4,000"),
                    same("plan").about("Print the files of this plan"),
                    same("view").about("Of the plan"),
                    same("skeleton").about("An outline in this share of the budget"),
                    same("exclude_resident").about("Leave out the pages of your resident set"),
                    SCOPE,
                    as_arg("globs", "path").about("Of paths"),
                    as_arg("in", "origin").plain(),
                    same("data_type").about("As for search"),
                    MAPPED_WORKTREE,
                ]),
        )
        .below([
            hydrate::declaration(),
            tiers::flush_declaration(),
            tiers::gc_declaration(),
            tiers::list_declaration(),
            tiers::stats_declaration(),
            projects::declaration(),
            projects::plans_declaration(),
        ])
}

fn view(text: &str) -> Result<ContextView, String> {
    ContextView::named(text).ok_or_else(|| unknown_view(text))
}

fn ratio(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|ratio| *ratio > 0.0 && *ratio <= 1.0);
    number.ok_or_else(|| "expected a number above 0 and at most 1, as in 0.15".to_owned())
}

fn budget(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number <= MAX_BUDGET);
    number.ok_or_else(|| format!("expected a number of tokens from 0 to {MAX_BUDGET}"))
}

pub(in crate::cli) fn run(face: &mut Face<'_>, mut args: Args) -> Result<Outcome, Stop> {
    match args.command.take() {
        None => print(face, args),
        Some(Command::Hydrate(args)) => hydrate::run(face, args),
        Some(Command::List(args)) => tiers::list(face, args),
        Some(Command::Stats(_)) => tiers::stats(face),
        Some(Command::Gc(args)) => tiers::gc(face, &args),
        Some(Command::Flush(args)) => tiers::flush(face, &args),
        Some(Command::Projects(args)) => projects::run(face, args),
        Some(Command::Plans(_)) => projects::run_plans(face),
    }
}

fn print(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let is_of_plan = args.plan.is_some() || args.view.is_some() || args.skeleton.is_some();
    // As 'map' and 'context hydrate' do, which it does first.
    let stores = (is_of_plan && !args.no_hydrate) || args.files.refreshes();
    let session = face.session(if stores { Opening::ForReal } else { Opening::Read })?;
    if is_of_plan || args.no_hydrate {
        let words = Some(args.words.join(" ")).filter(|words| !words.is_empty());
        let report = assembly::assemble(
            &session,
            &TaskRequest {
                plan: args.plan,
                view: args.view,
                question: args.question.or(words),
                budget: args.budget,
                hydrates: !args.no_hydrate,
                skeleton: args.skeleton,
            },
        )?;
        return face.answer(&report);
    }
    let typed = args.paths.iter().map(|path| typed_path::repo_path(&session, path));
    let paths: Vec<RepoPath> = typed.collect::<Result<_, _>>()?;
    let mut files = args.files.files(&session)?;
    let asks = args.question.is_some() || !args.words.is_empty();
    let about = if args.all {
        About::All
    } else if paths.is_empty() || asks {
        let named = || paths.iter().filter(|path| !path.as_bytes().is_empty());
        for path in named() {
            require_file(&session, path)?;
        }
        files.globs.extend(named().flat_map(at_or_below));
        About::Question(args.question.unwrap_or_else(|| args.words.join(" ")))
    } else {
        About::Paths(paths)
    };
    if let [word] = args.words.as_slice()
        && let Some(note) = file_note(&session, word)
    {
        (session.world.narrate)(&note);
    }
    let request = ContextRequest {
        about,
        files,
        budget: args.budget.unwrap_or(DEFAULT_BUDGET),
        excludes_resident: args.exclude_resident,
    };
    let report = context::context(&session, &request)?;
    face.answer(&report)
}

/// Refuses a path where neither HEAD nor the working tree has a file: an option after `--`, say.
fn require_file(session: &Session, path: &RepoPath) -> model::Result<()> {
    let tree = session.repo.tree_of(session.repo.head()?.commit())?;
    let is_committed = session.repo.entry_in(tree, path.as_path())?.is_some();
    if is_committed || path.under(session.repo.workdir()).symlink_metadata().is_ok() {
        return Ok(());
    }
    Err(Error::new(Code::PathNotFound, format!("no file is at or below '{path}'"))
        .hint("git colony map tree   # the mapped files; options come before '--'"))
}

/// Returns the globs of a file, or of the files of a directory.
fn at_or_below(path: &RepoPath) -> [String; 2] {
    let mut plain = String::new();
    for letter in path.to_string().chars() {
        if "*?[]{}!\\".contains(letter) {
            plain.push('\\');
        }
        plain.push(letter);
    }
    [plain.clone(), format!("{plain}/**")]
}

/// Returns a note on a question that is the path of a file.
fn file_note(session: &Session, word: &str) -> Option<String> {
    let path = typed_path::repo_path(session, Path::new(word)).ok()?;
    let there = path.under(session.repo.workdir()).symlink_metadata();
    let is_there = there.is_ok() && !path.as_bytes().is_empty();
    let word = shell_word(word);
    is_there.then(|| {
        format!("'{path}' is a path, and was taken for a question; its text: git colony context -- {word}")
    })
}

impl Answer for ContextReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        if let Some(nothing) = self.nothing {
            return pages::nothing(nothing);
        }
        let parts = text::count(self.count, "part");
        let left_out = match self.left_out {
            0 => String::new(),
            some => format!("; {} did not fit", text::count(some, "more passage")),
        };
        let needed =
            self.needed_tokens.map(|needed| format!("; '--budget {needed}' has space for one"));
        let absent = self.absent.as_ref().map(|name| format!("; {}", absence(name)));
        format!(
            "{parts}, {} of {} tokens{left_out}{}{}",
            self.used_tokens,
            self.budget_tokens,
            needed.unwrap_or_default(),
            absent.unwrap_or_default()
        )
    }

    fn line(&self) -> String {
        // Standard output is for a prompt: the text and no note on it.
        String::new()
    }

    fn narration(&self) -> Vec<String> {
        let mut lines = pages::narration(&self.stale_scopes);
        lines.extend(partial_note(self.partial, self.building));
        lines.push(self.message());
        lines
    }

    fn verbatim(&self) -> Option<&str> {
        Some(&self.text)
    }

    fn outcome(&self) -> Outcome {
        // A budget of nothing is an answer of nothing.
        if self.count == 0 && self.budget_tokens > 0 { Outcome::No } else { Outcome::Yes }
    }
}

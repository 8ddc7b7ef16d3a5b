//! `git colony context`

use std::path::{Path, PathBuf};

use crate::cli::search::FilesArgs;
use crate::cli::{Face, Run, Stop, pages, typed_path};
use crate::flow::search::context::{self, About, ContextReport, ContextRequest, MAX_BUDGET};
use crate::model::text::shell_word;
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Print what a question is about, within a number of tokens
///
/// The best passages of the mapped files and their surroundings, as one text for a prompt: for each part a line with its
/// file and lines, and then these lines. The text has at most the tokens of the budget, counted exactly, and is in the
/// order of paths, so that most of it stays the same when a file changes. With paths instead of a question, these
/// files are printed, then the definitions of what they use, and then related files.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The question; it is data, as in 'git colony search'
    #[arg(required_unless_present_any = ["question", "paths", "all"])]
    words: Vec<String>,
    /// The question, if it is a single word that might be a command later
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["words", "paths", "all"])]
    question: Option<String>,
    /// Print these files, or those of these directories, then what they use and related files
    #[arg(last = true, value_name = "PATH", conflicts_with_all = ["words", "all"])]
    paths: Vec<PathBuf>,
    /// Print all mapped files, from the first on
    #[arg(long, conflicts_with = "words")]
    all: bool,
    /// The maximum number of tokens
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = budget)]
    budget: usize,
    /// Leave out the pages that are resident already
    #[arg(long)]
    exclude_resident: bool,
    #[command(flatten)]
    files: FilesArgs,
}

fn budget(text: &str) -> Result<usize, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=MAX_BUDGET).contains(number));
    number.ok_or_else(|| format!("expected a number of tokens from 1 to {MAX_BUDGET}"))
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::ForReal)?;
    let paths = args
        .paths
        .iter()
        .map(|path| typed_path::repo_path(&session, path));
    let about = if args.all {
        About::All
    } else if args.paths.is_empty() {
        About::Question(args.question.unwrap_or_else(|| args.words.join(" ")))
    } else {
        About::Paths(paths.collect::<Result<_, _>>()?)
    };
    if let [word] = args.words.as_slice()
        && let Some(note) = file_note(&session, word)
    {
        (session.world.narrate)(&note);
    }
    let request = ContextRequest {
        about,
        files: args.files.files(&session)?,
        budget: args.budget,
        excludes_resident: args.exclude_resident,
    };
    let report = context::context(&session, &request)?;
    face.answer(&report)
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
        let needed = self
            .needed_tokens
            .map(|needed| format!("; '--budget {needed}' has space for one"));
        format!(
            "{parts}, {} of {} tokens{left_out}{}",
            self.used_tokens,
            self.budget_tokens,
            needed.unwrap_or_default()
        )
    }

    fn line(&self) -> String {
        // Standard output is for a prompt: the text and no note on it.
        String::new()
    }

    fn narration(&self) -> Vec<String> {
        let mut lines = pages::narration(&self.stale_scopes);
        lines.push(self.message());
        lines
    }

    fn verbatim(&self) -> Option<&str> {
        Some(&self.text)
    }

    fn outcome(&self) -> Outcome {
        if self.count == 0 {
            Outcome::No
        } else {
            Outcome::Yes
        }
    }
}

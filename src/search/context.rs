//! `context`: the passages that a question is about, with their surroundings, as one text within a number of tokens.
//!
//! The best passages fill most of the budget, then those before and after them, then further ones. The text is in the
//! order of scopes, paths and lines, not of scores: when a file changes, or the question a little, most of it stays
//! where it is, which caches of models reward. The same files and question give the same text.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::map::pages::no_pages::NoPages;
use crate::map::residency::PageState;
use crate::model::{RepoPath, Result, escape};
use crate::page::pages::PageId;
use crate::search::index::query::{Query, Syntax};
use crate::store::Session;
use crate::store::settings::projects::ContextView;
use crate::store::state::Tier;
use crate::text::tokenizer::Tokenizer;

use super::context_text::{Fitted, Packing};
use super::first_question::Partial;
use super::indexing::IndexKept;
use super::partly::Wanted;
use super::{SearchedFiles, candidates, indexing};

/// The largest budget.
pub const MAX_BUDGET: usize = 10_000_000;

/// What a context is about.
#[derive(Clone, Debug)]
pub enum About {
    /// The passages that this question is about.
    Question(String),
    /// These files and directories, then the definitions of what they use, and the files that they are related to.
    Paths(Vec<RepoPath>),
    /// All files.
    All,
}

/// A context to make.
#[derive(Clone, Debug)]
pub struct ContextRequest {
    /// What it is about.
    pub about: About,
    /// The files to take it from.
    pub files: SearchedFiles,
    /// The maximum number of tokens of the text.
    pub budget: usize,
    /// Whether resident pages of the agent are left out.
    pub excludes_resident: bool,
}

/// Why a part is in a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartOrigin {
    /// It was asked for: by its path, or with all files.
    Requested,
    /// It matches the question.
    Match,
    /// It is before or after a part that matches.
    Surroundings,
    /// It defines what a file uses that was asked for.
    Definition,
    /// It is related to a file that was asked for.
    Related,
    /// It is of a file of the plan that a mapped scope has with this content.
    Scope,
    /// It is of another file of the plan.
    Hydrated,
}

/// A part of a context: lines of a file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ContextPart {
    /// The file, from the root of its repository.
    pub path: RepoPath,
    /// The scope; null for a document of the knowledge base.
    pub scope_id: Option<String>,
    /// The page of the scope in which it begins; null if there is none.
    #[schemars(with = "Option<String>")]
    pub page_id: Option<PageId>,
    /// Its first byte in the text of the file.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// Its first line, from 1; null where lines of the text are not lines of the file.
    pub start_line: Option<usize>,
    /// Its last line.
    pub end_line: Option<usize>,
    /// The page of the document on which it begins, from 1; null if it has no pages.
    pub page: Option<usize>,
    /// The heading or definition of its line that matches best, else that in which it begins; null if there is none.
    pub section: Option<String>,
    /// The tokens of its text and of the line above it.
    pub tokens: usize,
    /// The score of its best passage; null if nothing was ranked.
    pub score: Option<f64>,
    /// Why it is there.
    pub from: PartOrigin,
    /// Whether the file is not committed as it is: it is shown as in the working tree.
    pub uncommitted: bool,
    /// The fragment it is of, in a context of a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment_id: Option<String>,
    /// The tier that has the fragment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
}

/// A file that matches a question, and has no part in the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NextFile {
    /// The file, from the root of its repository.
    pub path: RepoPath,
    /// Its line that matches best, from 1; null where none does, as only the history leads there, or where lines of the
    /// text are not lines of the file.
    pub line: Option<usize>,
    /// The beginning of that line.
    pub text: String,
}

impl NextFile {
    /// Returns the line of the context that names it.
    pub(super) fn written(&self) -> String {
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}\n", escape::line(&self.path.to_string()))
    }
}

/// A context.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextReport {
    /// The text: for each part a line with its source, and its lines.
    pub text: String,
    /// The tokens of the text, exactly.
    pub used_tokens: usize,
    /// The maximum number.
    pub budget_tokens: usize,
    /// The parts, in the order of the text.
    pub parts: Vec<ContextPart>,
    /// Their number.
    pub count: usize,
    /// The next files that match a question, the best first: the end of the text names them.
    pub next_files: Vec<NextFile>,
    /// The number of passages that match, or were requested, and did not fit.
    pub left_out: usize,
    /// A budget that has space for one passage, if none fits; null if some do.
    pub needed_tokens: Option<usize>,
    /// The number of files that were added to the index.
    pub indexed: usize,
    /// Whether files have changed since they were mapped: the text is theirs as it was.
    pub stale: bool,
    /// The scopes of these files.
    pub stale_scopes: Vec<String>,
    /// Whether it is taken from the files whose paths and lines match best by `git grep`: the index is not there yet.
    pub partial: bool,
    /// Whether the index is being built: the same question again will be complete.
    pub building: bool,
    /// Why there is nothing to take it from; null if there is.
    pub nothing: Option<NoPages>,
    /// The identifier that the question consists of, if no searched file has it: the parts are only similar. It is not
    /// looked for in a plan.
    pub absent: Option<String>,
    /// The plan, if it was made for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskContext>,
}

/// The plan of a context.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TaskContext {
    /// The plan.
    pub plan: String,
    /// The view.
    pub view: ContextView,
    /// The projects of the plan.
    pub projects: Vec<String>,
    /// The number of files that were not read: `context hydrate` lists them.
    pub skipped: usize,
    /// The number of files in the tiers with other content now, which are left out; only with `--no-hydrate`.
    pub stale: usize,
    /// Whether the files of a project were too large together.
    pub stopped: bool,
    /// The share of the budget for an outline of the text in its place; null for the text.
    pub skeleton: Option<f64>,
}

/// Makes a context.
pub fn context(session: &Session, request: &ContextRequest) -> Result<ContextReport> {
    indexing::again_if_unusable(session, |kept| context_once(session, request, kept))
}

fn context_once(
    session: &Session,
    request: &ContextRequest,
    kept: IndexKept,
) -> Result<ContextReport> {
    let query;
    let wanted = match &request.about {
        About::Question(question) => {
            query = Query::parse(question, Syntax::Data);
            Wanted::Question(&query)
        }
        About::Paths(paths) => Wanted::Below(paths),
        About::All => Wanted::All,
    };
    let mut searched = candidates::open(session, &request.files, kept, wanted)?;
    if matches!(request.about, About::Question(_)) {
        searched = searched.with_histories()?;
    }
    let resident = resident_pages(session, request.excludes_resident);
    let mut packing = Packing::new(&searched, request.budget, resident);
    match &request.about {
        About::Question(question) => packing.answer(question)?,
        About::Paths(paths) => packing.pack_paths(paths)?,
        About::All => packing.pack_all()?,
    }
    let Fitted { text, parts, next, left_out, needed, absent } = packing.fitted()?;
    Ok(ContextReport {
        used_tokens: Tokenizer::default().count(&text),
        text,
        budget_tokens: request.budget,
        count: parts.len(),
        needed_tokens: needed,
        parts,
        next_files: next,
        left_out,
        indexed: searched.indexed,
        stale: !searched.stale_scopes.is_empty(),
        stale_scopes: searched.stale_scopes,
        partial: searched.partial.is_some(),
        building: searched.partial == Some(Partial::Building),
        nothing: searched.nothing,
        absent,
        task: None,
    })
}

fn resident_pages(session: &Session, excludes: bool) -> BTreeSet<PageId> {
    if !excludes {
        return BTreeSet::new();
    }
    PageState::of(session).resident_pages().collect()
}

//! `context --plan`: the files of a plan as one text within a budget.
//!
//! The tiers are hydrated first. With a question the passages that match it are candidates, from every tier; without one
//! those of the hot and the warm tier. The best are taken while they fit, and printed in the order of paths: the same
//! files, plan and question give the same text. A view, and the projects of the plan, limit what can be in it.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::score::Weighed;
use crate::flow::search::context::{ContextPart, ContextReport, PartOrigin, TaskContext};
use crate::model::{RepoPath, Result};
use crate::page::page_text;
use crate::search::postings::{IndexedPassage, Segment};
use crate::search::query::{Query, Syntax};
use crate::search::ranking::{self, Tuning, WordBytes};
use crate::search::view::View;
use crate::store::Session;
use crate::store::settings::projects::ContextView;
use crate::store::state::{FragmentName, Tier};
use crate::text::tokenizer::Tokenizer;

use super::covering_pages::CoveringPages;
use super::fragment_id;
use super::task_files::{self, TaskFile, TaskFiles};

/// The tokens of an answer where neither the plan nor the user says.
const USUAL_BUDGET: usize = 4_096;

/// The tokens of these that stay free for the rest of a prompt.
const RESERVE: usize = 512;

/// A smaller passage, in tokens, is left out: it says nothing without its surroundings.
const MIN_TOKENS: usize = 10;

/// The tokens of the line above a part, about.
const HEADING_TOKENS: usize = 24;

/// The share of the budget that the lines about the sources may take: one in this many.
const PREAMBLE_SHARE: usize = 4;

/// A context to make.
#[derive(Clone, Debug)]
pub struct TaskRequest {
    /// The plan; `default` without a name.
    pub plan: Option<String>,
    /// The view, if it is not that of the plan.
    pub view: Option<ContextView>,
    /// What the task is about.
    pub question: Option<String>,
    /// The maximum tokens, if they are not those of the plan.
    pub budget: Option<usize>,
    /// Whether the files of the plan are read first, or only those in the tiers.
    pub hydrates: bool,
}

/// A passage that may be printed.
struct Piece {
    file: usize,
    number: usize,
    passage: IndexedPassage,
    tokens: usize,
    relevance: f64,
    score: f64,
}

/// Makes a context.
///
/// # Errors
/// `plan-not-found`, and as [`super::hydrate::hydrate`].
pub fn assemble(session: &Session, request: &TaskRequest) -> Result<ContextReport> {
    let files = task_files::collect(session, request)?;
    let own = files.budget_tokens.and_then(|it| usize::try_from(it).ok());
    let usual = USUAL_BUDGET - RESERVE;
    let budget = request.budget.or(own).unwrap_or(usual);
    let pieces = pieces(&files.files, request.question.as_deref());
    let mut assembly = Assembly {
        session,
        files: &files,
        pages: CoveringPages::open(session)?,
        left_out: 0,
        chosen: BTreeMap::new(),
        order: Vec::new(),
    };
    assembly.choose(pieces, budget);
    let (text, parts) = assembly.fitted(budget)?;
    let names = assembly.used();
    task_files::note_access(session, &names)?;
    Ok(ContextReport {
        used_tokens: Tokenizer::default().count(&text),
        text,
        budget_tokens: budget,
        count: parts.len(),
        parts,
        left_out: assembly.left_out,
        needed_tokens: None,
        indexed: 0,
        stale: false,
        stale_scopes: Vec::new(),
        nothing: None,
        task: Some(TaskContext {
            plan: files.plan.clone(),
            view: files.view,
            projects: files.projects.clone(),
            skipped: files.skipped,
            stale: files.stale,
            stopped: files.stopped,
        }),
    })
}

/// Cuts files into passages, and scores those that are candidates, the best first.
fn pieces(files: &[TaskFile], question: Option<&str>) -> Vec<Piece> {
    let (mut segment, mut view) = (Segment::default(), View::default());
    let mut passages = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let indexed = segment.add(&file.shown.to_string(), &file.text);
        let lengths: Vec<u32> = indexed.iter().map(|it| it.length).collect();
        view.push(u32::try_from(number).unwrap_or(u32::MAX), &lengths);
        passages.push(indexed);
    }
    let relevance = relevance(&view, segment, question);
    let changes: BTreeSet<i64> = files.iter().map(|it| it.modified).collect();
    let last = changes.len().saturating_sub(1).max(1);
    let place: BTreeMap<i64, usize> = changes.into_iter().zip(0..).collect();
    let mut pieces = Vec::new();
    for (number, (file, indexed)) in files.iter().zip(&passages).enumerate() {
        for (at, passage) in indexed.iter().enumerate() {
            let found = match &relevance {
                None => Some(0.5),
                Some(found) => found.get(&(number, at)).copied(),
            };
            let Some(relevance) = found else { continue };
            let place = place.get(&file.modified).copied().unwrap_or_default();
            let weighed = Weighed {
                relevance,
                hierarchy: 1.0 / count(file.shown.parts().count().max(1)),
                quality: if indexed.len() == 1 { 1.0 } else { 0.5 },
                recency: count(place) / count(last),
            };
            let body = file.text.get(passage.range()).unwrap_or_default();
            pieces.push(Piece {
                file: number,
                number: at,
                passage: *passage,
                tokens: Tokenizer::default().count(body),
                relevance,
                score: weighed.score(),
            });
        }
    }
    // The order of equal ones is that of files and passages.
    pieces.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| other.relevance.total_cmp(&one.relevance))
    });
    pieces
}

/// Returns how well passages match a question, by the numbers of file and passage; `None` without one.
fn relevance(
    view: &View,
    segment: Segment,
    question: Option<&str>,
) -> Option<BTreeMap<(usize, usize), f64>> {
    let query = Query::parse(question?, Syntax::Data);
    let words: BTreeMap<Box<str>, Vec<u8>> = segment.into_words().into_iter().collect();
    let find = |word: &str| {
        let bytes = words.get(word).cloned();
        let found = bytes.map(|bytes| WordBytes { base: 0, bytes });
        Ok::<_, std::convert::Infallible>(found.into_iter().collect())
    };
    let Ok(ranked) = ranking::rank(view, &query, Tuning::default(), 1, find);
    let best = ranked.first().map_or(1.0, |it| f64::from(it.score));
    let matches = ranked.iter().map(|it| {
        let relevance = f64::from(it.score) / best.max(f64::MIN_POSITIVE);
        ((it.document, it.passage), relevance)
    });
    Some(matches.collect())
}

#[expect(clippy::cast_precision_loss, reason = "numbers of files are small")]
fn count(number: usize) -> f64 {
    number as f64
}

/// The choice of pieces, and the text.
struct Assembly<'a> {
    session: &'a Session,
    files: &'a TaskFiles,
    pages: CoveringPages,
    left_out: usize,
    /// The chosen pieces, by the numbers of file and passage.
    chosen: BTreeMap<(usize, usize), Piece>,
    /// Their names, in the order in which they were chosen: the last is dropped first.
    order: Vec<(usize, usize)>,
}

impl Assembly<'_> {
    /// Takes the best pieces that fit; one that does not is left out, and the next is tried.
    fn choose(&mut self, pieces: Vec<Piece>, budget: usize) {
        let mut used = 0;
        let mut limits = self.files.limits.clone();
        for piece in pieces {
            let place = (piece.file, piece.number);
            let Some(file) = self.files.files.get(piece.file) else {
                continue;
            };
            if piece.tokens < MIN_TOKENS {
                continue;
            }
            let is_new = self
                .chosen
                .range((piece.file, 0)..=(piece.file, usize::MAX))
                .next()
                .is_none();
            let heading = if is_new { HEADING_TOKENS } else { 0 };
            let fits = used + piece.tokens + heading <= budget;
            let limit = limits.get_mut(&file.project).filter(|_| fits && is_new);
            let is_seen = limit.is_none_or(|limit| limit.take(file.text.len() as u64));
            if !fits || !is_seen {
                self.left_out += 1;
                continue;
            }
            used += piece.tokens + heading;
            self.order.push(place);
            self.chosen.insert(place, piece);
        }
    }

    /// Writes the text; the pieces that were chosen last are dropped until it fits.
    fn fitted(&mut self, budget: usize) -> Result<(String, Vec<ContextPart>)> {
        let tokenizer = Tokenizer::default();
        loop {
            self.session.world.interrupt.check()?;
            let (body, parts) = self.written()?;
            let preamble = self.preamble(&parts);
            let is_small = tokenizer.count(&preamble) * PREAMBLE_SHARE <= budget;
            let text = if is_small && !parts.is_empty() {
                preamble + &body
            } else {
                body
            };
            if tokenizer.count(&text) <= budget {
                return Ok((text, parts));
            }
            let Some(last) = self.order.pop() else {
                return Ok((String::new(), Vec::new()));
            };
            self.chosen.remove(&last);
            self.left_out += 1;
        }
    }

    /// Returns the lines about the sources: where parts come from, how well they fit, how much is missing.
    fn preamble(&self, parts: &[ContextPart]) -> String {
        let TaskFiles {
            plan,
            view,
            skipped,
            stale,
            ..
        } = self.files;
        let mut sources: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for part in parts {
            let id = part.fragment_id.as_deref().unwrap_or_default();
            let source = id.splitn(3, ':').map(str::len).take(2).sum::<usize>() + 1;
            let entry = sources.entry(id.get(..source).unwrap_or(id)).or_default();
            let score = part.score.unwrap_or_default();
            *entry = (entry.0 + 1, entry.1.max(score));
        }
        let sources: Vec<String> = sources
            .iter()
            .map(|(name, (parts, score))| format!("{name}: {parts}, best score {score:.2}"))
            .collect();
        format!(
            "==> plan {plan}, view {} <==\nsources and parts: {}\nnot here: {} passages, {skipped} skipped files, {stale} changed files\n",
            view.name(),
            sources.join("; "),
            self.left_out
        )
    }

    fn written(&self) -> Result<(String, Vec<ContextPart>)> {
        let (mut text, mut parts) = (String::new(), Vec::new());
        let chosen: Vec<&Piece> = self.chosen.values().collect();
        let is_next =
            |one: &&Piece, other: &&Piece| one.file == other.file && one.number + 1 == other.number;
        for joined in chosen.chunk_by(is_next) {
            let (Some(first), Some(last)) = (joined.first(), joined.last()) else {
                continue;
            };
            let Some(file) = self.files.files.get(first.file) else {
                continue;
            };
            let range = first.passage.range().start..last.passage.range().end;
            let body = file.text.get(range.clone()).unwrap_or_default();
            let first_line = first.passage.first_line as usize;
            let last_line = first_line + body.lines().count().saturating_sub(1);
            let mut written =
                page_text::heading(&file.shown, &format!(":{first_line}-{last_line}"));
            written.push_str(body);
            if !written.ends_with('\n') {
                written.push('\n');
            }
            let covering = self.pages.find(file, range.start)?;
            let scores = joined.iter().map(|it| it.score);
            parts.push(ContextPart {
                path: file.shown.clone(),
                scope_id: covering.as_ref().map(|it| it.scope.clone()),
                from: match &covering {
                    Some(_) => PartOrigin::Scope,
                    None => PartOrigin::Hydrated,
                },
                page_id: covering.map(|it| it.page),
                start: range.start,
                end: range.end,
                start_line: Some(first_line),
                end_line: Some(last_line),
                page: None,
                section: None,
                tokens: Tokenizer::default().count(&written),
                score: scores.max_by(f64::total_cmp),
                fragment_id: Some(fragment_id(&file.project, &file.name)),
                tier: Some(file.tier),
            });
            text.push_str(&written);
        }
        Ok((text, parts))
    }

    /// Returns the fragments that are in the text, by project.
    fn used(&self) -> BTreeMap<String, Vec<FragmentName>> {
        let mut used: BTreeMap<String, BTreeSet<&FragmentName>> = BTreeMap::new();
        for (file, _) in self.chosen.keys() {
            if let Some(file) = self.files.files.get(*file) {
                used.entry(file.project.clone())
                    .or_default()
                    .insert(&file.name);
            }
        }
        let names = |(project, names): (String, BTreeSet<&FragmentName>)| {
            (project, names.into_iter().cloned().collect())
        };
        used.into_iter().map(names).collect()
    }
}

/// Returns `true` if a file of a tier is a candidate.
pub(super) fn is_candidate(tier: Tier, question: Option<&str>) -> bool {
    tier < Tier::Cold || question.is_some()
}

/// Orders files as they are printed.
pub(super) fn by_path(one: &TaskFile, other: &TaskFile) -> std::cmp::Ordering {
    let key = |file: &TaskFile| -> (RepoPath, String) { (file.shown.clone(), file.hash.clone()) };
    key(one).cmp(&key(other))
}

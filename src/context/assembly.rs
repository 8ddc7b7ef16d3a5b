//! `context --plan`: the files of a plan as one text within a budget.
//!
//! The tiers are hydrated first. With a question the passages that match it are candidates, from every tier and from the
//! mapped scopes of the plan; without one those of the hot and the warm tier. The best are taken while they fit, and printed in the order of paths: the same
//! files, plan and question give the same text. A view, and the projects of the plan, limit what can be in it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Code, Error, RepoPath, Result, escape};
use crate::search::context::{ContextPart, ContextReport, PartOrigin, TaskContext};
use crate::search::index::headings::is_heading;
use crate::search::passage_choice::{Chosen, Packer, Place, Wanted};
use crate::store::Session;
use crate::store::settings::projects::ContextView;
use crate::store::state::{FragmentName, Tier};
use crate::text::headed::headed;
use crate::text::tokenizer::Tokenizer;

use super::covering_pages::CoveringPages;
use super::fragment_id;
use super::pieces::{Piece, pieces};
use super::plan_passages::PlanPassages;
use super::project_reading::Trust;
use super::task_file::TaskFile;
use super::task_files::{self, TaskFiles};

/// The tokens of an answer where neither the plan nor the user says.
const USUAL_BUDGET: usize = 4_096;

/// The tokens of these that stay free for the rest of a prompt.
const RESERVE: usize = 512;

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
    /// Only headings and the first lines of definitions of what the text would have, within this share of the budget.
    pub skeleton: Option<f64>,
}

/// Makes a context.
pub fn assemble(session: &Session, request: &TaskRequest) -> Result<ContextReport> {
    // That takes as long as all else.
    Tokenizer::default().prepare();
    if let Some(report) = assemble_trusting(session, request, Trust::Stat)? {
        return Ok(report);
    }
    // A file has changed since the command looked at it.
    let report = assemble_trusting(session, request, Trust::Nothing)?;
    report.ok_or_else(|| {
        let message = "a file of the plan changed while it was read";
        Error::new(Code::Locked, message).unchanged()
    })
}

/// Makes a context; `None` if a file does not have the text that it must have.
fn assemble_trusting(
    session: &Session,
    request: &TaskRequest,
    trust: Trust,
) -> Result<Option<ContextReport>> {
    let files = task_files::collect(session, request, trust)?;
    let own = files.budget_tokens.and_then(|tokens| usize::try_from(tokens).ok());
    let usual = USUAL_BUDGET - RESERVE;
    let budget = request.budget.or(own).unwrap_or(usual);
    let question = request.question.as_deref();
    let Some(pieces) = pieces(session, &files.files, question)? else {
        return Ok(None);
    };
    let mut packer = Packer::new(PlanPassages::new(session, &files), budget);
    packer.fill(pieces.iter().map(wanted))?;
    if packer.files.has_changed {
        return Ok(None);
    }
    let budget = request.skeleton.map_or(budget, |share| part_of(budget, share));
    let assembly = Assembly {
        session,
        files: &files,
        pages: CoveringPages::open(session)?,
        budget,
        detail: match request.skeleton {
            None => Detail::Text,
            Some(_) => Detail::Outline,
        },
    };
    let (text, parts) = packer.fitted(budget, |packer| assembly.written(packer))?;
    let parts =
        parts.into_iter().map(|part| assembly.with_page(part)).collect::<Result<Vec<_>>>()?;
    let names = used(&files, &packer);
    task_files::note_access(session, &names)?;
    Ok(Some(ContextReport {
        used_tokens: Tokenizer::default().count(&text),
        text,
        budget_tokens: budget,
        count: parts.len(),
        parts,
        next_files: Vec::new(),
        left_out: packer.left_out,
        needed_tokens: None,
        indexed: 0,
        stale: false,
        stale_scopes: Vec::new(),
        partial: false,
        building: false,
        nothing: None,
        absent: None,
        task: Some(TaskContext {
            plan: files.plan.clone(),
            view: files.view,
            projects: files.projects.clone(),
            skipped: files.skipped,
            stale: files.stale,
            stopped: files.stopped,
            skeleton: request.skeleton,
        }),
    }))
}

/// Returns a share of a budget, rounded down.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a budget has at most 10,000,000 tokens, and a share is from 0 to 1"
)]
fn part_of(budget: usize, share: f64) -> usize {
    (budget as f64 * share) as usize
}

/// How much of a piece is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// All of it.
    Text,
    /// Its headings and the first lines of its definitions.
    Outline,
}

impl Detail {
    fn of(self, text: &str) -> Cow<'_, str> {
        match self {
            Detail::Text => text.into(),
            Detail::Outline => {
                let lines = text.split_inclusive('\n');
                lines.filter(|line| is_heading(line)).collect()
            }
        }
    }
}

/// A part of the text, and the number of its file.
struct Written {
    file: usize,
    part: ContextPart,
}

/// What the text is made of.
struct Assembly<'a> {
    session: &'a Session,
    files: &'a TaskFiles,
    pages: CoveringPages,
    budget: usize,
    detail: Detail,
}

impl Assembly<'_> {
    /// Writes the text: the lines about the sources, unless they are much of it, and the parts.
    fn written(&self, packer: &Packer<PlanPassages<'_>>) -> Result<(String, Vec<Written>)> {
        self.session.world.interrupt.check()?;
        let (mut body, mut parts) = (String::new(), Vec::new());
        for (place, run) in packer.runs(|_| false) {
            if let Some((text, part)) = self.part(place, &run) {
                body.push_str(&text);
                parts.push(part);
            }
        }
        let preamble = self.preamble(&parts, packer.left_out);
        let is_small = Tokenizer::default().count(&preamble) * PREAMBLE_SHARE <= self.budget;
        let text = if is_small && !parts.is_empty() { preamble + &body } else { body };
        Ok((text, parts))
    }

    /// Returns the lines about the sources: where parts come from, how well they fit, how much is missing.
    fn preamble(&self, parts: &[Written], left_out: usize) -> String {
        let TaskFiles { plan, view, skipped, stale, .. } = self.files;
        let mut sources: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for Written { part, .. } in parts {
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
        let text = format!(
            "sources and parts: {}\nnot here: {left_out} passages, {skipped} skipped files, {stale} changed files\n",
            escape::line(&sources.join("; "))
        );
        headed(&format!("plan {plan}, view {}", view.name()), &text)
    }

    /// Adds the page that has a part, if a mapped scope has its file with this content.
    fn with_page(&self, written: Written) -> Result<ContextPart> {
        let Written { file, part } = written;
        let file = self.files.files.get(file);
        let page = file.map(|file| self.pages.find(file, part.start)).transpose()?;
        Ok(match page.flatten() {
            None => part,
            Some(covering) => ContextPart {
                scope_id: Some(covering.scope),
                page_id: Some(covering.page),
                from: PartOrigin::Scope,
                ..part
            },
        })
    }

    /// Writes consecutive passages of a file, and describes them.
    fn part(&self, place: Place, run: &[&Chosen]) -> Option<(String, Written)> {
        let (first, last) = (run.first()?, run.last()?);
        let file = self.files.files.get(place.0)?;
        let range = first.passage.range().start..last.passage.range().end;
        let body = first.text.get(range.clone()).unwrap_or_default();
        let first_line = first.passage.first_line as usize;
        let last_line = first_line + body.lines().count().saturating_sub(1);
        let source = format!("{}:{first_line}-{last_line}", file.shown);
        let written = headed(&source, &self.detail.of(body));
        let scores = run.iter().filter_map(|chosen| chosen.score);
        let part = ContextPart {
            path: file.shown.clone(),
            scope_id: None,
            from: match file.tier {
                None => PartOrigin::Scope,
                Some(_) => PartOrigin::Hydrated,
            },
            page_id: None,
            start: range.start,
            end: range.end,
            start_line: Some(first_line),
            end_line: Some(last_line),
            page: None,
            section: None,
            tokens: Tokenizer::default().count(&written),
            score: scores.max_by(f64::total_cmp),
            uncommitted: false,
            fragment_id: Some(fragment_id(&file.project, &file.name)),
            tier: file.tier,
        };
        Some((written, Written { file: place.0, part }))
    }
}

/// Returns the fragments that are in the text, by project.
fn used(
    files: &TaskFiles,
    packer: &Packer<PlanPassages<'_>>,
) -> BTreeMap<String, Vec<FragmentName>> {
    let mut used: BTreeMap<String, BTreeSet<&FragmentName>> = BTreeMap::new();
    for number in packer.files_of_chosen() {
        if let Some(file) = files.files.get(number) {
            used.entry(file.project.clone()).or_default().insert(&file.name);
        }
    }
    let names = |(project, names): (String, BTreeSet<&FragmentName>)| {
        (project, names.into_iter().cloned().collect())
    };
    used.into_iter().map(names).collect()
}

fn wanted(piece: &Piece) -> Wanted {
    Wanted { place: (piece.file, piece.number), score: piece.score, from: PartOrigin::Match }
}

/// Returns `true` if a file of a tier is a candidate.
pub(super) fn is_candidate(tier: Tier, question: Option<&str>) -> bool {
    tier < Tier::Cold || question.is_some()
}

/// Orders files as they are printed.
pub(super) fn by_path(task_file: &TaskFile, other: &TaskFile) -> std::cmp::Ordering {
    fn key(file: &TaskFile) -> (&RepoPath, &str, bool, Option<Tier>) {
        (&file.shown, &file.hash, file.tier.is_none(), file.tier)
    }
    key(task_file).cmp(&key(other))
}

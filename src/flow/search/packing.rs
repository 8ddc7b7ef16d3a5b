//! The choice of the passages of a context, and its text.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::slice::Iter;

use super::candidates::{Candidate, Searched};
use super::context::{ContextPart, NextFile, PartOrigin};
use crate::flow::pages::page_graph;
use crate::model::{Code, Error, RepoPath, Result};
use crate::page::pages::PageId;
use crate::search::licence;
use crate::search::passages::PAGE_BREAK;
use crate::search::query::{Query, Syntax};
use crate::search::ranked::Ranked;
use crate::text::headed::headed;
use crate::text::readers::Format;
use crate::text::tokenizer::Tokenizer;

/// The share of the budget, in hundredths, that the best passages fill before their surroundings are added.
const BEST_SHARE: usize = 85;

/// The share of the budget after which no more surroundings are added.
const SURROUNDINGS_SHARE: usize = 92;

/// The tokens of the line above a part, about.
const HEADING_TOKENS: usize = 24;

/// The share of the budget, in hundredths, that names the next files.
const NEXT_SHARE: usize = 5;

/// A smaller budget is for passages alone; what they leave of it names files.
const MIN_BUDGET_OF_NEXT: usize = 1_000;

/// The number of passages in turn that do not fit before the rest is left out.
const MAX_MISSES: usize = 16;

/// The share of what files leave of the budget, in hundredths, for the definitions of what they use.
const DEFINITIONS_SHARE: usize = 60;

/// The line above the next files.
const NEXT_HEADING: &str = "further files that match, the best first";

/// The text of a context.
pub(super) struct Fitted {
    pub(super) text: String,
    pub(super) parts: Vec<ContextPart>,
    pub(super) next: Vec<NextFile>,
}

/// A passage, by the position of its document, and its number.
type Place = (usize, usize);

/// A chosen passage.
struct Chosen {
    candidate: Candidate,
    text: Rc<str>,
    tokens: usize,
    /// The order in which it was chosen: the last are dropped first.
    order: usize,
    from: PartOrigin,
    score: Option<f32>,
}

impl Chosen {
    fn body(&self) -> &str {
        let range = self.candidate.passage.range();
        self.text.get(range).unwrap_or_default()
    }

    /// Returns `true` if it begins a page of a document, which has a part of its own.
    fn begins_page(&self) -> bool {
        self.body().starts_with(PAGE_BREAK)
    }
}

/// The choice of passages.
pub(super) struct Packing<'a, 's> {
    searched: &'a Searched<'s>,
    budget: usize,
    resident: BTreeSet<PageId>,
    chosen: BTreeMap<Place, Chosen>,
    /// Digests of their texts: a copy of a file says nothing new.
    texts: BTreeSet<[u8; 32]>,
    /// The files that match best among those without a passage in the text, the best first.
    next: Vec<NextFile>,
    /// The tokens of the chosen passages, about.
    used: usize,
    /// The number of wanted passages that did not fit.
    pub(super) left_out: usize,
    /// The smallest budget, about, for one of the passages that did not fit into an empty text.
    pub(super) needed: Option<usize>,
    /// Whether a passage of whole files did not fit.
    is_full: bool,
}

impl<'a, 's> Packing<'a, 's> {
    pub(super) fn new(
        searched: &'a Searched<'s>,
        budget: usize,
        resident: BTreeSet<PageId>,
    ) -> Packing<'a, 's> {
        Packing {
            searched,
            budget,
            resident,
            chosen: BTreeMap::new(),
            texts: BTreeSet::new(),
            next: Vec::new(),
            used: 0,
            left_out: 0,
            needed: None,
            is_full: false,
        }
    }

    /// Chooses the passages that a question is about, and their surroundings.
    pub(super) fn answer(&mut self, question: &str) -> Result<()> {
        let query = Query::parse(question, Syntax::Data);
        let (ranked, _) = self.searched.rank(&query, usize::MAX)?;
        let ranked = self.searched.raised(&query, ranked)?;
        let whole = self.budget;
        if whole >= MIN_BUDGET_OF_NEXT {
            self.budget -= whole * NEXT_SHARE / 100;
        }
        let mut next = ranked.iter();
        let best = self.take(&mut next, BEST_SHARE)?;
        for it in &best {
            for passage in [Some(it.passage + 1), it.passage.checked_sub(1)] {
                let is_full = self.used * 100 >= self.budget * SURROUNDINGS_SHARE;
                let Some(passage) = passage.filter(|_| !is_full) else {
                    continue;
                };
                if passage < self.searched.passage_count(it.document) {
                    let beside = Ranked { passage, ..*it };
                    self.add(&beside, PartOrigin::Surroundings)?;
                }
            }
        }
        self.take(&mut next, 100)?;
        self.left_out += next.len();
        let left = whole.saturating_sub(self.budget.min(self.used));
        self.budget = whole;
        self.name_next(&query, &ranked, left)
    }

    /// Names the next files by their best passages, as many as fit into a number of tokens.
    fn name_next(&mut self, query: &Query, ranked: &[Ranked], tokens: usize) -> Result<()> {
        let mut named: BTreeSet<usize> =
            self.chosen.keys().map(|(document, _)| *document).collect();
        let mut left = tokens.saturating_sub(HEADING_TOKENS);
        for it in ranked {
            if !named.insert(it.document) {
                continue;
            }
            self.searched.session.world.interrupt.check()?;
            let file = self.searched.next_file(query, it)?;
            let Some(rest) = left.checked_sub(Tokenizer::default().count(&file.written())) else {
                break;
            };
            left = rest;
            self.next.push(file);
        }
        Ok(())
    }

    /// Adds passages until a share of the budget is full, in hundredths, or several in turn do not fit. Returns those
    /// that were added.
    fn take(&mut self, ranked: &mut Iter<'_, Ranked>, share: usize) -> Result<Vec<Ranked>> {
        let (mut taken, mut misses) = (Vec::new(), 0);
        while misses < MAX_MISSES && self.used * 100 < self.budget * share {
            let Some(it) = ranked.next() else { break };
            let before = self.left_out;
            if self.add(it, PartOrigin::Match)? {
                taken.push(*it);
            }
            misses = if self.left_out > before { misses + 1 } else { 0 };
        }
        Ok(taken)
    }

    /// Chooses all passages.
    pub(super) fn pack_all(&mut self) -> Result<()> {
        for document in self.searched.all_documents() {
            self.add_document(document, PartOrigin::Requested)?;
        }
        Ok(())
    }

    /// Chooses the passages of files, then the definitions of what they use, then related files.
    pub(super) fn pack_paths(&mut self, paths: &[RepoPath]) -> Result<()> {
        let (mut pages, mut requested) = (BTreeSet::new(), BTreeSet::new());
        for path in paths {
            let documents = self.searched.documents_below(path)?;
            if documents.is_empty() {
                let message = format!("no mapped file is at or below '{path}'");
                return Err(Error::new(Code::PathNotFound, message).hint("git colony map tree"));
            }
            for document in documents {
                self.add_document(document, PartOrigin::Requested)?;
                pages.extend(self.searched.pages_of(document)?);
                requested.insert(document);
            }
        }
        let definitions = self.searched.definitions(&requested)?;
        let share = self.used + (self.budget.saturating_sub(self.used)) * DEFINITIONS_SHARE / 100;
        for it in &definitions {
            if self.used >= share {
                break;
            }
            self.add(it, PartOrigin::Definition)?;
        }
        for path in self.related(&pages)? {
            for document in self.searched.documents_below(&path)? {
                self.add_document(document, PartOrigin::Related)?;
            }
        }
        Ok(())
    }

    /// Returns the files of the pages that some pages are related to, the strongest relations first.
    fn related(&self, pages: &BTreeSet<(usize, PageId)>) -> Result<Vec<RepoPath>> {
        let opened = &self.searched.opened;
        let session = self.searched.session;
        let mut related = Vec::new();
        for (index, scope) in opened.scopes.iter().enumerate() {
            let of_scope = pages.iter().filter(|(scope, _)| *scope == index);
            let own: Vec<PageId> = of_scope.map(|(_, page)| *page).collect();
            if !own.is_empty() {
                let neighbors = page_graph::neighbors(session, &opened.table, scope, &own)?;
                related.extend(neighbors.into_iter().flatten());
            }
        }
        related.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        Ok(related.into_iter().flat_map(|page| page.files).collect())
    }

    /// Adds a document; from the first passage that does not fit on, the rest is left out.
    fn add_document(&mut self, document: usize, from: PartOrigin) -> Result<()> {
        let passages = self.searched.passage_count(document);
        for passage in 0..passages {
            let before = self.left_out;
            let whole = Ranked { document, passage, score: 0.0 };
            if !self.is_full {
                self.add(&whole, from)?;
                self.is_full = self.left_out > before;
            } else if !self.chosen.contains_key(&(document, passage)) {
                self.left_out += 1;
            }
        }
        Ok(())
    }

    /// Chooses a passage if it fits; returns `true` if it did.
    fn add(&mut self, ranked: &Ranked, from: PartOrigin) -> Result<bool> {
        let place = (ranked.document, ranked.passage);
        if self.chosen.contains_key(&place) {
            return Ok(false);
        }
        if self.used >= self.budget {
            self.left_out += usize::from(from != PartOrigin::Surroundings);
            return Ok(false);
        }
        self.searched.session.world.interrupt.check()?;
        let mut candidate = self.searched.candidate(ranked)?;
        let text = self.searched.text(&candidate)?;
        if from != PartOrigin::Requested && !leave_out_licence(&mut candidate, &text) {
            return Ok(false);
        }
        let start = candidate.passage.range().start;
        if !self.resident.is_empty() {
            let page = self.searched.page_with(&candidate, &text, start)?;
            if page.is_some_and(|page| self.resident.contains(&page)) {
                return Ok(false);
            }
        }
        let body = text.get(candidate.passage.range()).unwrap_or_default();
        let is_beside = |passage: Option<usize>| {
            passage.is_some_and(|passage| self.chosen.contains_key(&(ranked.document, passage)))
        };
        let is_joined =
            is_beside(ranked.passage.checked_sub(1)) || is_beside(Some(ranked.passage + 1));
        let heading = if is_joined { 0 } else { HEADING_TOKENS };
        let tokens = Tokenizer::default().count(body) + heading;
        if self.used + tokens > self.budget {
            self.note_needed(tokens);
            self.left_out += usize::from(from != PartOrigin::Surroundings);
            return Ok(false);
        }
        let is_copy = !self.texts.insert(*blake3::hash(body.as_bytes()).as_bytes());
        if is_copy && from != PartOrigin::Requested {
            return Ok(false);
        }
        self.used += tokens;
        let score = matches!(from, PartOrigin::Match).then_some(ranked.score);
        let chosen = Chosen { candidate, text, tokens, order: self.chosen.len(), from, score };
        self.chosen.insert(place, chosen);
        Ok(true)
    }

    /// Notes the tokens of a passage that does not fit.
    fn note_needed(&mut self, tokens: usize) {
        self.needed = Some(self.needed.map_or(tokens, |needed| needed.min(tokens)));
    }

    /// Writes the text. The passages that were chosen last are dropped until it fits.
    pub(super) fn fitted(&mut self) -> Result<Fitted> {
        loop {
            let (mut text, parts) = self.written()?;
            if !self.next.is_empty() {
                let lines: String = self.next.iter().map(NextFile::written).collect();
                text.push_str(&headed(NEXT_HEADING, &lines));
            }
            let tokens = Tokenizer::default().count(&text);
            if tokens <= self.budget || self.chosen.is_empty() {
                let next = std::mem::take(&mut self.next);
                return Ok(Fitted { text, parts, next });
            }
            // The list is about what else there is: it goes first.
            if self.next.pop().is_some() {
                continue;
            }
            self.note_needed(tokens);
            let mut excess = tokens - self.budget;
            while excess > 0 {
                let last = self.chosen.iter().max_by_key(|(_, chosen)| chosen.order);
                let Some((&place, _)) = last else { break };
                let dropped = self.chosen.remove(&place).map_or(0, |chosen| chosen.tokens);
                excess = excess.saturating_sub(dropped.max(1));
                self.left_out += 1;
            }
        }
    }

    fn written(&self) -> Result<(String, Vec<ContextPart>)> {
        let (mut text, mut parts) = (String::new(), Vec::new());
        let chosen: Vec<(&Place, &Chosen)> = self.chosen.iter().collect();
        let is_next = |one: &(&Place, &Chosen), other: &(&Place, &Chosen)| {
            one.0.0 == other.0.0 && one.0.1 + 1 == other.0.1 && !other.1.begins_page()
        };
        for joined in chosen.chunk_by(is_next) {
            let all: Vec<&Chosen> = joined.iter().map(|(_, chosen)| *chosen).collect();
            if let Some(part) = self.part(&all)? {
                let written = headed(&source(&part), &body(&all));
                parts.push(ContextPart { tokens: Tokenizer::default().count(&written), ..part });
                text.push_str(&written);
            }
        }
        Ok((text, parts))
    }

    /// Describes consecutive passages of a document.
    fn part(&self, passages: &[&Chosen]) -> Result<Option<ContextPart>> {
        let (Some(first), Some(last)) = (passages.first(), passages.last()) else {
            return Ok(None);
        };
        let range = first.candidate.passage.range().start..last.candidate.passage.range().end;
        let body = first.text.get(range.clone()).unwrap_or_default();
        let place = self.searched.place(&first.candidate, &first.text, range.start)?;
        let last_line = body.lines().count().saturating_sub(1);
        let scores = passages.iter().filter_map(|it| it.score);
        let score = scores.max_by(f32::total_cmp).map(f64::from);
        Ok(Some(ContextPart {
            path: first.candidate.document.document.path.clone(),
            scope_id: self.searched.scope_of(&first.candidate),
            page_id: self.searched.page_with(&first.candidate, &first.text, range.start)?,
            start_line: place.line,
            end_line: place.line.map(|line| line + last_line),
            page: place.page,
            section: place.section,
            start: range.start,
            end: range.end,
            tokens: 0,
            score,
            from: passages.iter().map(|it| it.from).min().unwrap_or(first.from),
            uncommitted: self.searched.above.is_uncommitted(first.candidate.id),
            fragment_id: None,
            tier: None,
        }))
    }
}

/// Returns the source of a part, as the line above it has it.
fn source(part: &ContextPart) -> String {
    let ContextPart { path, page, .. } = part;
    let place = match (part.start_line.zip(part.end_line), page) {
        (Some((first, last)), _) => format!(":{first}-{last}"),
        (None, Some(page)) => format!(", page {page}"),
        (None, None) => String::new(),
    };
    let section = part.section.as_ref().map_or_else(String::new, |section| format!(" ({section})"));
    let state = if part.uncommitted { " (uncommitted)" } else { "" };
    format!("{path}{place}{section}{state}")
}

/// Leaves the licence at the beginning of a text out of a passage. Returns `false` if nothing is left of it.
fn leave_out_licence(candidate: &mut Candidate, text: &str) -> bool {
    let is_code = Format::of_knowledge(&candidate.document.document.path) == Some(Format::Code);
    let passage = &mut candidate.passage;
    if passage.start > 0 || !is_code {
        return true;
    }
    let end = licence::length(text);
    let lines = text.get(..end).unwrap_or_default().matches('\n').count();
    passage.start = u32::try_from(end).unwrap_or(u32::MAX);
    passage.first_line += u32::try_from(lines).unwrap_or(u32::MAX);
    passage.start < passage.end || end == 0
}

fn body(passages: &[&Chosen]) -> String {
    passages.iter().map(|it| it.body().trim_start_matches(PAGE_BREAK)).collect()
}

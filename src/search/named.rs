//! The name that a question asks for: its definition, or that no file has it.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use crate::git::object::word_matches::MatchLimits;
use crate::model::Result;
use crate::search::index::postings::{NAME_MARK, PATH_MARK, Postings, WordBytes};
use crate::search::index::query::{Query, Syntax};
use crate::search::index::ranked::Ranked;
use crate::search::index::{extents, identifiers, words};

use super::candidates::Searched;

/// A name that more passages define says nothing about which one is meant.
const MAX_DEFINITIONS: usize = 5;

/// The most passages that are read to find out whether a name is a part of others in them.
const MAX_READ: usize = 200;

/// The longest name that is looked for, in bytes: the index has no longer words.
const MAX_NAME: usize = 64;

/// The most files in whose lines a name is looked for.
const MAX_FILES: usize = 20_000;

/// The shortest end of a name with dots that says more than the whole name.
const MIN_END: usize = 3;

const LIMITS: MatchLimits =
    MatchLimits { time: Duration::from_secs(2), output_bytes: 1 << 16, lines_of_file: 1 };

/// A definition that a question names.
pub(super) struct Definition {
    /// Its document, by the position in the view.
    pub(super) document: usize,
    /// The passages that it is in.
    pub(super) passages: Range<usize>,
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
}

impl Searched<'_> {
    /// Finds the best definition of the name that a question asks for, of those in these passages.
    pub(super) fn definition(
        &self,
        question: &str,
        ranked: &[Ranked],
    ) -> Result<Option<Definition>> {
        let is_ranked = |definition: &Definition| {
            ranked.iter().any(|of| {
                (of.document, of.passage) == (definition.document, definition.passages.start)
            })
        };
        Ok(self.definitions_of(question)?.into_iter().find(is_ranked))
    }

    /// Finds the definitions of the name that a question asks for: first those with its very letters, of these the longest,
    /// as the others may only declare it.
    fn definitions_of(&self, question: &str) -> Result<Vec<Definition>> {
        let typed = identifiers::only_name(question).unwrap_or_default();
        let Some(name) = words::of(typed).pop() else {
            return Ok(Vec::new());
        };
        let defining = self.passages_with(&self.places(&format!("{NAME_MARK}{name}"))?);
        if defining.len() > MAX_DEFINITIONS {
            return Ok(Vec::new());
        }
        let mut definitions = Vec::new();
        for (document, first) in defining {
            let candidate = self.candidate(&Ranked { document, passage: first, score: 0.0 })?;
            let text = self.text(&candidate)?;
            let Some(range) = extents::definition(&text, candidate.passage.range(), &name) else {
                continue;
            };
            let stored = &candidate.document;
            let starts_inside = |number: &usize| {
                stored.passage(*number).is_some_and(|passage| passage.range().start < range.end)
            };
            let after = first + 1..self.passage_count(document);
            let passages = first..first + 1 + after.take_while(starts_inside).count();
            let beginning = text.get(range.clone()).unwrap_or_default().lines().take(2);
            let is_exact = beginning.into_iter().any(|line| line.contains(typed));
            definitions.push((
                !is_exact,
                Reverse(range.len()),
                Definition { document, passages, range },
            ));
        }
        definitions.sort_by_key(|(is_other, length, _)| (*is_other, *length));
        Ok(definitions.into_iter().map(|(_, _, definition)| definition).collect())
    }

    /// Puts first what a question names: the passages that define its name, and the files with this name.
    pub(super) fn named_first(
        &self,
        question: &str,
        query: &Query,
        mut ranked: Vec<Ranked>,
    ) -> Result<Vec<Ranked>> {
        let score = ranked.first().map_or(0.0, |best| best.score);
        let mut first = Vec::new();
        let defining = self.definitions_of(question)?.into_iter();
        let places = defining.map(|definition| (definition.document, definition.passages.start));
        for (document, passage) in places.chain(self.files_named(question)?) {
            let named_passage = Ranked { document, passage, score };
            if self.matches(query, &named_passage)? {
                first.push(named_passage);
            }
        }
        let place = |passage: &Ranked| (passage.document, passage.passage);
        ranked.retain(|passage| !first.iter().any(|named| place(named) == place(passage)));
        first.append(&mut ranked);
        Ok(first)
    }

    /// Finds the files whose whole name a question is, each with its first passage.
    fn files_named(&self, question: &str) -> Result<Vec<(usize, usize)>> {
        let typed = question.trim();
        let name = words::of(typed).pop().filter(|_| typed.contains('.'));
        let Some(name) = name else {
            return Ok(Vec::new());
        };
        let named = self.passages_with(&self.places(&format!("{PATH_MARK}{name}"))?);
        let mut files = Vec::new();
        for (document, passage) in named.into_iter().take(MAX_READ) {
            let candidate = self.candidate(&Ranked { document, passage, score: 0.0 })?;
            let path = candidate.document.document.path.to_string();
            if path.rsplit('/').next() == Some(typed) {
                files.push((path.len(), document));
            }
        }
        files.sort_unstable();
        files.truncate(MAX_DEFINITIONS);
        Ok(files.into_iter().map(|(_, document)| (document, 0)).collect())
    }

    /// Returns the identifier that a question consists of, if no searched file has it, not even as a part of another.
    pub(super) fn absent_name(&self, question: &str) -> Result<Option<String>> {
        let name = identifiers::only(question).filter(|name| name.len() <= MAX_NAME);
        // Without the index nothing is known of other files.
        let is_known = self.partial.is_none() && !self.view.is_empty() && self.has_all_uncommitted;
        let Some(name) = name.filter(|_| is_known) else {
            return Ok(None);
        };
        let whole = words::of(name).pop().unwrap_or_default();
        for word in [whole.clone(), format!("{PATH_MARK}{whole}")] {
            if !self.passages_with(&self.places(&word)?).is_empty() {
                return Ok(None);
            }
        }
        let parts = Query::parse(name, Syntax::Data);
        let required = words::of(name).into_iter().filter(|word| *word != whole).collect();
        let (ranked, count) = self.rank(&Query { required, ..parts }, MAX_READ)?;
        if count > MAX_READ {
            return Ok(None);
        }
        let name_in_lower_case = name.to_lowercase();
        for passage in &ranked {
            self.session.world.interrupt.check()?;
            let candidate = self.candidate(passage)?;
            let text = self.text(&candidate)?;
            let body = text.get(candidate.passage.range()).unwrap_or_default();
            let path = candidate.document.document.path.to_string();
            if [body, &path]
                .iter()
                .any(|haystack| haystack.to_lowercase().contains(&name_in_lower_case))
            {
                return Ok(None);
            }
        }
        Ok((!self.has_in_lines(name)?).then(|| name.to_owned()))
    }

    /// Returns `true` if lines of HEAD have a name, or the end of one with dots, whatever words the index makes of them;
    /// also where there are too many files to read.
    fn has_in_lines(&self, name: &str) -> Result<bool> {
        let Some(head) = self.session.repo.head()?.commit() else {
            return Ok(false);
        };
        if self.all_documents().nth(MAX_FILES).is_some() {
            return Ok(true);
        }
        let name = name.to_lowercase();
        let end = name.rsplit(['.', ':']).next().filter(|end| end.len() >= MIN_END);
        let words = [end.unwrap_or(&name)];
        let (repo, world) = (&self.session.repo, &self.session.world);
        Ok(!repo.files_with_words(world, head, &words, LIMITS)?.is_empty())
    }

    /// Returns the searched passages that have a word, each with the position of its document.
    fn passages_with(&self, places: &[WordBytes]) -> BTreeSet<(usize, usize)> {
        let (mut passages, mut postings) = (BTreeSet::new(), Postings::of(places));
        while postings.document != Postings::END {
            if let Some(position) = self.view.position(postings.document) {
                passages.insert((position, postings.passage as usize));
            }
            if !postings.next_passage() {
                postings.next_document();
            }
        }
        passages
    }
}

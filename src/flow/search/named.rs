//! The name that a question asks for: its definition, or that no file has it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::candidates::Searched;
use crate::model::Result;
use crate::search::postings::{NAME_MARK, PATH_MARK, Postings, WordBytes};
use crate::search::query::{Query, Syntax};
use crate::search::ranked::Ranked;
use crate::search::{extents, identifiers, words};

/// A name that more passages define says nothing about which one is meant.
const MAX_DEFINITIONS: usize = 5;

/// The most passages that are read to find out whether a name is a part of others in them.
const MAX_READ: usize = 200;

/// The longest name that is looked for, in bytes: the index has no longer words.
const MAX_NAME: usize = 64;

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
    /// Finds the definition of the name that a question asks for, of several the one that ranks best.
    pub(super) fn definition(
        &self,
        question: &str,
        ranked: &[Ranked],
    ) -> Result<Option<Definition>> {
        let name = identifiers::only_name(question).and_then(|name| words::of(name).pop());
        let Some(name) = name else {
            return Ok(None);
        };
        let defining = self.passages_with(&self.places(&format!("{NAME_MARK}{name}"))?);
        if defining.len() > MAX_DEFINITIONS {
            return Ok(None);
        }
        let best = ranked.iter().find(|it| defining.contains(&(it.document, it.passage)));
        let Some(best) = best else {
            return Ok(None);
        };
        let candidate = self.candidate(best)?;
        let text = self.text(&candidate)?;
        let Some(range) = extents::definition(&text, candidate.passage.range(), &name) else {
            return Ok(None);
        };
        let stored = &candidate.document;
        let starts_inside =
            |number: &usize| stored.passage(*number).is_some_and(|it| it.range().start < range.end);
        let first = best.passage;
        let after = first + 1..self.passage_count(best.document);
        let passages = first..first + 1 + after.take_while(starts_inside).count();
        Ok(Some(Definition { document: best.document, passages, range }))
    }

    /// Returns the identifier that a question consists of, if no searched file has it, not even as a part of another.
    pub(super) fn absent_name(&self, question: &str) -> Result<Option<String>> {
        let name = identifiers::only(question).filter(|name| name.len() <= MAX_NAME);
        // Without the index nothing is known of other files.
        let Some(name) = name.filter(|_| self.partial.is_none() && !self.view.is_empty()) else {
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
        for it in &ranked {
            self.session.world.interrupt.check()?;
            let candidate = self.candidate(it)?;
            let text = self.text(&candidate)?;
            let body = text.get(candidate.passage.range()).unwrap_or_default();
            let path = candidate.document.document.path.to_string();
            if [body, &path].iter().any(|it| it.to_lowercase().contains(&name_in_lower_case)) {
                return Ok(None);
            }
        }
        Ok(Some(name.to_owned()))
    }

    /// Returns the searched passages that have a word, each with the position of its document.
    fn passages_with(&self, places: &[WordBytes]) -> BTreeSet<(usize, usize)> {
        let (mut found, mut postings) = (BTreeSet::new(), Postings::of(places));
        while postings.document != Postings::END {
            if let Some(position) = self.view.position(postings.document) {
                found.insert((position, postings.passage as usize));
            }
            if !postings.next_passage() {
                postings.next_document();
            }
        }
        found
    }
}

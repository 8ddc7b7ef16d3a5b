//! The choice of the pieces of a context: the best that fit into its budget. Files are read, and tokens counted, only where
//! they decide.

use std::collections::BTreeMap;

use crate::model::Result;
use crate::search::postings::IndexedPassage;
use crate::store::Session;
use crate::text::tokenizer::Tokenizer;

use super::pieces::Piece;
use super::task_file::TaskFile;
use super::task_files::TaskFiles;

/// A smaller passage of a larger file, in tokens, is left out: it says nothing without its surroundings.
const MIN_TOKENS: usize = 10;

/// No text has more bytes in a token, on average: a longer passage does not fit.
const MAX_TOKEN_BYTES: usize = 16;

/// The tokens of the line above a part, about.
const HEADING_TOKENS: usize = 24;

/// The pieces that were chosen.
#[derive(Default)]
pub(super) struct Choice {
    /// Them, by the numbers of file and passage.
    pub(super) chosen: BTreeMap<(usize, usize), Chosen>,
    /// Their names, in the order in which they were chosen.
    order: Vec<(usize, usize)>,
    /// The number of pieces that were not.
    pub(super) left_out: usize,
}

/// A piece that was chosen.
pub(super) struct Chosen {
    pub(super) passage: IndexedPassage,
    pub(super) score: f64,
}

impl Choice {
    /// Takes the best pieces that fit; one that does not is left out, and the next is tried. `None` if a file has changed.
    pub(super) fn of(
        session: &Session,
        files: &TaskFiles,
        pieces: Vec<Piece>,
        budget: usize,
    ) -> Result<Option<Choice>> {
        let mut choice = Choice::default();
        let mut room = budget;
        let mut limits = files.limits.clone();
        // The file that has printed a passage, by its content.
        let mut printed: BTreeMap<(&str, usize), usize> = BTreeMap::new();
        for piece in pieces {
            let Some(file) = files.files.get(piece.file) else {
                continue;
            };
            let content = (file.hash.as_str(), piece.number);
            if printed.get(&content).is_some_and(|other| *other != piece.file) {
                continue;
            }
            let all = (piece.file, 0)..=(piece.file, usize::MAX);
            let mut of_file = choice.chosen.range(all);
            let is_new = of_file.next().is_none();
            let heading = if is_new { HEADING_TOKENS } else { 0 };
            let own = room.saturating_sub(heading);
            let (passage, tokens) = match judge(session, file, &piece, own)? {
                Verdict::Fits(passage, tokens) => (passage, tokens),
                Verdict::TooSmall => continue,
                Verdict::TooLarge => {
                    choice.left_out += 1;
                    continue;
                }
                Verdict::Changed => return Ok(None),
            };
            let limit = limits.get_mut(&file.project).filter(|_| is_new);
            if limit.is_some_and(|limit| !limit.take(file.bytes)) {
                choice.left_out += 1;
                continue;
            }
            if file.text(session)?.is_none() {
                return Ok(None);
            }
            room -= tokens + heading;
            let place = (piece.file, piece.number);
            printed.insert(content, piece.file);
            choice.order.push(place);
            choice.chosen.insert(place, Chosen { passage, score: piece.score });
        }
        Ok(Some(choice))
    }

    /// Drops the piece that was chosen last; returns `false` if there is none.
    pub(super) fn drop_last(&mut self) -> bool {
        let Some(last) = self.order.pop() else {
            return false;
        };
        self.chosen.remove(&last);
        self.left_out += 1;
        true
    }
}

/// Whether a piece is taken.
enum Verdict {
    /// It has this place and these tokens.
    Fits(IndexedPassage, usize),
    /// It says nothing.
    TooSmall,
    /// There is no room for it.
    TooLarge,
    /// Its file has changed.
    Changed,
}

/// Compares a piece with the room for it, in tokens.
fn judge(session: &Session, file: &TaskFile, piece: &Piece, room: usize) -> Result<Verdict> {
    if room == 0 {
        return Ok(Verdict::TooLarge);
    }
    let found = match piece.passage {
        Some(passage) => Some((passage, None)),
        None => measured(session, file, piece)?,
    };
    let Some((passage, known)) = found else {
        return Ok(Verdict::Changed);
    };
    if passage.range().len() > room.saturating_mul(MAX_TOKEN_BYTES) {
        return Ok(Verdict::TooLarge);
    }
    let tokens = match known {
        Some(tokens) => Some(tokens),
        None => file.text(session)?.map(|text| counted(text, passage)),
    };
    Ok(match tokens {
        None => Verdict::Changed,
        Some(tokens) if tokens < MIN_TOKENS && (tokens == 0 || !is_all(file, passage)) => {
            Verdict::TooSmall
        }
        Some(tokens) if tokens > room => Verdict::TooLarge,
        Some(tokens) => Verdict::Fits(passage, tokens),
    })
}

/// Returns the passage of a piece, and its tokens if they are known; `None` if its file has changed.
fn measured(
    session: &Session,
    file: &TaskFile,
    piece: &Piece,
) -> Result<Option<(IndexedPassage, Option<usize>)>> {
    let whole = file.whole().filter(|_| piece.number == 0);
    if let Some((passage, tokens)) = whole {
        return Ok(Some((passage, Some(tokens))));
    }
    let passage = file.passage(session, piece.number)?;
    Ok(passage.map(|passage| (passage, None)))
}

/// Returns `true` if a passage is all of its file, which then needs no surroundings.
fn is_all(file: &TaskFile, passage: IndexedPassage) -> bool {
    passage.range().len() as u64 >= file.bytes
}

fn counted(text: &str, passage: IndexedPassage) -> usize {
    let body = text.get(passage.range()).unwrap_or_default();
    Tokenizer::default().count(body)
}

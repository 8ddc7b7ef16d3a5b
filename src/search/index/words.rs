//! The words of a text, as the index has them: in lower case, identifiers split, common endings removed.
//!
//! `mergeBase`, `merge_base` and `MergeBase` all give `merge`, `base` and `mergebase`. A script without spaces gives
//! its pairs of characters.

/// A longer word, in bytes, is data: a digest, or an encoded file.
const MAX_WORD: usize = 64;

/// Words that nearly every text has: they say nothing of the subject of a question.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from",
    "has", "have", "how", "if", "in", "into", "is", "it", "not", "of", "on", "or", "so", "that",
    "the", "their", "then", "there", "these", "they", "this", "to", "was", "what", "when", "where",
    "which", "who", "why", "will", "with",
];

/// What joins the parts of a compound, as in `gix-hash` and `core.autocrlf`.
const JOINERS: [char; 2] = ['-', '.'];

/// A word of a text.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// The word in lower case, with its ending.
    whole: &'a str,
    /// The word, as the index has it.
    pub stem: &'a str,
}

impl Word<'_> {
    /// Returns `true` for a word that is ignored in a query with other words. Its ending counts: `note` is not `not`.
    pub fn is_stop_word(&self) -> bool {
        STOP_WORDS.binary_search(&self.whole).is_ok()
    }
}

/// Passes each word of a text to `each`, in order, as the index has it.
pub fn each(text: &str, mut each: impl FnMut(&str)) {
    each_word(text, |word| each(word.stem));
}

/// Passes each word of a text to `each`, in order. A compound comes after its last part.
pub fn each_word(text: &str, mut each: impl FnMut(Word<'_>)) {
    let mut words = Words::default();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if run.is_empty() {
            words.compound.clear();
        } else if run.len() <= MAX_WORD {
            words.identifier(run, &mut each);
        } else if run.chars().any(is_unspaced) {
            words.pairs(run, &mut each);
        }
        let mut next = after.chars();
        let joins = next.next().is_some_and(|c| JOINERS.contains(&c))
            && next.next().is_some_and(char::is_alphanumeric);
        words.join(run, joins && !run.is_empty(), &mut each);
        rest = after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
    }
}

/// Returns the words of a text.
pub fn of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each(text, |word| words.push(word.to_owned()));
    words
}

/// The buffers of a walk through a text.
#[derive(Default)]
struct Words {
    part: String,
    whole: String,
    /// The parts of a compound so far.
    compound: String,
}

impl Words {
    /// Splits an identifier at underscores, digits and changes of case; several parts are also one word.
    fn identifier(&mut self, run: &str, each: &mut impl FnMut(Word<'_>)) {
        if run.chars().any(is_unspaced) {
            self.pairs(run, each);
            return;
        }
        self.whole.clear();
        let mut parts = 0;
        let mut rest = run.trim_matches('_');
        while !rest.is_empty() {
            let (part, after) = rest.split_at(part_length(rest));
            rest = after.trim_start_matches('_');
            self.part.clear();
            self.part.extend(part.chars().flat_map(char::to_lowercase));
            self.whole.push_str(&self.part);
            parts += 1;
            each(Word { whole: &self.part, stem: stem(&self.part) });
        }
        if parts > 1 {
            each(Word { whole: &self.whole, stem: &self.whole });
        }
    }

    /// Adds a run to the compound; one that ends with it is a word.
    fn join(&mut self, run: &str, goes_on: bool, each: &mut impl FnMut(Word<'_>)) {
        if !goes_on && self.compound.is_empty() {
            return;
        }
        let letters = run.chars().filter(|c| *c != '_').flat_map(char::to_lowercase);
        self.compound.extend(letters);
        if !goes_on {
            if self.compound.len() <= MAX_WORD {
                each(Word { whole: &self.compound, stem: &self.compound });
            }
            self.compound.clear();
        }
    }

    fn pairs(&mut self, run: &str, each: &mut impl FnMut(Word<'_>)) {
        let mut before = None;
        let mut pair = |first: char, second: char, part: &mut String| {
            part.clear();
            part.push(first);
            part.push(second);
            each(Word { whole: part, stem: part });
        };
        for c in run.chars().filter(|&c| c != '_') {
            if let Some(before) = before {
                pair(before, c, &mut self.part);
            }
            before = Some(c);
        }
        if run.chars().count() == 1 {
            each(Word { whole: run, stem: run });
        }
    }
}

/// Returns the length of the first part of an identifier, in bytes.
fn part_length(text: &str) -> usize {
    let mut before: Option<char> = None;
    let mut letters = text.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        let mut next_is_lower = || letters.peek().is_some_and(|(_, next)| next.is_lowercase());
        let begins = match before {
            None => false,
            Some(_) if c == '_' => true,
            Some(before) if before.is_numeric() != c.is_numeric() => true,
            Some(before) if before.is_lowercase() && c.is_uppercase() => true,
            // The last capital of `HTTPServer` begins the next part.
            Some(before) => before.is_uppercase() && c.is_uppercase() && next_is_lower(),
        };
        if begins {
            return at;
        }
        before = Some(c);
    }
    text.len()
}

/// Removes a common English ending, so that `merges`, `merged` and `merging` are one word.
fn stem(word: &str) -> &str {
    let length = if word.is_ascii() { stem_length(word.as_bytes()) } else { word.len() };
    word.get(..length).unwrap_or(word)
}

fn stem_length(word: &[u8]) -> usize {
    let is_vowel = |byte: &u8| b"aeiouy".contains(byte);
    let has_vowel = |stem: &[u8]| stem.iter().any(is_vowel);
    // `stopped` and `stopping` are `stop`, `merged` and `merge` are `merg`.
    let trimmed = |stem: &[u8]| match stem {
        [.., letter, next] if letter == next && !is_vowel(letter) && !b"ls".contains(letter) => {
            stem.len() - 1
        }
        [.., b'e'] if stem.len() > 3 => stem.len() - 1,
        // `entries` is `entr`, and so is `entry`.
        [.., before, b'y'] if stem.len() > 2 && !is_vowel(before) => stem.len() - 1,
        _ => stem.len(),
    };
    match word {
        [stem @ .., b'i', b'e', b's' | b'd'] if stem.len() > 1 => stem.len(),
        [stem @ .., b'e', b's'] if stem.ends_with(b"ss") => stem.len(),
        [stem @ .., b'i', b'n', b'g'] | [stem @ .., b'e', b'd']
            if stem.len() > 2 && has_vowel(stem) =>
        {
            trimmed(stem)
        }
        [stem @ .., before, b's'] if stem.len() > 1 && !b"sui".contains(before) => {
            trimmed(word.get(..word.len() - 1).unwrap_or(word))
        }
        _ => trimmed(word),
    }
}

/// Returns `true` for a letter of a script that is written without spaces.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_and_also_kept_whole() {
        for name in ["mergeBase", "merge_base", "MergeBase", "MERGE_BASE", "__merge__base"] {
            assert_eq!(of(name), ["merg", "bas", "mergebase"], "{name}");
        }
        assert_eq!(of("HTTPServer2"), ["http", "server", "2", "httpserver2"]);
        assert_eq!(of("x - y. z"), ["x", "y", "z"]);
    }

    #[test]
    fn endings_make_no_difference() {
        for (word, other) in [
            ("merges", "merge"),
            ("merged", "merging"),
            ("merged", "merge"),
            ("stopped", "stop"),
            ("stopping", "stops"),
            ("entries", "entry"),
            ("tried", "try"),
            ("classes", "class"),
            ("files", "file"),
        ] {
            assert_eq!(of(word), of(other), "{word} {other}");
        }
        for (word, other) in [("status", "stat"), ("bus", "bu"), ("string", "str"), ("red", "r")] {
            assert_ne!(of(word), of(other), "{word} {other}");
        }
    }

    #[test]
    fn a_script_without_spaces_gives_pairs() {
        assert_eq!(of("変更を戻す"), ["変更", "更を", "を戻", "戻す"]);
        assert_eq!(of("木"), ["木"]);
        assert_eq!(of("Größe ЗАПИСЬ"), ["größe", "запись"]);
    }

    #[test]
    fn long_data_has_no_words() {
        assert_eq!(of(&"deadbeef".repeat(9)), Vec::<String>::new());
        assert_eq!(of(""), Vec::<String>::new());
        assert_eq!(of("___"), Vec::<String>::new());
    }

    #[test]
    fn a_compound_is_a_word_beside_its_parts() {
        assert_eq!(of("gix-hash"), ["gix", "hash", "gixhash"]);
        assert_eq!(of("core.auto_crlf."), ["cor", "auto", "crlf", "autocrlf", "coreautocrlf"]);
        assert_eq!(of("a--b c.-d e-"), ["a", "b", "c", "d", "e"]);
        assert_eq!(of("to-do and x"), ["to", "do", "todo", "and", "x"]);
    }

    #[test]
    fn a_stop_word_is_compared_with_its_ending() {
        assert!(STOP_WORDS.is_sorted());
        let mut stop_words = Vec::new();
        each_word("does note notes not off of theirs their the", |word| {
            if word.is_stop_word() {
                stop_words.push(word.whole.to_owned());
            }
        });
        assert_eq!(stop_words, ["does", "not", "of", "their", "the"]);
    }
}

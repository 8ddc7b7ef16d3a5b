//! The words of a text, as the index has them: in lower case, identifiers split, common endings removed.
//!
//! `mergeBase`, `merge_base` and `MergeBase` all give `merge`, `base` and `mergebase`. A script without spaces gives
//! its pairs of characters.

/// A longer word, in bytes, is data: a digest, or an encoded file.
const MAX_WORD: usize = 64;

/// Words that nearly every text has, as the index has them: they say nothing of the subject of a question.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "doe", "for", "from",
    "has", "hav", "how", "if", "in", "into", "is", "it", "not", "of", "on", "or", "so", "that",
    "the", "their", "then", "ther", "thes", "they", "this", "to", "was", "what", "when", "wher",
    "which", "who", "why", "will", "with",
];

/// Returns `true` for a word that is ignored in a query with other words.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Passes each word of a text to `each`, in order.
pub fn each(text: &str, mut each: impl FnMut(&str)) {
    let mut words = Words::default();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    for run in text.split(|c| !is_part(c)) {
        if !run.is_empty() && run.len() <= MAX_WORD {
            words.identifier(run, &mut each);
        } else if run.len() > MAX_WORD && run.chars().any(is_unspaced) {
            words.pairs(run, &mut each);
        }
    }
}

/// Returns the words of a text.
pub fn of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    each(text, |word| found.push(word.to_owned()));
    found
}

/// The buffers of a walk through a text.
#[derive(Default)]
struct Words {
    part: String,
    whole: String,
}

impl Words {
    /// Splits an identifier at underscores, digits and changes of case; several parts are also one word.
    fn identifier(&mut self, run: &str, each: &mut impl FnMut(&str)) {
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
            each(stem(&mut self.part));
        }
        if parts > 1 {
            each(&self.whole);
        }
    }

    fn pairs(&mut self, run: &str, each: &mut impl FnMut(&str)) {
        let mut before = None;
        let mut pair = |one: char, other: char, part: &mut String| {
            part.clear();
            part.push(one);
            part.push(other);
            each(part);
        };
        for c in run.chars().filter(|&c| c != '_') {
            if let Some(before) = before {
                pair(before, c, &mut self.part);
            }
            before = Some(c);
        }
        if run.chars().count() == 1 {
            each(run);
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
fn stem(word: &mut String) -> &str {
    if word.is_ascii() {
        let length = stem_length(word.as_bytes());
        word.truncate(length);
    }
    word
}

fn stem_length(word: &[u8]) -> usize {
    let is_vowel = |byte: &u8| b"aeiouy".contains(byte);
    let has_vowel = |stem: &[u8]| stem.iter().any(is_vowel);
    // `stopped` and `stopping` are `stop`, `merged` and `merge` are `merg`.
    let trimmed = |stem: &[u8]| match stem {
        [.., one, other] if one == other && !is_vowel(one) && !b"ls".contains(one) => {
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
        assert_eq!(of("x-y.z"), ["x", "y", "z"]);
    }

    #[test]
    fn endings_make_no_difference() {
        for (one, other) in [
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
            assert_eq!(of(one), of(other), "{one} {other}");
        }
        for (one, other) in [("status", "stat"), ("bus", "bu"), ("string", "str"), ("red", "r")] {
            assert_ne!(of(one), of(other), "{one} {other}");
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
    fn stop_words_are_sorted_for_the_look_up() {
        assert!(STOP_WORDS.is_sorted());
        for word in ["does", "has", "these", "was", "where"] {
            assert!(is_stop_word(&of(word)[0]), "{word}");
        }
        assert!(is_stop_word("the") && !is_stop_word("merge"));
    }
}

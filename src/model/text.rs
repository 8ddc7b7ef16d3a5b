//! Helpers for messages of every layer: grammar, and positions in a text.

use super::escape;

/// A position in a text, for people: line and column start at 1, columns are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// Returns the position of the byte at `offset`, or of the end if there is none.
    pub fn of(text: &[u8], offset: usize) -> Position {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.iter().rposition(|&byte| byte == b'\n');
        let own = before.get(start.map_or(0, |at| at + 1)..);
        Position {
            line: before.split(|&byte| byte == b'\n').count(),
            column: String::from_utf8_lossy(
                own.expect("a line begins within the text before the place"),
            )
            .chars()
            .count()
                + 1,
        }
    }
}

/// Quotes a word for a shell, for hints that are pasted. Characters that are not shown as they are become their bytes
/// in the form `$'\342\200\213'`, which bash, zsh and ksh read in every locale. fish does not, but no form is read by
/// all of them.
pub fn shell_word(word: &str) -> String {
    if !word.contains(escape::is_dangerous) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut quoted = "$'".to_owned();
    for c in word.chars() {
        if escape::is_dangerous(c) {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).bytes();
            quoted.extend(bytes.map(|byte| format!("\\{byte:03o}")));
        } else {
            quoted.extend(matches!(c, '\\' | '\'').then_some('\\'));
            quoted.push(c);
        }
    }
    quoted + "'"
}

/// Quotes the last words of a command; `--` is in front of them if one could pass for an option.
pub fn words_after_options(words: &[&str]) -> String {
    let is_like_an_option = words.iter().any(|word| word.starts_with('-'));
    let dashes = is_like_an_option.then(|| "--".to_owned());
    let words = words.iter().map(|word| shell_word(word));
    dashes.into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// Like [`shell_word`], but leaves a word unquoted if it needs no quotes.
pub fn typed_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { shell_word(word) }
}

/// Returns values as a choice: `'a', 'b' or 'c'`.
pub fn either(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("'{value}'")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [value] => value.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Returns `true` if some system reserves the name for a device, regardless of the text after its
/// first dot: no file or ref can have such a name there.
pub fn names_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or(name).trim_end().to_ascii_lowercase();
    let is_numbered = |kind: &str| {
        let number = stem.strip_prefix(kind).unwrap_or_default();
        matches!(number.as_bytes(), [b'1'..=b'9'])
    };
    let named = ["con", "prn", "aux", "nul", "conin$", "conout$"];
    named.contains(&stem.as_str()) || is_numbered("com") || is_numbered("lpt")
}

/// Returns `1 file`, `2 files`.
pub fn count(number: usize, noun: &str) -> String {
    let stem = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match (number, stem) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) if ["ch", "sh", "ss"].iter().any(|end| noun.ends_with(end)) => {
            format!("{number} {noun}es")
        }
        (_, None) => format!("{number} {noun}s"),
    }
}

/// Finds the probable meaning: the known word with the fewest slips, if they are few. A slip is a letter too many,
/// missing, wrong or swapped with the next.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// A longer word is not a slip, and the distance takes time.
    const MAX_BYTES: usize = 200;
    if word.len() > MAX_BYTES {
        return None;
    }
    let word = word.to_lowercase();
    let known = known.into_iter().filter(|known| !known.is_empty() && known.len() <= MAX_BYTES);
    let near = known.filter_map(|known| {
        let distance = strsim::osa_distance(&word, &known.to_lowercase());
        (distance <= (known.chars().count() / 3).max(1)).then_some((distance, known))
    });
    near.min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_another_word() {
        let known = ["start_dir", "static", "commit", "branch"];
        for (typed, meant) in [
            ("start_dri", Some("start_dir")),
            ("startdir", Some("start_dir")),
            ("Commit", Some("commit")),
            ("comit", Some("commit")),
            ("brnch", Some("branch")),
            ("color", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let text = "a\n\u{e9}b\n".as_bytes();
        let places = [0, 2, 4, 99]
            .map(|offset| Position::of(text, offset))
            .map(|place| (place.line, place.column));
        assert_eq!(places, [(1, 1), (2, 1), (2, 2), (3, 1)]);
    }

    #[test]
    fn a_word_for_a_shell_is_one_word_whatever_it_holds() {
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word("a\n'\\"), r"$'a\012\'\\'");
        assert_eq!(shell_word("a\u{200b}1"), r"$'a\342\200\2131'");
        assert_eq!(typed_word("\u{85}"), r"$'\302\205'");
    }

    #[test]
    fn plurals_are_right_by_construction() {
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(0, "commit"), "0 commits");
        assert_eq!(count(3, "entry"), "3 entries");
        assert_eq!(count(3, "key"), "3 keys");
        assert_eq!(count(2, "remote branch"), "2 remote branches");
    }
}

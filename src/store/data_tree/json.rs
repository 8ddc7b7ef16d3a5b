//! JSON with the position of every value. Anything but plain JSON is not understood.

use super::{Data, Document, Entry, Node, Style};

/// Larger files are merged as text.
const MAX_BYTES: usize = 8 * 1024 * 1024;
const MAX_DEPTH: usize = 100;

/// What a key is that an object has twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepeatedKeys {
    /// Not understood.
    Refused,
    /// As for parsers: the last one counts.
    Kept,
}

/// Reads a file; `None` if it is not JSON, has a key twice, or is too deep or too large.
pub(crate) fn parse(text: &str) -> Option<Document<'_>> {
    parse_with(text, RepeatedKeys::Refused)
}

/// Reads a file in the same way.
pub(crate) fn parse_with(text: &str, repeated_keys: RepeatedKeys) -> Option<Document<'_>> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut parser = Parser { text, at: 0, repeated_keys };
    parser.skip_space();
    let root = parser.value(0)?;
    parser.skip_space();
    (parser.at == text.len()).then_some(Document { text, root, value: None })
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    repeated_keys: RepeatedKeys,
}

impl Parser<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.byte() == Some(byte)).then(|| self.at += 1)
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        let start = self.at;
        let data = match self.byte()? {
            b'{' => Data::Map(Style::Flow, self.entries(b'}', depth)?),
            b'[' => Data::List(Style::Flow, self.entries(b']', depth)?),
            b'"' => Data::Scalar(canonical_string(&self.string()?)),
            _ => Data::Scalar(self.word()?),
        };
        Some(Node { span: start..self.at, data })
    }

    /// Reads members or items up to the closing bracket.
    fn entries(&mut self, close: u8, depth: usize) -> Option<Vec<Entry>> {
        self.at += 1;
        let mut entries = Vec::new();
        let mut keys = std::collections::HashSet::new();
        loop {
            let from = self.at;
            self.skip_space();
            if entries.is_empty() && self.take(close).is_some() {
                return Some(entries);
            }
            let start = self.at;
            let mut key = String::new();
            if close == b'}' {
                key = self.string()?;
                let is_new = keys.insert(key.clone());
                if !is_new && self.repeated_keys == RepeatedKeys::Refused {
                    return None;
                }
                self.skip_space();
                self.take(b':')?;
                self.skip_space();
            }
            let value = self.value(depth + 1)?;
            let end = self.at;
            self.skip_space();
            let is_last = self.byte()? == close;
            entries.push(Entry {
                key,
                // White space before the bracket belongs to the bracket.
                whole: from..if is_last { end } else { self.at },
                start,
                value,
            });
            self.take(if is_last { close } else { b',' })?;
            if is_last {
                return Some(entries);
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.take(b'"')?;
        loop {
            match self.byte()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }

    /// Reads a number, `true`, `false` or `null` as written.
    fn word(&mut self) -> Option<String> {
        let start = self.at;
        while matches!(self.byte(), Some(byte) if byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        {
            self.at += 1;
        }
        let word = self.text.get(start..self.at)?;
        // A number out of range is still a number.
        let is_word = matches!(word, "true" | "false" | "null") || is_number(word);
        is_word.then(|| word.to_owned())
    }
}

/// Returns the canonical spelling of a string.
pub(crate) fn canonical_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns `true` if a word is a JSON number.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let word = word.strip_prefix('-').unwrap_or(word);
    let (number, exponent) = match word.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (word, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let exponent = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_reads_is_read_and_nothing_else() {
        for text in [
            "{}",
            " [1, -0.5e+3, \"\\u00e9\", null] \n",
            "{\"a\":{\"b\":[]}}",
            "01",
            "1.",
            "-",
            "[1,]",
            "{\"a\" 1}",
            "\"\\x\"",
            "\"a\nb\"",
            "nul",
            "[1 2]",
            "{} {}",
            "\"",
            "\"\\",
            "",
            "\u{feff}{}",
            "1e5",
            "tru",
            "[",
            "{\"a\":",
            "<<<<<<< ours\n{}\n",
        ] {
            let theirs = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(parse(text).is_some(), theirs, "{text}");
        }
    }

    #[test]
    fn duplicate_keys_and_too_much_depth_are_not_understood() {
        let twice = "{\"a\":1,\"\\u0061\":2}";
        assert!(parse(twice).is_none());
        let read = parse_with(twice, RepeatedKeys::Kept).unwrap();
        assert_eq!(read.root.scalar_member("a").as_deref(), Some("2"));
        assert!(parse(&"[".repeat(100_000)).is_none());
    }
}

//! Wildcards by git's rules: what `*`, `**`, `?`, brackets and backslashes match in a path.
//!
//! `*` and `?` do not match a slash. `**` does where it is a whole component; elsewhere it is a `*`. The time to match
//! grows with the product of the two lengths at most.

/// A compiled pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Wildcards {
    tokens: Vec<Token>,
    folds_case: bool,
}

#[derive(Clone, Debug)]
enum Token {
    Byte(u8),
    /// `?`.
    Any,
    Class(Box<Class>),
    /// `*`: any bytes but a slash.
    Star,
    /// `**` at the end: any bytes.
    Anything,
    /// `**/`: nothing, or any directories.
    Directories,
}

/// The bytes that brackets match.
#[derive(Clone, Debug)]
struct Class {
    has: [bool; 256],
    is_negated: bool,
}

/// Where matching goes on if what follows a star does not match.
#[derive(Clone, Copy)]
struct Retry {
    /// The token after the star.
    token: usize,
    /// The first byte that the star has not matched.
    at: usize,
}

impl Wildcards {
    /// Compiles a pattern; `None` if it can match nothing, as with a bracket that is not closed.
    pub(super) fn parse(pattern: &[u8], folds_case: bool) -> Option<Wildcards> {
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(&byte) = pattern.get(at) {
            let token = match byte {
                b'\\' => {
                    at += 1;
                    // As in git, the case of an escaped letter counts.
                    Token::Byte(*pattern.get(at)?)
                }
                b'?' => Token::Any,
                b'[' => {
                    let (class, end) = Class::parse(pattern, at + 1, folds_case)?;
                    at = end;
                    Token::Class(Box::new(class))
                }
                b'*' => {
                    let (token, last) = star(pattern, at);
                    at = last;
                    token
                }
                byte => Token::Byte(folded(byte, folds_case)),
            };
            tokens.push(token);
            at += 1;
        }
        Some(Wildcards { tokens, folds_case })
    }

    /// Returns `true` if all of a text matches.
    pub(super) fn match_all(&self, text: &[u8]) -> bool {
        let (mut token, mut at) = (0, 0);
        let (mut star, mut deep): (Option<Retry>, Option<Retry>) = (None, None);
        loop {
            let byte = text.get(at).copied();
            match (self.tokens.get(token), byte) {
                (None, None) => return true,
                (Some(Token::Star), _) => {
                    token += 1;
                    star = Some(Retry { token, at });
                    continue;
                }
                (Some(Token::Anything | Token::Directories), _) => {
                    token += 1;
                    deep = Some(Retry { token, at });
                    star = None;
                    continue;
                }
                (Some(pattern_token), Some(byte))
                    if pattern_token.takes(folded(byte, self.folds_case)) =>
                {
                    (token, at) = (token + 1, at + 1);
                    continue;
                }
                _ => {}
            }
            // The last star alone needs another try: the text before it has ended as early as it can.
            if let Some(retry) = &mut star
                && text.get(retry.at).is_some_and(|&byte| byte != b'/')
            {
                retry.at += 1;
                (token, at) = (retry.token, retry.at);
                continue;
            }
            let Some(next) = deep.and_then(|retry| self.further(retry, text)) else {
                return false;
            };
            (deep, star) = (Some(next), None);
            (token, at) = (next.token, next.at);
        }
    }

    /// Returns the next place where what follows a `**` may begin.
    fn further(&self, retry: Retry, text: &[u8]) -> Option<Retry> {
        let rest = text.get(retry.at..)?;
        let skipped = match self.tokens.get(retry.token.checked_sub(1)?) {
            Some(Token::Directories) => rest.iter().position(|&byte| byte == b'/')? + 1,
            _ => 1,
        };
        let at = retry.at + skipped;
        (at <= text.len()).then_some(Retry { token: retry.token, at })
    }
}

/// Reads the stars at a position; returns their token, and the position of their last byte.
fn star(pattern: &[u8], start: usize) -> (Token, usize) {
    let stars = pattern.iter().skip(start).take_while(|&&byte| byte == b'*').count();
    let end = start + stars;
    let begins = start == 0 || pattern.get(start - 1) == Some(&b'/');
    let rest = pattern.get(end..).unwrap_or_default();
    if stars < 2 || !begins {
        return (Token::Star, end - 1);
    }
    match rest {
        [] | [b'\\', b'/', ..] => (Token::Anything, end - 1),
        [b'/', ..] => (Token::Directories, end),
        _ => (Token::Star, end - 1),
    }
}

fn folded(byte: u8, folds_case: bool) -> u8 {
    if folds_case { byte.to_ascii_lowercase() } else { byte }
}

impl Token {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Token::Byte(own) => *own == byte,
            Token::Any => byte != b'/',
            Token::Class(class) => {
                byte != b'/' && class.has.get(usize::from(byte)) != Some(&class.is_negated)
            }
            Token::Star | Token::Anything | Token::Directories => false,
        }
    }
}

impl Class {
    /// Reads what follows an opening bracket; returns the position of the closing one, too.
    fn parse(pattern: &[u8], start: usize, folds_case: bool) -> Option<(Class, usize)> {
        let is_negated = matches!(pattern.get(start), Some(b'!' | b'^'));
        let mut class = Class { has: [false; 256], is_negated };
        let first = start + usize::from(is_negated);
        let mut at = first;
        // What a range may begin with.
        let mut before = None;
        loop {
            let byte = *pattern.get(at)?;
            let next = pattern.get(at + 1).copied();
            match (byte, before) {
                (b']', _) if at > first => return Some((class, at)),
                (b'\\', _) => {
                    at += 1;
                    before = Some(class.add(*pattern.get(at)?));
                }
                (b'-', Some(low)) if next.is_some_and(|next| next != b']') => {
                    at += 1;
                    if next == Some(b'\\') {
                        at += 1;
                    }
                    class.add_range(low, *pattern.get(at)?, folds_case);
                    before = None;
                }
                (b'[', _) if next == Some(b':') => {
                    let name = at + 2;
                    let length = pattern.get(name..)?.iter().position(|&byte| byte == b']')?;
                    match pattern.get(name..name + length)?.strip_suffix(b":") {
                        Some(named) => {
                            class.add_named(named, folds_case)?;
                            (at, before) = (name + length, None);
                        }
                        None => before = Some(class.add(byte)),
                    }
                }
                _ => before = Some(class.add(byte)),
            }
            at += 1;
        }
    }

    fn add(&mut self, byte: u8) -> u8 {
        if let Some(has) = self.has.get_mut(usize::from(byte)) {
            *has = true;
        }
        byte
    }

    fn add_range(&mut self, low: u8, high: u8, folds_case: bool) {
        for byte in low..=high {
            self.add(byte);
            if folds_case && byte.is_ascii_uppercase() {
                self.add(byte.to_ascii_lowercase());
            }
        }
    }

    /// Adds a class by its name; `None` if there is none of that name.
    fn add_named(&mut self, name: &[u8], folds_case: bool) -> Option<()> {
        let is_in: fn(&u8) -> bool = match name {
            b"alnum" => u8::is_ascii_alphanumeric,
            b"alpha" => u8::is_ascii_alphabetic,
            b"blank" => |byte| matches!(byte, b' ' | b'\t'),
            b"cntrl" => u8::is_ascii_control,
            b"digit" => u8::is_ascii_digit,
            b"graph" => u8::is_ascii_graphic,
            b"lower" => u8::is_ascii_lowercase,
            b"print" => |byte| matches!(byte, b' '..=b'~'),
            b"punct" => u8::is_ascii_punctuation,
            // Git counts no vertical tab and no form feed.
            b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
            b"upper" if folds_case => u8::is_ascii_alphabetic,
            b"upper" => u8::is_ascii_uppercase,
            b"xdigit" => u8::is_ascii_hexdigit,
            _ => return None,
        };
        (0..=u8::MAX).filter(is_in).for_each(|byte| {
            self.add(byte);
        });
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Wildcards::parse(pattern.as_bytes(), false)
            .is_some_and(|wildcards| wildcards.match_all(text.as_bytes()))
    }

    #[test]
    fn two_stars_match_directories_where_they_are_a_component() {
        for (pattern, text, wanted) in [
            ("**/a", "a", true),
            ("**/a", "x/y/a", true),
            ("**/a", "xa", false),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("a/**/b", "a/xb", false),
            ("a/**", "a/", true),
            ("a/**b", "a/xb", true),
            ("a/**b", "a/x/b", false),
            ("a**/b", "ax/b", true),
            ("a**/b", "a/x/b", false),
            ("**\\/b", "b", false),
            ("**\\/b", "x/y/b", true),
            ("*/b", "x/y/b", false),
        ] {
            assert_eq!(matches(pattern, text), wanted, "{pattern} {text}");
        }
    }

    #[test]
    fn the_time_grows_with_both_lengths_only() {
        let stars = format!("{}b", "*a".repeat(400));
        assert!(!matches(&stars, &"a".repeat(8000)));
        let directories = format!("{}b", "**/*a".repeat(400));
        assert!(!matches(&directories, &"a/".repeat(4000)));
    }
}

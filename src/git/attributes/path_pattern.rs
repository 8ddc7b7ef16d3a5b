//! Path patterns in the style of `.gitignore`. They define allowed paths, so what could be meant in two ways is refused.
//!
//! A match of a directory includes everything below it. A leading `!` excludes its matches, regardless of the other
//! patterns and of case: a file system may not distinguish `Secret` from `secret`.

use crate::model::RepoPath;

use super::pattern::Pattern;

/// The maximum length of a pattern.
const MAX_BYTES: usize = 1024;

/// The maximum number of stars: with more, matching may take very long.
const MAX_STARS: usize = 16;

/// One pattern.
#[derive(Clone, Debug)]
pub struct PathPattern {
    text: String,
    pattern: Pattern,
}

impl PathPattern {
    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<PathPattern, &'static str> {
        let body = text.strip_prefix('!').unwrap_or(text);
        check(text, body)?;
        let pattern = Pattern::parse(text.as_bytes(), text.starts_with('!'));
        if pattern.is_broken() {
            return Err("a bracket or backslash in it is not ended");
        }
        Ok(PathPattern { text: text.to_owned(), pattern })
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns `true` if the pattern excludes its matches.
    pub fn is_negative(&self) -> bool {
        self.pattern.is_negative()
    }

    /// Returns `true` if the pattern matches a path or one of its parent directories.
    pub fn matches(&self, path: &RepoPath, is_directory: bool) -> bool {
        self.pattern.covers(path.as_bytes(), is_directory)
    }
}

fn check(text: &str, body: &str) -> Result<(), &'static str> {
    let unanchored = body.strip_prefix('/').unwrap_or(body);
    let inner = unanchored.strip_suffix('/').unwrap_or(unanchored);
    if inner.is_empty() {
        return Err("it is empty");
    }
    if text.len() > MAX_BYTES {
        return Err("it is longer than 1024 bytes");
    }
    if text.chars().any(char::is_control) {
        return Err("it holds control characters");
    }
    if body.trim() != body {
        return Err("there are blanks around it");
    }
    if inner.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("no '.', '..', '//'");
    }
    if text.matches('*').count() > MAX_STARS {
        return Err("it has more than 16 stars");
    }
    if !is_closed(inner.as_bytes()) {
        return Err("a bracket or backslash in it is not ended");
    }
    Ok(())
}

/// Returns `true` if every bracket is closed within its path component and the last byte is not a
/// backslash.
fn is_closed(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        rest = match first {
            b'\\' => match tail.split_first() {
                Some((_, tail)) => tail,
                None => return false,
            },
            b'[' => {
                let negated = matches!(tail.first(), Some(b'!' | b'^'));
                let inside = tail.get(usize::from(negated)..).unwrap_or_default();
                // The first character belongs to the set even if it is a bracket.
                let end = inside.iter().skip(1).position(|&byte| byte == b']');
                let Some(end) = end.map(|end| end + 1) else {
                    return false;
                };
                if inside.get(..end).is_none_or(|set| set.contains(&b'/')) {
                    return false;
                }
                inside.get(end + 1..).unwrap_or_default()
            }
            _ => tail,
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        PathPattern::parse(pattern).unwrap().matches(&path.into(), false)
    }

    #[test]
    fn patterns_mean_what_they_mean_in_an_ignore_file() {
        for (pattern, inside, outside) in [
            ("src/**", "src/a/b", "srcfoo/x"),
            ("src/**", "src/a", "src"),
            ("src", "src/a", "srcs/a"),
            ("src", "lib/src/a", "lib/srcs"),
            ("/src", "src/a/b", "lib/src/a"),
            ("src/", "src/a", "src"),
            ("src/*.rs", "src/a.rs", "src/deep/a.rs"),
            ("*.md", "docs/deep/a.md", "a.mdx"),
            ("src/**/*.rs", "src/a.rs", "src/a.c"),
            ("src/[ab]?c", "src/axc", "src/cxc"),
            ("src/x y", "src/x y", "src/x"),
            ("**", "any/thing", ""),
            ("Src/**", "Src/a", "src/a"),
            ("src/\\*", "src/*", "src/a"),
        ] {
            assert!(matches(pattern, inside), "{pattern} {inside}");
            assert!(outside.is_empty() || !matches(pattern, outside), "{pattern} {outside}");
        }
        assert!(matches("!src/Secret/", "src/secret/x"));
    }

    #[test]
    fn what_is_no_pattern_is_said_to_be_none() {
        for bad in [
            "", "!", "/", "!/", "//", "a//b", "./a", "a/..", "../a", "/../a", "a/./b", " a", "a ",
            "[a", "a[", "a[]", "a[!]", "a[x/y]", "a\\", "a\nb", "a\0",
        ] {
            assert!(PathPattern::parse(bad).is_err(), "{bad:?}");
        }
        assert!(PathPattern::parse(&"a".repeat(1025)).is_err());
        assert!(PathPattern::parse(&"*a".repeat(17)).is_err());
    }

    #[test]
    fn the_most_stars_are_matched_in_no_time() {
        let pattern = PathPattern::parse(&"*a".repeat(MAX_STARS)).unwrap();
        let path = RepoPath::from(format!("{}b", "a".repeat(4000)).as_str());
        assert!(!pattern.matches(&path, false));
        let pattern = PathPattern::parse(&"**/".repeat(8)).unwrap();
        let path = RepoPath::from(format!("{}b", "a/".repeat(200)).as_str());
        pattern.matches(&path, false);
    }
}

//! The words of the house: no phrase and no name of a constant that CONTRIBUTING.md refuses.

use std::fs;
use std::path::{Path, PathBuf};

/// The text of each word, and its line; words that are not separated by white space alone have a
/// break between them.
#[derive(Debug, PartialEq)]
enum Token {
    Word(String, usize),
    Break,
}

/// Words in order; `*` is any one word.
type Phrase = Vec<String>;

/// A row of a table of CONTRIBUTING.md.
struct Row {
    refused: Vec<String>,
    instead: String,
    allowed: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(root().join(path)).unwrap()).into_owned()
}

/// The rows between two marks, without the heading.
fn table(name: &str) -> Vec<Row> {
    let page = read(Path::new("CONTRIBUTING.md"));
    let (_, rest) = page.split_once(&format!("<!-- {name}: begin -->")).unwrap();
    let (table, _) = rest.split_once(&format!("<!-- {name}: end -->")).unwrap();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    let quoted = |cell: &str| -> Vec<String> {
        let parts = cell.split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        Row {
            refused: quoted(cells[0]),
            instead: cells[1].trim().to_owned(),
            allowed: cells.get(2).map(|cell| quoted(cell)).unwrap_or_default(),
        }
    };
    rows.map(row).collect()
}

fn phrase(text: &str) -> Phrase {
    let words = text.split_whitespace();
    words.map(str::to_lowercase).collect()
}

/// Files of the sources and of the documents, relative to the root.
fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["src", "docs"] {
        collect(&root().join(folder), &mut found);
    }
    for entry in fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        let is_page = path.extension().is_some_and(|extension| extension == "md");
        // The changelog keeps what was written; the other page has the tables.
        if is_page && !path.ends_with("CHANGELOG.md") && !path.ends_with("CONTRIBUTING.md") {
            found.push(path);
        }
    }
    let relative = |path: PathBuf| path.strip_prefix(root()).unwrap().to_owned();
    let mut found: Vec<_> = found.into_iter().map(relative).collect();
    found.sort();
    found
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Replaces all of a Rust source but its comments and string literals: lines stay where they are.
/// What is not text becomes `|`, so that no phrase goes across it.
fn said_in_rust(source: &str) -> String {
    let mut said = String::new();
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            comment(rest, &mut said)
        } else if next == '"' {
            literal(rest, &mut said)
        } else if let Some(length) = raw_literal(rest, &mut said) {
            length
        } else if let Some(length) = character(rest) {
            said.push('|');
            length
        } else {
            // A name may end in `r` or `br`: it is taken whole, and begins no raw literal.
            let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let length = name.unwrap_or(rest.len()).max(next.len_utf8());
            said.push(if next.is_whitespace() { next } else { '|' });
            length
        };
        rest = &rest[taken..];
    }
    said
}

/// Takes a comment to the end of its line, without its mark.
pub(super) fn comment(rest: &str, said: &mut String) -> usize {
    let length = rest.find('\n').unwrap_or(rest.len());
    let line = &rest[..length];
    said.push_str(line.trim_start_matches(['/', '!']));
    length
}

/// Takes a literal with escapes; an escaped end of line joins its lines, as all white space does.
pub(super) fn literal(rest: &str, said: &mut String) -> usize {
    said.push('|');
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                said.push('|');
                return at + 1;
            }
            '\\' => match characters.next() {
                Some((_, '\n')) => said.push('\n'),
                _ => said.push(' '),
            },
            _ => said.push(character),
        }
    }
    panic!("a literal has no end: {rest:.40}");
}

/// Takes a raw literal, `r"..."` or `r#"..."#`, with or without `b`.
pub(super) fn raw_literal(rest: &str, said: &mut String) -> Option<usize> {
    let marked = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let text = marked.trim_start_matches('#');
    let marks = marked.len() - text.len();
    let text = text.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    let length = text.find(&end).unwrap();
    said.push('|');
    said.push_str(&text[..length]);
    said.push('|');
    Some(rest.len() - text.len() + length + end.len())
}

/// Returns the length of a character literal, which may be a quote; a lifetime is none.
pub(super) fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let escaped = inside.strip_prefix('\\');
    let value = escaped.unwrap_or(inside).chars().next()?;
    let before = rest.len() - escaped.unwrap_or(inside).len() + value.len_utf8();
    let after = if escaped.is_some() { rest[before..].find('\'')? } else { 0 };
    let closed = rest[before + after..].starts_with('\'');
    closed.then_some(before + after + 1)
}

fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let mut rest = line;
        while let Some(next) = rest.chars().next() {
            let taken = if is_word(next) {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                found.push(Token::Word(rest[..length].to_lowercase(), index + 1));
                length
            } else {
                if !next.is_whitespace() {
                    found.push(Token::Break);
                }
                next.len_utf8()
            };
            rest = &rest[taken..];
        }
    }
    found
}

fn begins(tokens: &[Token], phrase: &Phrase) -> bool {
    tokens.len() >= phrase.len()
        && tokens.iter().zip(phrase).all(|(token, wanted)| match token {
            Token::Word(word, _) => wanted == "*" || wanted == word,
            Token::Break => false,
        })
}

/// Lists the phrases of a text that are refused, with their lines.
fn refused(text: &str, rows: &[Row]) -> Vec<(usize, String)> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for row in rows {
        let allowed: Vec<Phrase> = row.allowed.iter().map(|text| phrase(text)).collect();
        for refused in &row.refused {
            let wanted = phrase(refused);
            for (at, token) in tokens.iter().enumerate() {
                let Token::Word(_, line) = token else {
                    continue;
                };
                let is_allowed = || {
                    (at.saturating_sub(2)..=at).any(|from| {
                        let mut covering = allowed.iter().filter(|phrase| from + phrase.len() > at);
                        covering.any(|phrase| begins(&tokens[from..], phrase))
                    })
                };
                if begins(&tokens[at..], &wanted) && !is_allowed() {
                    found.push((*line, format!("'{refused}': write {}", row.instead)));
                }
            }
        }
    }
    found
}

/// Lists the names of a source that are refused, with their lines.
fn refused_names(source: &str, rows: &[Row]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in source.lines().enumerate() {
        for name in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
            for row in rows {
                let is_refused = |wanted: &String| match wanted.strip_suffix('*') {
                    Some(start) => name.starts_with(start),
                    None => name == wanted,
                };
                if row.refused.iter().any(is_refused) {
                    found.push((index + 1, format!("'{name}': write {}", row.instead)));
                }
            }
        }
    }
    found
}

fn report(path: &Path, found: Vec<(usize, String)>, wrong: &mut Vec<String>) {
    let lines = found.into_iter();
    wrong.extend(lines.map(|(line, what)| format!("{}:{line}: {what}", path.display())));
}

#[test]
fn nothing_says_a_phrase_that_is_refused() {
    let rows = table("refused phrases");
    assert!(rows.len() > 40, "{}", rows.len());
    let mut wrong = Vec::new();
    for path in files() {
        let text = read(&path);
        let said = if is_rust(&path) { said_in_rust(&text) } else { text };
        report(&path, refused(&said, &rows), &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_constant_has_a_name_that_is_refused() {
    let rows = table("refused names");
    assert!(rows.len() > 5, "{}", rows.len());
    let mut wrong = Vec::new();
    for path in files().into_iter().filter(|path| is_rust(path)) {
        report(&path, refused_names(&read(&path), &rows), &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_phrase_is_found_in_comments_and_literals_only() {
    let rows = [Row {
        refused: vec!["is no *".to_owned()],
        instead: "is not a".to_owned(),
        allowed: vec!["there is no *".to_owned(), "is no longer".to_owned()],
    }];
    let found = |source: &str| {
        let found = refused(&said_in_rust(source), &rows);
        let lines = found.into_iter().map(|(line, _)| line);
        lines.collect::<Vec<_>>()
    };
    assert_eq!(found("let is = no.way; // it is no way\n"), [1]);
    assert_eq!(found("/// A file that Is\n/// no file.\nfn is() {}\n"), [1]);
    assert_eq!(found("let a = '\"'; let b = \"it is \\\n   no file\";"), [1]);
    assert_eq!(found("let a = r#\"a \"file\"\nis no file\"#;"), [2]);
    assert_eq!(found("fn a<'a>(b: &'a str) { say(\"is no file\") }"), [1]);
    for allowed in [
        "// There is no file.\n",
        "// It is no longer there.\n",
        "// It is. No file.\n",
        "say(\"it is\", \"no file\"); is no file\n",
    ] {
        assert!(found(allowed).is_empty(), "{allowed}");
    }
}

//! A line of the screen as commands to run. No shell reads it: quotes are as in a shell, and nothing is expanded.

use std::ffi::OsString;
use std::iter::Peekable;
use std::os::unix::ffi::OsStringExt as _;
use std::str::Chars;

/// What a shell would act on. Here these characters have no meaning, so a line with one is refused unless it is quoted.
const OF_SHELLS: &str = "|;<>()$`\n";

/// Reads a line: commands separated by `&&`, each as the words after `git colony`.
pub(super) fn read(line: &str) -> Result<Vec<Vec<OsString>>, String> {
    let mut commands = vec![Vec::new()];
    let mut chars = line.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace() && *c != '\n').is_some() {}
        if chars.peek() == Some(&'\n') {
            return Err(format!("'{}' has no meaning here: quote it", '\n'.escape_default()));
        }
        match chars.peek() {
            None => break,
            Some('&') => {
                chars.next();
                chars.next_if_eq(&'&').ok_or("'&' has no meaning here: quote it")?;
                commands.push(Vec::new());
            }
            Some(_) => {
                let word = OsString::from_vec(word(&mut chars)?);
                commands.last_mut().expect("it begins with one").push(word);
            }
        }
    }
    commands.into_iter().map(of_ours).collect()
}

/// Returns the words after `git colony`.
fn of_ours(mut words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let program = usize::from(words.first().is_some_and(|word| word == "git-colony"));
    let is_ours = |words: &[OsString]| matches!(words, [a, b, ..] if a == "git" && b == "colony");
    let taken = if is_ours(&words) { 2 } else { program };
    if taken == 0 {
        return Err("only commands of 'git colony' run here".to_owned());
    }
    words.drain(..taken);
    Ok(words)
}

/// Takes one word, with its quotes.
fn word(chars: &mut Peekable<Chars<'_>>) -> Result<Vec<u8>, String> {
    let mut word = Vec::new();
    while let Some(c) = chars.next_if(|c| !c.is_whitespace() && *c != '&') {
        match c {
            '\'' => quoted(chars, '\'', &mut word)?,
            '"' => quoted(chars, '"', &mut word)?,
            '$' if chars.next_if_eq(&'\'').is_some() => escaped(chars, &mut word)?,
            '\\' => push(&mut word, chars.next().ok_or("nothing follows '\\'")?),
            c if OF_SHELLS.contains(c) => {
                return Err(format!("'{}' has no meaning here: quote it", c.escape_default()));
            }
            c => push(&mut word, c),
        }
    }
    Ok(word)
}

/// Takes the rest of a quoted text.
fn quoted(chars: &mut Peekable<Chars<'_>>, quote: char, word: &mut Vec<u8>) -> Result<(), String> {
    loop {
        let is_escape = |c: char, next: Option<&char>| {
            quote == '"' && c == '\\' && matches!(next, Some('"' | '\\'))
        };
        match chars.next() {
            None => return Err(format!("{quote} is not closed")),
            Some(c) if c == quote => return Ok(()),
            Some(c) if is_escape(c, chars.peek()) => word.extend(chars.next().map(|c| c as u8)),
            Some(c) => push(word, c),
        }
    }
}

/// Takes the rest of `$'..'`, the form in which we show names with characters that nobody sees.
fn escaped(chars: &mut Peekable<Chars<'_>>, word: &mut Vec<u8>) -> Result<(), String> {
    loop {
        match chars.next() {
            None => return Err("' is not closed".to_owned()),
            Some('\'') => return Ok(()),
            Some('\\') => {
                let octal = std::iter::from_fn(|| chars.next_if(|c| c.is_digit(8)));
                let digits: String = octal.take(3).collect();
                match u8::from_str_radix(&digits, 8) {
                    Ok(byte) => word.push(byte),
                    Err(_) => push(word, chars.next().ok_or("nothing follows '\\'")?),
                }
            }
            Some(c) => push(word, c),
        }
    }
}

fn push(word: &mut Vec<u8>, c: char) {
    word.extend(c.encode_utf8(&mut [0; 4]).bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::model::text::typed_word;

    use super::*;

    fn words(line: &str) -> Result<Vec<String>, String> {
        let commands = read(line)?.into_iter();
        let words = commands.map(|words| {
            let words = words.iter().map(|word| word.to_string_lossy().into_owned());
            words.collect::<Vec<_>>().join("|")
        });
        Ok(words.collect())
    }

    #[test]
    fn a_line_is_read_as_a_shell_reads_quotes_and_nothing_more() {
        for (line, read) in [
            ("git colony merge ada", vec!["merge|ada"]),
            ("  git  colony undo ", vec!["undo"]),
            ("git-colony log 'a b' \"c \\\" \\x\" d\\ e", vec!["log|a b|c \" \\x|d e"]),
            ("git colony merge a && git colony merge 'b && c'", vec!["merge|a", "merge|b && c"]),
            ("git colony log ''", vec!["log|"]),
            ("git colony log * ~ #", vec!["log|*|~|#"]),
        ] {
            assert_eq!(words(line).unwrap(), read, "{line}");
        }
    }

    #[test]
    fn what_only_a_shell_can_do_is_refused() {
        for line in [
            "",
            "ls",
            "git log",
            "git colony log | less",
            "git colony log; rm x",
            "git colony log $(touch x)",
            "git colony log `touch x`",
            "git colony log $HOME",
            "git colony log > x",
            "git colony log &",
            "git colony merge a && rm x",
            "git colony log 'a",
            "git colony log \"a",
            "git colony log \\",
            "git colony log\nundo",
        ] {
            assert!(words(line).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn every_name_is_read_as_it_was(name in "\\PC*|[ -~]*|.*") {
            prop_assume!(!name.contains('\0'));
            let line = format!("git colony merge {}", typed_word(&name));
            prop_assert_eq!(words(&line), Ok(vec![format!("merge|{name}")]));
        }
    }
}

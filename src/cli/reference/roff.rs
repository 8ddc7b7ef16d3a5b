//! Text as a man page: what roff would read as a command, a dash or a quote is escaped here.

/// A page being written.
pub(super) struct Roff {
    lines: Vec<String>,
}

impl Roff {
    /// Begins a page of section 1, its name in capitals.
    pub(super) fn new(name: &str) -> Roff {
        let comment = ".\\\" Made by 'cargo run --example manual' from the help of the program.";
        let program = escaped(concat!("git-colony ", env!("CARGO_PKG_VERSION")));
        let name = escaped(name);
        // No date: the page is the same whenever it is made.
        let title = format!(".TH \"{name}\" \"1\" \"\" \"{program}\" \"git\\-colony manual\"");
        let lines = [comment, &title, ".nh", ".ad l"].map(str::to_owned);
        Roff { lines: lines.into() }
    }

    pub(super) fn into_text(self) -> String {
        self.lines.join("\n") + "\n"
    }

    pub(super) fn section(&mut self, title: &str) {
        self.lines.push(format!(".SH \"{}\"", escaped(title)));
    }

    pub(super) fn subsection(&mut self, title: &str) {
        self.lines.push(format!(".SS \"{}\"", escaped(title)));
    }

    /// The line that `apropos` and `whatis` read.
    pub(super) fn name(&mut self, name: &str, about: &str) {
        self.lines.push(format!("{} \\- {}", escaped(name), escaped(about)));
    }

    /// One way to call a command: literal words in bold, placeholders in italics.
    pub(super) fn synopsis(&mut self, command: &str, words: &[&str]) {
        let words: Vec<_> = words.iter().map(|word| placeholders(word)).collect();
        let command = bold(command);
        if self.lines.last().is_some_and(|line| !line.starts_with(".SH")) {
            self.lines.push(".br".to_owned());
        }
        self.lines.push(format!("{command} {}", words.join(" ")));
    }

    pub(super) fn paragraphs<'a>(&mut self, paragraphs: impl IntoIterator<Item = &'a str>) {
        for (number, paragraph) in paragraphs.into_iter().enumerate() {
            if number > 0 {
                self.lines.push(".PP".to_owned());
            }
            self.prose(paragraph);
        }
    }

    /// A term and what it means.
    pub(super) fn entry(&mut self, term: &str, meaning: &str) {
        self.tagged(&bold(term), meaning);
    }

    /// Another page of section 1 and what it is about.
    pub(super) fn reference_entry(&mut self, page: &str, about: &str) {
        self.tagged(&format!("{}(1)", bold(page)), about);
    }

    /// An option with its names, or a positional argument without.
    pub(super) fn option(&mut self, names: &[String], value: &str, meaning: &str) {
        let value = placeholders(value);
        let named: Vec<_> = names
            .iter()
            .map(|name| format!("{} {value}", bold(name)).trim_end().to_owned())
            .collect();
        let tag = if named.is_empty() { value } else { named.join(", ") };
        self.tagged(&tag, meaning);
    }

    /// Other pages; of section 1 where they do not say.
    pub(super) fn references(&mut self, pages: &[&str]) {
        let page = |page: &&str| match page.split_once('(') {
            Some((name, section)) => format!("{}({section}", bold(name)),
            None => format!("{}(1)", bold(page)),
        };
        let pages: Vec<_> = pages.iter().map(page).collect();
        self.lines.push(pages.join(",\n"));
    }

    fn tagged(&mut self, tag: &str, meaning: &str) {
        self.lines.push(format!(".TP\n{tag}"));
        for (number, paragraph) in meaning.split("\n\n").enumerate() {
            if number > 0 {
                self.lines.push(".IP".to_owned());
            }
            self.prose(paragraph);
        }
    }

    /// Sentences, each on a line of its own; quoted words are typed literally, so bold.
    fn prose(&mut self, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for sentence in text.replace(". ", ".\n").lines() {
            let mut line = String::new();
            for (number, part) in quoted_parts(sentence).into_iter().enumerate() {
                line.push_str(&if number % 2 == 1 { bold(part) } else { escaped(part) });
            }
            // A dot at the start of a line would be a request.
            let guard = if line.starts_with('.') { "\\&" } else { "" };
            self.lines.push(format!("{guard}{line}"));
        }
    }
}

/// Splits at pairs of quotes: plain, quoted, plain, ... An apostrophe is not a quote.
fn quoted_parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((open, close)) = next_quoted(rest) {
        parts.extend([rest.get(..open), rest.get(open + 1..close)].into_iter().flatten());
        rest = rest.get(close + 1..).expect("a quote is one byte");
    }
    parts.push(rest);
    parts
}

fn next_quoted(text: &str) -> Option<(usize, usize)> {
    let before = |at: usize| text.get(..at)?.chars().next_back();
    let after = |at: usize| text.get(at + 1..)?.chars().next();
    let opens = |at: &usize| !before(*at).is_some_and(char::is_alphanumeric);
    let open = text.match_indices('\'').map(|(at, _)| at).find(opens)?;
    let closes = |at: &usize| *at > open + 1 && !after(*at).is_some_and(char::is_alphanumeric);
    let close = text.match_indices('\'').map(|(at, _)| at).find(closes)?;
    Some((open, close))
}

fn bold(text: &str) -> String {
    format!("\\fB{}\\fR", escaped(text))
}

/// Names in capitals stand for something; brackets, dots and dashes are as they are.
fn placeholders(text: &str) -> String {
    let mut shown = String::new();
    let mut italic = false;
    for c in text.chars() {
        let names = c.is_ascii_uppercase();
        if names != italic {
            shown.push_str(if names { "\\fI" } else { "\\fR" });
            italic = names;
        }
        shown.push_str(&escaped(&c.to_string()));
    }
    if italic {
        shown.push_str("\\fR");
    }
    shown
}

/// Makes text mean itself: ASCII only, and nothing that roff would change on its way to the page.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => safe.push_str("\\e"),
            '-' => safe.push_str("\\-"),
            '\'' => safe.push_str("\\(aq"),
            '"' => safe.push_str("\\(dq"),
            '`' => safe.push_str("\\(ga"),
            '^' => safe.push_str("\\(ha"),
            '~' => safe.push_str("\\(ti"),
            ' '..='~' => safe.push(c),
            c if c.is_control() => safe.push(' '),
            c => safe.extend(["\\[u", &format!("{:04X}", u32::from(c)), "]"]),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_roff_would_read_as_its_own_is_escaped() {
        let mut roff = Roff::new("X");
        roff.paragraphs([".git/colony is git's. 'a -b' and\u{1b}[31m \\n `x` ~ ^ \u{e9}"]);
        let page = roff.into_text();
        let prose: Vec<_> = page.lines().skip(4).collect();
        let expected = "\\fBa \\-b\\fR and [31m \\en \\(gax\\(ga \\(ti \\(ha \\[u00E9]";
        assert_eq!(prose, ["\\&.git/colony is git\\(aqs.", expected]);
    }
}

//! Color by named roles: what a piece of text is, not how it looks. Every piece is escaped before it is painted, so
//! that no text of a repository paints anything.

use crate::model::escape;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Anything.
    #[default]
    Plain,
    /// What the rest is about: a branch, an agent, a label.
    Heading,
    /// It is well.
    Good,
    /// It needs the user.
    Warning,
    /// It failed, or is in conflict.
    Bad,
    /// To be typed or pasted.
    Command,
    /// The id of a commit, a checkpoint, an operation.
    Id,
    /// Beside the point: times, remarks.
    Dim,
}

impl Role {
    /// Returns the parameters of the escape sequence: only the sixteen colors, which every terminal lets people
    /// choose, and no background.
    fn parameters(self) -> Option<&'static str> {
        match self {
            Role::Plain => None,
            Role::Heading => Some("1"),
            Role::Good => Some("32"),
            Role::Warning | Role::Id => Some("33"),
            Role::Bad => Some("31"),
            Role::Command => Some("36"),
            Role::Dim => Some("2"),
        }
    }
}

/// Whether roles are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// They are not: the bytes of the text and nothing else.
    #[default]
    Plain,
    /// By escape sequences.
    Ansi,
}

impl Palette {
    /// Escapes a piece of text and paints it.
    pub fn paint(self, role: Role, text: &str) -> String {
        let text = escape::line(text);
        match (self, role.parameters()) {
            (Palette::Ansi, Some(parameters)) if !text.is_empty() => {
                format!("\x1b[{parameters}m{text}\x1b[m")
            }
            _ => text,
        }
    }

    /// Escapes a patch and paints it as git does.
    pub fn patch(self, text: &str) -> String {
        let line = |line: &str| {
            let (content, end) = match line.strip_suffix('\n') {
                Some(content) => (content, "\n"),
                None => (line, ""),
            };
            let safe = escape::patch(content);
            let parameters = match content.get(..1) {
                _ if self == Palette::Plain => None,
                _ if is_patch_header(content) => Some("1"),
                Some("@") => Some("36"),
                Some("+") => Some("32"),
                Some("-") => Some("31"),
                _ => None,
            };
            match parameters {
                Some(parameters) => format!("\x1b[{parameters}m{safe}\x1b[m{end}"),
                None => format!("{safe}{end}"),
            }
        };
        text.split_inclusive('\n').map(line).collect()
    }
}

/// Returns `true` if a line is between two files of a patch. A line of a file that begins so is painted wrong, and
/// nothing else.
fn is_patch_header(line: &str) -> bool {
    let headers = ["diff --git ", "index ", "--- a/", "--- /dev/null", "+++ b/", "+++ /dev/null"];
    headers.iter().any(|header| line.starts_with(header))
}

/// A piece of text and what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// What it is.
    pub role: Role,
    /// The text, as it comes.
    pub text: String,
}

impl Span {
    /// Makes one.
    pub fn new(role: Role, text: impl Into<String>) -> Span {
        Span { role, text: text.into() }
    }
}

impl From<String> for Span {
    fn from(text: String) -> Span {
        Span::new(Role::Plain, text)
    }
}

impl From<&str> for Span {
    fn from(text: &str) -> Span {
        Span::new(Role::Plain, text)
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(pub Vec<Span>);

impl From<Vec<Span>> for Line {
    fn from(spans: Vec<Span>) -> Line {
        Line(spans)
    }
}

/// The beginnings of lines that need the user.
const WARNINGS: [&str; 6] =
    ["attention: ", "clash: ", "left out: ", "left alone: ", "FAIL ", "warn "];

/// The beginning of a line that is a command otherwise.
const REPAIR: &str = "repair: ";

impl Line {
    /// Finds the roles in a line that comes without: a warning, a command that is offered, a remark behind it.
    pub fn read(text: &str) -> Line {
        let mut spans = Vec::new();
        let mut rest = text;
        if let Some(label) = WARNINGS.iter().find(|label| rest.starts_with(**label)) {
            let (label, after) = rest.split_at(label.len());
            spans.push(Span::new(Role::Warning, label));
            rest = after;
        }
        let command = ["git colony", "git -C ", "rm -rf "].into_iter().filter_map(|begin| {
            let at = rest.find(begin)?;
            let before = rest.get(..at)?;
            (before.ends_with(": ") || before.trim().is_empty()).then_some(at)
        });
        // What repairs something may be a command of any program.
        let repair = rest.starts_with(REPAIR).then_some(REPAIR.len());
        let Some(at) = repair.or_else(|| command.min()) else {
            spans.push(rest.into());
            return Line(spans);
        };
        let (before, command) = rest.split_at(at);
        spans.push(before.into());
        // A remark stands behind three blanks.
        let (command, remark) = match command.find("   ") {
            Some(at) => command.split_at(at),
            None => (command, ""),
        };
        spans.push(Span::new(Role::Command, command));
        spans.push(Span::new(Role::Dim, remark));
        Line(spans)
    }

    /// Returns the text without roles.
    pub fn text(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }

    /// Escapes and paints it.
    pub fn paint(&self, palette: Palette) -> String {
        let spans = self.0.iter();
        spans.map(|span| palette.paint(span.role, &span.text)).collect()
    }

    /// Returns `true` if it contains a command to paste.
    pub fn offers(&self) -> bool {
        self.0.iter().any(|span| span.role == Role::Command)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_command_that_is_offered_is_found_with_its_remark() {
        for (text, command) in [
            ("to undo: git colony undo   (op-1)", Some("git colony undo")),
            ("  git -C /c colony undo", Some("git -C /c colony undo")),
            ("attention: x: git colony doctor", Some("git colony doctor")),
            (
                "repair: rm /c/.git && mv /d /c/.git   # its place",
                Some("rm /c/.git && mv /d /c/.git"),
            ),
            ("'git colony map' does it", None),
            ("a line", None),
        ] {
            let line = Line::read(text);
            assert_eq!(line.text(), text);
            let span = line.0.iter().find(|span| span.role == Role::Command);
            assert_eq!(span.map(|span| span.text.as_str()), command);
            assert_eq!(line.offers(), command.is_some());
        }
    }

    #[test]
    fn a_patch_is_painted_as_git_does() {
        let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\x1b[2J\n c\n";
        assert_eq!(Palette::Plain.patch(patch), escape::patch(patch));
        let painted = Palette::Ansi.patch(patch);
        assert!(
            painted.contains("\x1b[31m-a\x1b[m\n\x1b[32m+b\\x1b[2J\x1b[m\n c\n"),
            "{painted:?}"
        );
        assert!(painted.starts_with("\x1b[1mdiff --git a/x b/x\x1b[m\n\x1b[1m--- a/x\x1b[m\n"));
    }

    proptest! {
        #[test]
        fn no_text_paints_anything(text in any::<String>()) {
            let painted = Palette::Ansi.paint(Role::Bad, &text);
            let inner = painted.strip_prefix("\x1b[31m").and_then(|rest| rest.strip_suffix("\x1b[m"));
            prop_assert_eq!(inner.unwrap_or_default(), escape::line(&text));
            prop_assert_eq!(Palette::Plain.paint(Role::Bad, &text), escape::line(&text));
            let line = Line::read(&text);
            prop_assert_eq!(line.paint(Palette::Plain), escape::line(&text));
        }
    }
}

//! A line that is being typed.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::model::escape;

/// The line: its text, and where the next character goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineEdit {
    before: String,
    after: String,
}

/// What a key did to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// It goes on.
    Goes,
    /// Enter.
    Entered,
    /// Esc.
    Left,
}

impl LineEdit {
    /// Begins behind a text.
    pub(super) fn of(text: impl Into<String>) -> LineEdit {
        LineEdit { before: text.into(), after: String::new() }
    }

    /// Returns the text.
    pub(super) fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    /// Returns the text before the place of the next character.
    pub(super) fn before(&self) -> &str {
        &self.before
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: KeyEvent) -> Edited {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Edited::Entered,
            KeyCode::Esc => return Edited::Left,
            KeyCode::Char('c') if is_control => return Edited::Left,
            KeyCode::Char('a') if is_control => self.go_to_start(),
            KeyCode::Char('e') if is_control => self.go_to_end(),
            KeyCode::Char('u') if is_control => self.before.clear(),
            KeyCode::Char('k') if is_control => self.after.clear(),
            KeyCode::Char('w') if is_control => self.delete_word(),
            KeyCode::Char(c) if !is_control && !key.modifiers.contains(KeyModifiers::ALT) => {
                self.paste(&c.to_string());
            }
            KeyCode::Home => self.go_to_start(),
            KeyCode::End => self.go_to_end(),
            KeyCode::Backspace => drop(self.before.pop()),
            KeyCode::Delete => drop(self.take_next()),
            KeyCode::Left => {
                if let Some(moved) = self.before.pop() {
                    self.after.insert(0, moved);
                }
            }
            KeyCode::Right => {
                let moved = self.take_next();
                self.before.extend(moved);
            }
            _ => {}
        }
        Edited::Goes
    }

    /// Takes a text that was pasted: of several lines, only the first.
    pub(super) fn paste(&mut self, text: &str) {
        let first = text.split(['\n', '\r']).next().unwrap_or_default();
        self.before.extend(first.chars().filter(|c| !escape::is_dangerous(*c)));
    }

    fn take_next(&mut self) -> Option<char> {
        let next = self.after.chars().next()?;
        self.after.drain(..next.len_utf8());
        Some(next)
    }

    fn go_to_start(&mut self) {
        self.after.insert_str(0, &std::mem::take(&mut self.before));
    }

    fn go_to_end(&mut self) {
        self.before.push_str(&std::mem::take(&mut self.after));
    }

    fn delete_word(&mut self) {
        let kept = self.before.trim_end();
        let start = kept.rfind(' ').map_or(0, |at| at + 1);
        self.before.truncate(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_as_elsewhere() {
        let mut line = LineEdit::of("git colony merge ada");
        let mut press = |codes: &[KeyCode], control: bool| {
            let held = if control { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
            for code in codes {
                assert_eq!(line.press(KeyEvent::new(*code, held)), Edited::Goes);
            }
            (line.before().to_owned(), line.text())
        };
        let is = |before: &str, text: &str| (before.to_owned(), text.to_owned());
        let (left, back) = (KeyCode::Left, KeyCode::Backspace);
        assert_eq!(
            press(&[left, left, back], false),
            is("git colony merge ", "git colony merge da")
        );
        let word = [KeyCode::Char('w')];
        assert_eq!(press(&word, true), is("git colony ", "git colony da"));
        assert_eq!(press(&[KeyCode::Char('x')], false), is("git colony x", "git colony xda"));
        assert_eq!(press(&[KeyCode::Char('k')], true), is("git colony x", "git colony x"));
        assert_eq!(press(&[KeyCode::Home, KeyCode::Delete], false), is("", "it colony x"));
        assert_eq!(press(&[KeyCode::Right], false), is("i", "it colony x"));
        assert_eq!(press(&[KeyCode::End], false), is("it colony x", "it colony x"));
        assert_eq!(press(&[KeyCode::Char('u')], true), is("", ""));
    }

    #[test]
    fn only_the_first_line_that_is_pasted_counts() {
        let mut line = LineEdit::default();
        line.paste("merge \u{1b}[2Jada\nundo\n");
        assert_eq!(line.text(), "merge [2Jada");
        assert_eq!(line.press(KeyEvent::from(KeyCode::Enter)), Edited::Entered);
        assert_eq!(line.press(KeyEvent::from(KeyCode::Esc)), Edited::Left);
    }
}

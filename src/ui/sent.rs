//! Commands to paste, where the command that offers them ran in another directory than the shell stands in: after
//! `git -C DIR colony ..` or `git colony -C DIR ..` they are offered as `git -C DIR colony ..`.
//!
//! Covered are hints, of refusals and of answers, and the lines of answers that begin with one of `LABELS`.
//! Not covered are commands in the middle of a sentence or in quotes, those in other fields of JSON (`fix`,
//! `restore`, `next.command`), and notes beside the answer: there they are commands to run in that directory.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use crate::model::World;
use crate::model::text::typed_word;

/// What the lines begin with that offer a command.
const LABELS: [&str; 7] = [
    "to undo: ",
    "or to undo: ",
    "to restore: ",
    "settle them, 'git add' each, then: ",
    "open them: ",
    "next: ",
    "hint: ",
];

/// The commands of git that are offered; any other word after `git` is prose.
const VERBS: &str = "-c add am bisect branch checkout cherry-pick colony commit config diff fetch fsck lfs log \
                     ls-files merge pull push rebase remote reset revert rm show stash status switch tag \
                     update-ref worktree";

/// The directory of the commands that are offered. Nothing is looked up before one is.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    places: Option<Places>,
    /// The directory as a word; `None` if the shell is there already.
    word: OnceCell<Option<String>>,
}

#[derive(Clone, Debug)]
struct Places {
    stands_in: PathBuf,
    ran_in: PathBuf,
}

impl Sent {
    /// Compares where the command ran with where the shell that started it stands: git says nothing of its `-C`,
    /// but leaves the word of the shell (`PWD`).
    pub fn to(world: &World, ran_in: &Path) -> Sent {
        let variable = world.variable("PWD").map(Path::new);
        let stands_in = variable.filter(|variable| variable.is_absolute());
        Sent {
            places: Some(Places {
                stands_in: stands_in.unwrap_or(&world.cwd).to_owned(),
                ran_in: ran_in.to_owned(),
            }),
            word: OnceCell::new(),
        }
    }

    fn word(&self) -> Option<&String> {
        let find = || {
            let Places { stands_in, ran_in } = self.places.as_ref()?;
            let ran_in = ran_in.canonicalize().ok()?;
            let is_elsewhere = stands_in.canonicalize().ok().as_ref() != Some(&ran_in);
            // A path that is not text cannot be pasted.
            ran_in.to_str().filter(|_| is_elsewhere).map(typed_word)
        };
        self.word.get_or_init(find).as_ref()
    }

    /// Sends the commands of a hint.
    pub fn hint(&self, hint: &str) -> String {
        let Some(place) = self.word() else {
            return hint.to_owned();
        };
        // A comment is for reading.
        let (commands, comment) = hint.split_once("   # ").unwrap_or((hint, ""));
        let sent: Vec<_> = commands.split(" && ").map(|command| send(command, place)).collect();
        let comment = Some(comment)
            .filter(|comment| !comment.is_empty())
            .map_or_else(String::new, |comment| format!("   # {comment}"));
        format!("{}{comment}", sent.join(" && "))
    }

    /// Sends the command of a line of an answer.
    pub fn line(&self, line: String) -> String {
        let label = LABELS.iter().find(|label| line.starts_with(**label));
        let command = label.and_then(|label| Some((label, line.strip_prefix(label)?)));
        match command {
            Some((label, command)) => format!("{label}{}", self.hint(command)),
            None => line,
        }
    }
}

fn send(command: &str, place: &str) -> String {
    // Prose may stand before a command, as in 'name the branch: git colony ..'.
    let (before, command) = match command.split_once(": git ") {
        Some((before, _)) => command.split_at(before.len() + ": ".len()),
        None => ("", command),
    };
    let words = command.strip_prefix("git ");
    let is_offered = |words: &&str| {
        let verb = words.split(' ').next().unwrap_or_default();
        // What was sent somewhere already stays.
        VERBS.split_whitespace().any(|known| known == verb) && !words.starts_with("colony -C ")
    };
    match words.filter(is_offered) {
        Some(words) => format!("{before}git -C {place} {words}"),
        None => format!("{before}{command}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: &str) -> Sent {
        Sent { places: None, word: OnceCell::from(Some(place.to_owned())) }
    }

    #[test]
    fn every_command_of_a_hint_is_sent_and_prose_stays() {
        let sent = at("'/a b'");
        for (hint, expected) in [
            (
                "git switch x && git colony merge y --resolve",
                "git -C '/a b' switch x && git -C '/a b' colony merge y --resolve",
            ),
            (
                "git colony undo   # then: git colony redo",
                "git -C '/a b' colony undo   # then: git colony redo",
            ),
            (
                "name the branch: git colony merge x --into y",
                "name the branch: git -C '/a b' colony merge x --into y",
            ),
            (
                "git -c merge.ff=true colony merge x",
                "git -C '/a b' -c merge.ff=true colony merge x",
            ),
            ("git colony -C /c restore x", "git colony -C /c restore x"),
            ("git -C /c status", "git -C /c status"),
            ("git cannot tell", "git cannot tell"),
            ("df -h /", "df -h /"),
        ] {
            assert_eq!(sent.hint(hint), expected);
            assert_eq!(Sent::default().hint(hint), hint);
        }
    }

    #[test]
    fn only_lines_that_offer_a_command_are_sent() {
        let sent = at("/c");
        let line = |line: &str| sent.line(line.to_owned());
        assert_eq!(
            line("to undo: git colony undo   (op-1)"),
            "to undo: git -C /c colony undo   (op-1)"
        );
        assert_eq!(line("  git colony undo"), "  git colony undo");
        assert_eq!(line("git colony undo"), "git colony undo");
    }
}

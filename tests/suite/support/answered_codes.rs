//! Which error codes commands answer with, as the tests meet them: docs/errors.md lists them.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::Value;

use super::refusals;

/// Global options with a value, which is not a command.
const WITH_VALUE: [&str; 4] = ["-C", "--agent", "--timeout", "--color"];

/// Checks the answer of a run that failed and told it in JSON, and adds a line with command and code to the file that
/// `COLONY_TEST_ANSWERS` names; without the variable nothing is written.
pub(super) fn note(words: &[OsString], stdout: &str) {
    let Ok(answer) = serde_json::from_str::<Value>(stdout) else { return };
    let (Some("error"), Some(code), Some(command)) =
        (answer["status"].as_str(), answer["code"].as_str(), command_of(words))
    else {
        return;
    };
    refusals::check(&command, words, &answer);
    let Some(file) = env::var_os("COLONY_TEST_ANSWERS") else { return };
    // In one write: tests end at the same time.
    let file = OpenOptions::new().create(true).append(true).open(file);
    file.unwrap().write_all(format!("{command} {code}\n").as_bytes()).unwrap();
}

/// Returns the command of a command line, by its name in this version: the first word that is neither an option nor the
/// value of one.
fn command_of(words: &[OsString]) -> Option<String> {
    let words = git_colony::testing::command_of_this_version(words.get(1..)?);
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let is_value = |at: usize| {
        let before = at.checked_sub(1).map(|before| &words[before]);
        before.is_some_and(|before| WITH_VALUE.iter().any(|option| before == option))
    };
    let found = (0..words.len()).find(|at| !words[*at].starts_with('-') && !is_value(*at))?;
    let command = words[found].clone().into_owned();
    git_colony::testing::examples::all().any(|known| known.command == command).then_some(command)
}

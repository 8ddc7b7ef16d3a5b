//! The command line as it was typed, with one word put right: a hint that does what was wanted.

use std::ffi::OsString;

use serde_json::Value;

use crate::model::text::typed_word;
use crate::model::{Code, Error};

/// Where a name fits several checkpoints, offers the same command with the id of the newest; where it fits none, with
/// the most similar label; where it has both sides of a range, with one.
pub(super) fn with_the_newest(error: Error, args: &[OsString]) -> Error {
    if error.code() == Code::CheckpointNotFound {
        return with_the_nearest(error, args);
    }
    if error.details().contains_key("one_side") {
        return with_one_side(error, args);
    }
    if error.code() != Code::CheckpointAmbiguous {
        return error;
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let details = error.details();
    let name = details.get("name").and_then(text);
    let ids = details.get("candidates").and_then(Value::as_array);
    let newest = ids.and_then(|ids| text(ids.first()?));
    let (Some(name), Some(newest)) = (name, newest) else {
        return error;
    };
    match retyped(args, &name, &newest) {
        Some(line) => error.hint(format!("git colony {line}   # the newest of them")),
        None => error,
    }
}

fn with_the_nearest(error: Error, args: &[OsString]) -> Error {
    let text = |name: &str| error.details().get(name).and_then(Value::as_str);
    let (Some(name), Some(nearest)) = (text("name"), text("nearest")) else {
        return error;
    };
    match retyped(args, name, nearest) {
        Some(line) => error.hint(format!("git colony {line}   # the most similar label")),
        None => error,
    }
}

fn with_one_side(error: Error, args: &[OsString]) -> Error {
    let text = |name: &str| error.details().get(name).and_then(Value::as_str);
    let line = text("name").zip(text("one_side"));
    match line.and_then(|(name, side)| retyped(args, name, side)) {
        Some(line) => error.hint(format!("git colony {line}")),
        None => error,
    }
}

/// Returns the words after the program's name as a shell takes them, `from` replaced by `to`.
fn retyped(args: &[OsString], from: &str, to: &str) -> Option<String> {
    let words: Vec<&str> = args.iter().skip(1).map(|arg| arg.to_str()).collect::<Option<_>>()?;
    let at = words.iter().position(|word| *word == from)?;
    let shown = words.iter().enumerate().map(|(number, word)| {
        let word = if number == at { to } else { word };
        (!word.contains(char::is_control)).then(|| typed_word(word))
    });
    Some(shown.collect::<Option<Vec<_>>>()?.join(" "))
}

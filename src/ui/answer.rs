//! One report per action: a line and a body for people, one object for programs.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::time::Moment;
use crate::model::{Code, Error};

use super::escape;
use super::sent::Sent;

/// Whether the answer is yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Yes,
    /// The work is done and the answer is no: exit code 1.
    No,
}

/// What a command found or did.
pub trait Answer: Serialize {
    /// Returns the same in one sentence, for people and for `message` in JSON.
    fn message(&self) -> String;

    /// Returns what stands first on standard output for people: the sentence, unless a script is to
    /// take the line as it is.
    fn line(&self) -> String {
        self.message()
    }

    /// Returns what is said beside the answer, on standard error.
    fn narration(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns what follows the sentence for people; `now` is for distances in time.
    fn body(&self, _now: &Moment) -> Vec<String> {
        Vec::new()
    }

    /// Returns what ends the answer for people and programs alike, byte for byte: a patch. Only on a
    /// terminal its control characters become visible, tabs and line ends excepted.
    fn verbatim(&self) -> Option<&str> {
        None
    }

    /// Returns whether the answer is yes.
    fn outcome(&self) -> Outcome {
        Outcome::Yes
    }
}

/// What a command answers with `--json` when it refuses or fails.
#[derive(Serialize, JsonSchema)]
pub struct ErrorAnswer<'a> {
    /// Always false.
    ok: bool,
    /// Always `error`.
    status: &'static str,
    /// The stable name of what went wrong; names are added, never changed.
    #[schemars(extend("examples" = Code::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>()))]
    code: &'static str,
    /// The same for people, in one line.
    message: String,
    /// The next command to try.
    hint: Option<&'a str>,
    /// Machine-readable particulars.
    detail: &'a Map<String, Value>,
}

/// How answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines for people.
    Text,
    /// Nothing but errors.
    Quiet,
    /// One JSON object.
    Json,
}

/// How an answer is written, and where it goes.
#[derive(Clone, Debug)]
pub struct Shown {
    /// How it is written.
    pub form: Form,
    /// Whether it goes to a terminal.
    pub on_terminal: bool,
    /// Where the commands are sent that it offers.
    pub sent: Sent,
}

/// Writes an answer.
///
/// # Errors
/// What the stream says.
pub fn print_answer(
    out: &mut dyn Write,
    shown: &Shown,
    answer: &impl Answer,
    now: &Moment,
) -> io::Result<()> {
    match shown.form {
        Form::Quiet => Ok(()),
        Form::Text => {
            let message = answer.line();
            let body = answer.body(now);
            let lines = Some(message)
                .filter(|message| !message.is_empty())
                .into_iter()
                .chain(body.into_iter().map(|line| shown.sent.line(line)));
            lines
                .into_iter()
                .try_for_each(|line| writeln!(out, "{}", escape::line(&line)))?;
            match answer.verbatim() {
                Some(text) if shown.on_terminal => write!(out, "{}", escape::patch(text))?,
                Some(text) => write!(out, "{text}")?,
                None => {}
            }
            out.flush()
        }
        Form::Json => {
            let mut object = Map::new();
            object.insert(
                "ok".to_owned(),
                Value::Bool(answer.outcome() == Outcome::Yes),
            );
            object.insert("message".to_owned(), Value::String(answer.message()));
            if let Value::Object(fields) = serde_json::to_value(answer)? {
                object.extend(fields);
            }
            if let Some(Value::String(hint)) = object.get_mut("hint") {
                *hint = shown.sent.hint(hint);
            }
            write_json(out, &object)
        }
    }
}

/// Writes an error: with `--json` as the one answer on `out`, else for people on `err`.
///
/// # Errors
/// What the stream says.
pub fn print_error(
    out: &mut dyn Write,
    err: &mut dyn Write,
    form: Form,
    error: &Error,
) -> io::Result<()> {
    if form != Form::Json {
        writeln!(err, "error: {}", escape::line(&error.message()))?;
        for line in usage(error) {
            writeln!(err, "{}", escape::line(&line))?;
        }
        if let Some(hint) = error.hint_text() {
            writeln!(err, "hint: {}", escape::line(hint))?;
        }
        return err.flush();
    }
    let code = error.code().as_str();
    let answer = ErrorAnswer {
        ok: false,
        status: "error",
        code,
        message: error.message(),
        hint: error.hint_text(),
        detail: error.details(),
    };
    write_json(out, &answer)
}

/// Returns how the command is called, as git says it, where it was called in another way.
fn usage(error: &Error) -> Vec<String> {
    let usage = error.details().get("usage").and_then(Value::as_str);
    let lines = usage.into_iter().flat_map(str::lines).map(str::trim);
    let told = lines.enumerate().map(|(at, line)| match at {
        0 => format!("usage: {line}"),
        _ => format!("   or: {line}"),
    });
    told.collect()
}

fn write_json(out: &mut dyn Write, object: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(object)?;
    writeln!(out, "{}", escape::json(&text))?;
    out.flush()
}

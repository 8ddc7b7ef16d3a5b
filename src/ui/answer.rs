//! One report per action: a line and a body for people, one object for programs.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::escape;
use crate::model::time::Moment;
use crate::model::{Code, Error, Untouched};

use super::layout::Block;
use super::sent::Sent;
use super::theme::{Line, Palette, Role, Span};

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

    /// Returns the first line on standard output for people: the sentence, unless a script is to
    /// take the line as it is.
    fn line(&self) -> String {
        self.message()
    }

    /// Returns the notes beside the answer, for standard error.
    fn narration(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns what follows the sentence for people; `now` is for distances in time.
    fn body(&self, _now: &Moment) -> Vec<String> {
        Vec::new()
    }

    /// Returns the first line with its roles; it is never broken, since scripts take it as it is.
    fn headline(&self) -> Line {
        Line(vec![self.line().into()])
    }

    /// Returns what follows with roles and columns; `body` is all that most answers need.
    fn blocks(&self, now: &Moment) -> Vec<Block> {
        self.body(now).into_iter().map(Block::text).collect()
    }

    /// Returns `true` if it only lists things: such an answer may be long, and goes through a pager.
    fn is_listing(&self) -> bool {
        false
    }

    /// Returns what ends the answer for people and programs alike, byte for byte: a patch. Only on a
    /// terminal its control characters become visible, tabs and newlines excepted.
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
    /// The same for people, in one line, with the end that `untouched` repeats.
    message: String,
    /// The end of `message` that says what has not changed; null where nothing is promised.
    untouched: Option<&'static str>,
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

/// How an object of JSON is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A member a line, for a person.
    Spread,
    /// One line, for a program: a model pays for each space.
    Compact,
}

/// How an answer is written, and where it goes.
#[derive(Clone, Debug)]
pub struct AnswerForm {
    /// How it is written.
    pub form: Form,
    /// Whether it goes to a terminal.
    pub on_terminal: bool,
    /// Where the commands are sent that it offers.
    pub sent: Sent,
    /// Whether roles are shown.
    pub palette: Palette,
    /// How many columns the terminal has; `None` where nothing is fitted to one.
    pub columns: Option<usize>,
}

impl AnswerForm {
    /// Returns an answer as it is written.
    pub fn render(&self, answer: &impl Answer, now: impl Fn() -> Moment) -> io::Result<String> {
        match self.form {
            Form::Quiet => Ok(String::new()),
            Form::Text => Ok(self.text(answer, &now())),
            Form::Json => {
                let mut object = Map::new();
                let is_ok = answer.outcome() == Outcome::Yes;
                object.insert("ok".to_owned(), Value::Bool(is_ok));
                object.insert("message".to_owned(), Value::String(answer.message()));
                if let Value::Object(fields) = serde_json::to_value(answer)? {
                    object.extend(fields);
                }
                if let Some(Value::String(hint)) = object.get_mut("hint") {
                    *hint = self.sent.hint(hint);
                }
                json(&object, self.layout())
            }
        }
    }

    fn layout(&self) -> Layout {
        if self.on_terminal { Layout::Spread } else { Layout::Compact }
    }

    fn text(&self, answer: &impl Answer, now: &Moment) -> String {
        let headline = answer.headline();
        let mut lines = Vec::new();
        if !headline.text().is_empty() {
            lines.extend(Block::Line(headline).show(self.palette, self.columns));
        }
        for block in answer.blocks(now) {
            let block = match block {
                Block::Line(line) => self.sent_line(line),
                block => block,
            };
            lines.extend(block.show(self.palette, self.columns));
        }
        let mut text: String = lines.into_iter().map(|line| line + "\n").collect();
        match answer.verbatim() {
            Some(patch) if self.on_terminal || self.palette == Palette::Ansi => {
                text.push_str(&self.palette.patch(patch));
            }
            Some(patch) => text.push_str(patch),
            None => {}
        }
        text
    }

    /// Sends the command that a line offers where it is to be run.
    fn sent_line(&self, line: Line) -> Block {
        let text = line.text();
        let sent = self.sent.line(text.clone());
        if sent == text { Block::Line(line) } else { Block::text(sent) }
    }
}

/// The columns of each of the two lines of a refusal, as far as names that the user gave allow.
const MAX_REFUSAL_COLUMNS: usize = 80;

/// Writes an error for people.
pub fn print_error(err: &mut dyn Write, palette: Palette, error: &Error) -> io::Result<()> {
    let label = "error: ";
    let sentence = error.sentence_within(MAX_REFUSAL_COLUMNS - label.len());
    let message = Line(vec![Span::new(Role::Bad, label), sentence.into()]);
    let usage = usage(error).into_iter().map(|line| Line(vec![line.into()]));
    let hint = error.hint_text().map(hint_line);
    for line in std::iter::once(message).chain(usage).chain(hint) {
        writeln!(err, "{}", line.paint(palette))?;
    }
    err.flush()
}

/// Writes an error for programs, as the one answer.
pub fn print_json_error(out: &mut dyn Write, layout: Layout, error: &Error) -> io::Result<()> {
    let code = error.code().as_str();
    let answer = ErrorAnswer {
        ok: false,
        status: "error",
        code,
        message: error.sentence(),
        untouched: error.left_untouched().map(Untouched::sentence),
        hint: error.hint_text(),
        detail: error.details(),
    };
    out.write_all(json(&answer, layout)?.as_bytes())?;
    out.flush()
}

fn hint_line(hint: &str) -> Line {
    let (command, remark) = match hint.find("   # ") {
        Some(at) => hint.split_at(at),
        None => (hint, ""),
    };
    Line(vec![
        Span::new(Role::Warning, "hint: "),
        Span::new(Role::Command, command),
        Span::new(Role::Dim, remark),
    ])
}

/// Returns how the command is called, as git says it, where it was called in another way.
fn usage(error: &Error) -> Vec<String> {
    let usage = error.details().get("usage").and_then(Value::as_str);
    let lines = usage.into_iter().flat_map(str::lines).map(str::trim);
    let usage_lines = lines.enumerate().map(|(at, line)| match at {
        0 => format!("usage: {line}"),
        _ => format!("   or: {line}"),
    });
    usage_lines.collect()
}

fn json(object: &impl Serialize, layout: Layout) -> io::Result<String> {
    let text = match layout {
        Layout::Spread => serde_json::to_string_pretty(object)?,
        Layout::Compact => serde_json::to_string(object)?,
    };
    Ok(escape::json(&text) + "\n")
}

//! `git colony help schema`
//!
//! Every command answers with one report; its JSON Schema is derived from the very struct that is
//! written, so it cannot promise anything else. Each command declares which struct that is.

use std::ffi::OsString;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::complete::ValueKind;
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop, commands, habits};
use crate::model::time::Moment;
use crate::model::{Code, Error};
use crate::ui::answer::{Answer, ErrorAnswer, Form, Outcome};
use crate::ui::text;

/// Print the JSON Schema of an answer
///
/// Without REPORT it lists the names: each command, as it is typed, and 'error' for what every
/// command answers when it refuses or fails. Fields may be added to answers, never renamed.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A command, as in 'checkpoints show' (in quotes with a flag), or 'error'
    #[arg(value_name = "REPORT")]
    report: Vec<String>,
}

/// An answer of a command.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Report {
    /// The command as it is typed, with the flag that asks for this answer, if one does.
    pub(in crate::cli) name: &'static str,
    /// Makes its schema.
    pub(in crate::cli) make: fn() -> Schema,
}

/// What every command answers when it refuses or fails.
const ERROR: Report = Report { name: "error", make: schema_of::<ErrorAnswer<'static>> };

/// Returns what each command answers with `--json`, in the order of the names.
fn reports() -> Vec<Report> {
    let declared = commands::with_those_below().flat_map(|declaration| &declaration.reports);
    let mut reports: Vec<Report> = declared.copied().chain([ERROR]).collect();
    reports.sort_by_key(|report| report.name);
    reports
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("help schema")
        .example("git colony help schema", "the reports that have a schema")
        .example("git colony help schema checkpoints show", "the JSON Schema of one")
        .answers::<SchemaReport>()
        .completes("REPORT", ValueKind::Report)
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let wanted = name_of_this_version(&args.report);
    let (names, named_report) = if wanted.is_empty() {
        (reports().iter().map(|report| report.name).collect(), None)
    } else {
        let named_report = reports().into_iter().find(|report| report.name == wanted);
        (Vec::new(), Some(named_report.ok_or_else(|| unknown(&wanted))?))
    };
    let schema = named_report.map(|report| titled((report.make)(), report.name));
    let report = SchemaReport {
        count: names.len(),
        reports: names,
        report: named_report.map(|report| report.name),
        schema,
        // As text the schema stands alone, so that it can be piped.
        message: if named_report.is_some() && face.form == Form::Text {
            Message::Silent
        } else {
            Message::Told
        },
    };
    face.answer(&report)
}

fn name_of_this_version(words: &[String]) -> String {
    let typed: Vec<OsString> =
        words.iter().flat_map(|word| word.split(' ')).map(OsString::from).collect();
    let words = habits::of_this_version(&typed);
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn unknown(wanted: &str) -> Error {
    Error::new(Code::InvalidValue, format!("no report is named '{wanted}'"))
        .hint("git colony help schema")
}

/// Lists the words that may come after the first words of a report's name; flags are left out.
pub(in crate::cli) fn next_words(typed: &[String]) -> Vec<&'static str> {
    let next = |report: &Report| {
        let mut words = report.name.split(' ');
        let fits = typed.iter().all(|typed| words.next() == Some(typed));
        words.next().filter(|next| fits && !next.starts_with('-'))
    };
    let mut following: Vec<_> = reports().iter().filter_map(next).collect();
    following.dedup();
    following
}

fn titled(mut schema: Schema, name: &str) -> Value {
    let title = match name {
        "error" => "what 'git colony --json' answers when it refuses or fails".to_owned(),
        command => format!("what 'git colony {command} --json' answers"),
    };
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

/// Returns the schema of a report as it is answered: with `ok` and `message`.
pub(in crate::cli) fn of_answer<T: JsonSchema>() -> Schema {
    let mut schema = schema_of::<T>();
    let object = schema.ensure_object();
    let mut properties = Map::new();
    let ok = "Whether the work is done and the answer is yes; the exit code is 0 then, else 1.";
    let message = "The same in one sentence, for people.";
    properties.insert("ok".to_owned(), json!({ "description": ok, "type": "boolean" }));
    properties.insert("message".to_owned(), json!({ "description": message, "type": "string" }));
    let mut required = vec![Value::from("ok"), Value::from("message")];
    if let Some(Value::Object(fields)) = object.remove("properties") {
        properties.extend(fields);
    }
    if let Some(Value::Array(names)) = object.remove("required") {
        required.extend(names);
    }
    object.insert("properties".to_owned(), properties.into());
    object.insert("required".to_owned(), required.into());
    schema
}

/// Whether the answer begins with a sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    Told,
    Silent,
}

#[derive(Serialize, JsonSchema)]
struct SchemaReport {
    /// The names of the reports; empty when one was asked for.
    reports: Vec<&'static str>,
    /// How many.
    count: usize,
    /// The one that was asked for.
    report: Option<&'static str>,
    /// Its JSON Schema, draft 2020-12.
    schema: Option<Value>,
    #[serde(skip)]
    message: Message,
}

impl Answer for SchemaReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        match (self.message, self.report) {
            (Message::Silent, _) => String::new(),
            (Message::Told, Some(name)) => format!("the schema of '{name}'"),
            (Message::Told, None) => text::count(self.count, "report"),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        match &self.schema {
            Some(schema) => {
                let text = serde_json::to_string_pretty(schema).expect("a schema is JSON");
                text.lines().map(str::to_owned).collect()
            }
            // As they are typed: a name with a flag is one word.
            None => self.reports.iter().map(|name| as_typed(name)).collect(),
        }
    }
}

fn as_typed(name: &str) -> String {
    if name.contains(" --") { format!("'{name}'") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Commands that never answer with a report.
    const WITHOUT: [&str; 2] = ["hook", "mcp"];

    fn collect(command: &clap::Command, path: &str, paths: &mut BTreeSet<String>) {
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name()).trim_start().to_owned();
            // Those that git or a shell calls are hidden and not declared.
            if sub.is_hide_set() && commands::find(&path).is_none() {
                continue;
            }
            if !sub.is_subcommand_required_set() {
                paths.insert(path.clone());
            }
            collect(sub, &path, paths);
        }
    }

    #[test]
    fn every_command_has_a_schema_and_every_schema_a_command() {
        let mut commands = BTreeSet::new();
        collect(&crate::cli::grammar::built(), "", &mut commands);
        let reports = reports();
        let known: BTreeSet<_> = reports.iter().map(|report| report.name).collect();
        let missing: Vec<_> = commands
            .iter()
            .filter(|name| !known.contains(name.as_str()) && !WITHOUT.contains(&name.as_str()))
            .collect();
        assert!(missing.is_empty(), "the declarations of {missing:?} name no report");
        // A flag may ask for another report: 'status --line'.
        let command = |name: &str| name.split(" --").next().unwrap_or_default().to_owned();
        let extra =
            known.iter().find(|name| **name != "error" && !commands.contains(&command(name)));
        assert_eq!(extra, None, "no such command");
        assert_eq!(known.len(), reports.len(), "a report is declared twice");
    }
}

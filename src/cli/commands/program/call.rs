//! `git colony call`

use std::ffi::OsString;
use std::io::Read as _;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Exit;
use crate::cli::actions::{self, Action};
use crate::cli::args::Cli;
use crate::cli::complete::ValueKind;
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop, display};
use crate::env::Env;
use crate::model::text::nearest;
use crate::model::time::Moment;
use crate::model::{Code, Error, Result};
use crate::ui::answer::{Answer, Form, Outcome};
use crate::ui::text;

/// The arguments of an action are at most this long.
pub(in crate::cli) const MAX_ARGUMENT_BYTES: usize = 1024 * 1024;

/// Do what an agent's tool of this name does, and answer in JSON
///
/// The actions are those that 'git colony mcp' offers as tools, for agents that have a shell and no MCP. Each
/// does what a command does, and answers as that does with --json. Without ACTION it lists the actions.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(in crate::cli) struct Args {
    /// The action; without it, all are listed
    #[arg(value_name = "ACTION")]
    action: Option<String>,
    /// Its arguments, one JSON object; '-' reads it from standard input
    #[arg(value_name = "JSON", requires = "action", allow_hyphen_values = true)]
    arguments: Option<String>,
    /// Print the JSON Schema of its arguments, and do nothing
    #[arg(long, requires = "action", conflicts_with = "arguments")]
    schema: bool,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long, requires = "action", conflicts_with = "schema")]
    dry_run: bool,
}

impl Args {
    /// Returns `true` if an action is to be done.
    pub(in crate::cli) fn is_call(&self) -> bool {
        self.action.is_some() && !self.schema
    }
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("call")
        .example("git colony call", "the actions")
        .example("git colony call checkpoint_state '{\"label\": \"it works\"}'", "do one of them")
        .example("git colony call restore_checkpoint --schema", "what another one takes")
        .answers::<ActionsReport>()
        .completes("ACTION", ValueKind::Action)
}

/// Does an action, by the command that stands for it.
pub(in crate::cli) fn run(own: &Args, cli: &Cli, env: &mut Env) -> Exit {
    match words(own, env) {
        Ok((action, words)) => {
            let global = crate::cli::global_words(cli).into_iter();
            crate::cli::run_words(global.chain(words).collect(), Some(action), env)
        }
        Err(error) => {
            let palette = display::early_palette(env);
            crate::cli::face_error(&error, Form::Json, palette, env)
        }
    }
}

fn words(own: &Args, env: &mut Env) -> Result<(&'static Action, Vec<OsString>)> {
    let action = require(own.action.as_deref().unwrap_or_default())?;
    let arguments = match own.arguments.as_deref() {
        None => Map::new(),
        Some("-") => object(action, &read(env)?)?,
        Some(text) => object(action, text.as_bytes())?,
    };
    let grammar = crate::cli::grammar::built();
    let typed = actions::typed_arguments(&grammar, action, &arguments)?;
    let line = actions::command_line(&grammar, action, &typed)?;
    // What only reads is the same in a dry run.
    let is_dry = own.dry_run && action.effect != actions::Effect::Reads;
    let line = if is_dry { line.dry() } else { line };
    Ok((action, line.into_words()))
}

/// Returns the action of a name.
pub(in crate::cli) fn require(name: &str) -> Result<&'static Action> {
    actions::find(name).ok_or_else(|| {
        let names = actions::ACTIONS.iter().map(|action| action.name);
        let error = Error::new(Code::Usage, format!("'{name}' is not an action"));
        let of_command = actions::ACTIONS.iter().find(|action| action.command == name);
        match of_command.map(|action| action.name).or_else(|| nearest(name, names)) {
            Some(nearest) => error.hint(format!("git colony call {nearest}")),
            None => error.hint("git colony call   # lists the actions"),
        }
    })
}

fn read(env: &mut Env) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let limit = MAX_ARGUMENT_BYTES as u64 + 1;
    env.stdin
        .by_ref()
        .take(limit)
        .read_to_end(&mut text)
        .map_err(|error| Error::new(Code::Usage, format!("cannot read standard input: {error}")))?;
    Ok(text)
}

fn object(action: &Action, text: &[u8]) -> Result<Map<String, Value>> {
    let wrong = |message: String| {
        let hint = format!("git colony call {} --schema", action.name);
        Error::new(Code::Usage, message).hint(hint)
    };
    if text.len() > MAX_ARGUMENT_BYTES {
        return Err(wrong("the arguments are longer than 1 MiB".to_owned()));
    }
    match serde_json::from_slice(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(wrong(
            "the arguments are not a JSON object, as in '{\"label\": \"it works\"}'".to_owned(),
        )),
        Err(error) => Err(wrong(format!(
            "cannot read the arguments as JSON, as in '{{\"label\": \"it works\"}}': {error}"
        ))),
    }
}

/// Lists the actions, or tells one.
pub(in crate::cli) fn describe(face: &mut Face<'_>, own: &Args) -> Result<Outcome, Stop> {
    let grammar = crate::cli::grammar::built();
    let row = |action: &Action| ActionRow {
        name: action.name,
        group: Value::from(format!("{:?}", action.group).to_lowercase()),
        previewed: action.effect.may_need_preview(),
        writes: action.effect != actions::Effect::Reads,
        command: format!("git colony {}", action.command),
        summary: actions::description(&grammar, action),
        arguments: own.schema.then(|| actions::input_schema(&grammar, action).into()),
    };
    let actions: Vec<_> = match &own.action {
        Some(name) => vec![row(require(name)?)],
        None => actions::ACTIONS.iter().map(row).collect(),
    };
    face.answer(&ActionsReport { count: actions.len(), actions })
}

/// An action as it is listed.
#[derive(Serialize, JsonSchema)]
struct ActionRow {
    /// Its name.
    name: &'static str,
    /// What it is about: states, design, agents, pages or repository.
    group: Value,
    /// Whether it changes something.
    writes: bool,
    /// Whether the MCP server answers with a preview first, at least with some arguments.
    previewed: bool,
    /// The command that does it.
    command: String,
    /// What it does.
    summary: String,
    /// The JSON Schema of its arguments, if it was asked for.
    arguments: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
struct ActionsReport {
    /// The actions.
    actions: Vec<ActionRow>,
    /// How many.
    count: usize,
}

impl Answer for ActionsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        text::count(self.count, "action")
    }

    fn line(&self) -> String {
        match self.actions.as_slice() {
            // The schema alone is what a script reads.
            [ActionRow { arguments: Some(_), .. }] => String::new(),
            _ => self.message(),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        if let [ActionRow { arguments: Some(schema), .. }] = self.actions.as_slice() {
            let text = serde_json::to_string_pretty(schema).expect("a schema is JSON");
            return text.lines().map(str::to_owned).collect();
        }
        let line = |row: &ActionRow| format!("  {:<24} {}", row.name, row.summary);
        self.actions.iter().map(line).collect()
    }
}

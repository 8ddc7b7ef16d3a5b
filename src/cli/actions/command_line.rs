//! An action and its arguments as a command line.
//!
//! A value never becomes an option: values of options are joined to them by '=', positional ones follow '--'. Where
//! a command has paths behind '--', a positional value before it that begins with '-' is refused. The arguments have
//! the types of the schema: `typed_arguments` comes first.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};
use serde_json::{Map, Value};

use crate::model::{Code, Error, Result};

use super::{Action, How, Takes};

/// A command line without the name of the program.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct CommandLine {
    words: Vec<OsString>,
    options: Vec<OsString>,
    positional: Vec<OsString>,
    /// Whether the command has values behind '--' of their own.
    has_last: bool,
    /// These values; an empty list is not none.
    last: Option<Vec<OsString>>,
}

impl CommandLine {
    /// Asks for the plan only.
    pub(in crate::cli) fn dry(mut self) -> CommandLine {
        self.options.push("--dry-run".into());
        self
    }

    /// Returns the words in order.
    pub(in crate::cli) fn into_words(self) -> Vec<OsString> {
        let mut words = self.words;
        words.extend(self.options);
        if !self.has_last && !self.positional.is_empty() {
            words.push("--".into());
        }
        words.extend(self.positional);
        if let Some(last) = self.last {
            words.push("--".into());
            words.extend(last);
        }
        words
    }
}

/// Translates the typed arguments of an action; `grammar` is built.
pub(in crate::cli) fn command_line(
    grammar: &Command,
    action: &Action,
    arguments: &Map<String, Value>,
) -> Result<CommandLine> {
    let known = |name: &String| action.takes.iter().any(|takes| takes.name == name);
    if let Some(unknown) = arguments.keys().find(|name| !known(name)) {
        let names: Vec<_> = action.takes.iter().map(|takes| takes.name).collect();
        let has = if names.is_empty() {
            "it takes none".to_owned()
        } else {
            format!("it takes {}", names.join(", "))
        };
        return Err(wrong(
            action,
            format!("'{unknown}' is not an argument of '{}': {has}", action.name),
        ));
    }
    let other = action.takes.iter().find_map(|takes| match takes.how {
        How::OrElse(other) if given(arguments, takes) == Some(&Value::Bool(false)) => Some(other),
        How::Instead(other) if given(arguments, takes) == Some(&Value::Bool(true)) => Some(other),
        _ => None,
    });
    let words = other.unwrap_or(action.command);
    let command = find(grammar, words);
    let mut line = Translation {
        action,
        command,
        line: CommandLine {
            words: words.split(' ').map(OsString::from).collect(),
            has_last: command.get_arguments().any(Arg::is_last_set),
            ..CommandLine::default()
        },
    };
    line.take_all(&action.takes, arguments)?;
    Ok(line.line)
}

/// Says what the grammar says of a command line in the words of the action.
pub(in crate::cli) fn in_own_words(grammar: &Command, action: &Action, error: &Error) -> Error {
    let command = find(grammar, action.command);
    let mut message = error.sentence();
    for takes in &action.takes {
        let (How::As(id) | How::Text(id) | How::Number(id, _)) = takes.how else {
            continue;
        };
        let Some(argument) = argument_of(command, id) else {
            continue;
        };
        let values = argument.get_value_names().unwrap_or_default();
        let flag = argument.get_long().map(|long| format!("--{long}"));
        for value in values {
            for shown in [format!("<{value}>"), format!("[{value}]")] {
                if let Some(flag) = &flag {
                    message = message.replace(&format!("{flag} {shown}"), takes.name);
                }
                message = message.replace(&shown, takes.name);
            }
        }
        if let Some(flag) = &flag {
            message = message.replace(flag.as_str(), takes.name);
        }
    }
    wrong(action, message)
}

/// Returns the command of these words; flags among them are skipped.
///
/// # Panics
/// If there is none: actions are declared only of what exists, which a test holds.
pub(in crate::cli) fn find<'a>(grammar: &'a Command, words: &str) -> &'a Command {
    let names = words.split(' ').filter(|word| !word.starts_with('-'));
    names.fold(grammar, |command, name| {
        command
            .find_subcommand(name)
            .expect("the declarations name commands that exist, which a test holds")
    })
}

/// Returns the argument of that name, if the command has it.
fn argument_of<'a>(command: &'a Command, id: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|argument| argument.get_id() == id)
}

/// Returns the argument of that name.
///
/// # Panics
/// If there is none: actions are declared only of what exists, which a test holds.
pub(super) fn argument<'a>(command: &'a Command, id: &str) -> &'a Arg {
    command
        .get_arguments()
        .find(|argument| argument.get_id() == id)
        .expect("the declarations name arguments that exist, which a test holds")
}

/// Returns `true` if the argument is a flag.
pub(super) fn is_flag(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::SetTrue)
}

/// Returns `true` if the argument may have several values.
pub(super) fn is_list(argument: &Arg) -> bool {
    let many = argument.get_num_args().is_some_and(|range| range.max_values() > 1);
    many || matches!(argument.get_action(), ArgAction::Append)
}

/// Returns what was given; null is nothing.
fn given<'a>(arguments: &'a Map<String, Value>, takes: &Takes) -> Option<&'a Value> {
    arguments.get(takes.name).filter(|value| !value.is_null())
}

fn wrong(action: &Action, message: String) -> Error {
    Error::new(Code::Usage, message).hint(format!("git colony call {} --schema", action.name))
}

struct Translation<'a> {
    action: &'a Action,
    command: &'a Command,
    line: CommandLine,
}

impl Translation<'_> {
    fn take_all(&mut self, all: &[Takes], arguments: &Map<String, Value>) -> Result<()> {
        for takes in all {
            let value = given(arguments, takes);
            if value.is_none() && takes.is_required {
                let message = format!("'{}' needs the argument '{}'", self.action.name, takes.name);
                return Err(wrong(self.action, message));
            }
            self.take(takes, value)?;
        }
        Ok(())
    }

    fn take(&mut self, takes: &Takes, value: Option<&Value>) -> Result<()> {
        match (takes.how, value) {
            (How::Either(yes, no), value) => {
                let flag =
                    if value.is_none_or(|value| value == &Value::Bool(true)) { yes } else { no };
                self.require_bool(takes, value.unwrap_or(&Value::Bool(true)))?;
                self.flag(flag);
            }
            (How::Unless(id), value) => {
                let is_wanted = value.map_or(Ok(false), |value| self.require_bool(takes, value))?;
                if !is_wanted {
                    self.flag(id);
                }
            }
            (How::Number(id, Some(default)), None) => self.put(takes, id, &Value::from(default))?,
            (How::As(id), None)
                if argument_of(self.command, id).is_some_and(Arg::is_required_set) =>
            {
                let message = format!("'{}' needs the argument '{}'", self.action.name, takes.name);
                return Err(wrong(self.action, message));
            }
            (_, None) => {}
            (How::As(id) | How::Text(id) | How::Number(id, _), Some(value)) => {
                self.put(takes, id, value)?;
            }
            (How::Not(id), Some(value)) => {
                if !self.require_bool(takes, value)? {
                    self.flag(id);
                }
            }
            (How::OrElse(_) | How::Instead(_), Some(value)) => {
                self.require_bool(takes, value)?;
            }
            (How::Pairs(id), Some(value)) => {
                let members = self.require_object(takes, value)?;
                for (key, value) in members {
                    let value = self.word(takes, value)?;
                    if key.is_empty() || key.contains('=') {
                        return Err(self.refuse(takes, "a name in it is empty or has a '='"));
                    }
                    self.value(id, &format!("{key}={value}"));
                }
            }
            (How::Object(inner), Some(value)) => {
                let members = self.require_object(takes, value)?;
                let known = |name: &String| inner.iter().any(|takes| takes.name == name);
                if let Some(unknown) = members.keys().find(|name| !known(name)) {
                    return Err(self.refuse(takes, &format!("it has no member '{unknown}'")));
                }
                self.take_all(inner, members)?;
            }
        }
        Ok(())
    }

    /// Puts a value, the values of a list, or a flag.
    fn put(&mut self, takes: &Takes, id: &str, value: &Value) -> Result<()> {
        // An action that another command does has only what that one has.
        let Some(argument) = argument_of(self.command, id) else {
            return match value {
                Value::Bool(false) => Ok(()),
                _ => Err(self.refuse(takes, "it has no meaning beside the others")),
            };
        };
        if is_flag(argument) {
            if self.require_bool(takes, value)? {
                self.flag(id);
            }
            return Ok(());
        }
        let values: Vec<String> = match value {
            Value::Array(values) if is_list(argument) && !matches!(takes.how, How::Text(_)) => {
                let words = values.iter().map(|value| self.word(takes, value));
                words.collect::<Result<_>>()?
            }
            value => vec![self.word(takes, value)?],
        };
        if argument.is_last_set() {
            let last = self.line.last.get_or_insert_default();
            last.extend(values.into_iter().map(OsString::from));
            return Ok(());
        }
        for value in values {
            if !argument.is_positional() {
                self.value(id, &value);
            } else if self.line.has_last && value.starts_with('-') {
                return Err(self.refuse(takes, &format!("'{value}' begins with '-'")));
            } else {
                self.line.positional.push(value.into());
            }
        }
        Ok(())
    }

    fn flag(&mut self, id: &str) {
        let word = self.option(id);
        self.line.options.push(word.into());
    }

    fn value(&mut self, id: &str, value: &str) {
        let word = format!("{}={value}", self.option(id));
        self.line.options.push(word.into());
    }

    fn option(&self, id: &str) -> String {
        let argument = argument(self.command, id);
        match (argument.get_long(), argument.get_short()) {
            (Some(long), _) => format!("--{long}"),
            (None, Some(short)) => format!("-{short}"),
            (None, None) => id.to_owned(),
        }
    }

    fn word(&self, takes: &Takes, value: &Value) -> Result<String> {
        match value {
            Value::String(text) if text.contains('\0') => {
                Err(self.refuse(takes, "it has a NUL character"))
            }
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(self.refuse(takes, "a string was expected")),
        }
    }

    fn require_bool(&self, takes: &Takes, value: &Value) -> Result<bool> {
        value.as_bool().ok_or_else(|| self.refuse(takes, "true or false was expected"))
    }

    fn require_object<'v>(
        &self,
        takes: &Takes,
        value: &'v Value,
    ) -> Result<&'v Map<String, Value>> {
        value.as_object().ok_or_else(|| self.refuse(takes, "an object was expected"))
    }

    fn refuse(&self, takes: &Takes, why: &str) -> Error {
        let message = format!("cannot take '{}' of '{}': {why}", takes.name, self.action.name);
        wrong(self.action, message)
    }
}

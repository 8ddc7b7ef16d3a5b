//! Texts for a shell in the words of tools: the commands of ours in them as calls of actions, and options as arguments.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use serde_json::{Map, Value, json};

use super::command_line::{argument, find, is_flag, is_list};
use super::input_schema::{type_of, without_flags};
use super::{ACTIONS, Action, Effect, How};

/// How our commands begin in a text.
const BEGIN: &str = "git colony ";

/// What ends a command that is not in quotation marks.
const ENDS: [&str; 5] = ["   #", "; ", ", ", " and ", ")"];

/// How a model that has tools and no shell does an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Reach {
    /// By a tool of its own.
    Tool,
    /// By the tools for every action.
    ByName,
    /// Not at all: the command is for a person.
    None,
}

/// Returns a text of an action, or of none, as a model reads it that has tools and no shell; `grammar` is built, and
/// `reach` says how an action is done.
pub(in crate::cli) fn in_calls(
    grammar: &Command,
    action: Option<&Action>,
    reach: &impl Fn(&Action) -> Reach,
    text: &str,
) -> String {
    let mut text_of_calls = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let is_quoted = before.ends_with('\'');
        let ends = |end: &&str| after.find(*end);
        let end = if is_quoted { after.find('\'') } else { ENDS.iter().filter_map(ends).min() };
        let (line, next) = after.split_at(end.unwrap_or(after.len()));
        text_of_calls.push_str(before);
        match call_of(grammar, reach, line) {
            Some(call) => text_of_calls.push_str(&call),
            None => text_of_calls.extend([BEGIN, line]),
        }
        rest = next;
    }
    text_of_calls.push_str(rest);
    match action {
        Some(action) => {
            without_flags(find(grammar, action.command), &action.takes, Some(&text_of_calls.into()))
        }
        None => text_of_calls,
    }
}

/// Returns the call that does what a command line does; `None` if no action does.
fn call_of(grammar: &Command, reach: &impl Fn(&Action) -> Reach, line: &str) -> Option<String> {
    let words = words(line)?;
    if let [call, action, rest @ ..] = words.as_slice()
        && call == "call"
    {
        let is_schema = rest.first().is_some_and(|word| word == "--schema");
        let by_name = super::find(action).is_some_and(|action| reach(action) == Reach::ByName);
        return Some(match (is_schema, by_name) {
            (true, true) => format!("read_action {}", json!({ "words": action })),
            (true, false) => format!("the schema of {action}"),
            (false, _) => action.clone(),
        });
    }
    let line = std::iter::once("git-colony").chain(words.iter().map(String::as_str));
    let parsed = grammar.clone().try_get_matches_from(line).ok()?;
    let (mut path, mut leaf) = (Vec::new(), &parsed);
    while let Some((name, inner)) = leaf.subcommand() {
        path.push(name);
        leaf = inner;
    }
    let of_path = |action: &&Action| {
        let names = action.command.split(' ').filter(|word| !word.starts_with('-'));
        names.eq(path.iter().copied())
    };
    let (action, arguments) = ACTIONS
        .iter()
        .filter(of_path)
        .find_map(|action| Some((action, arguments(grammar, action, leaf)?)))?;
    let name = action.name;
    let text = Value::from(arguments).to_string();
    let tool = if action.effect == Effect::Reads { "read_action" } else { "call_action" };
    match reach(action) {
        Reach::Tool if text == "{}" => Some(name.to_owned()),
        Reach::Tool => Some(format!("{name} {text}")),
        Reach::ByName => Some(format!("{tool} {}", json!({ "name": name, "arguments": text }))),
        Reach::None => None,
    }
}

/// Returns the arguments of an action that a command line has; `None` if it has more than the action takes.
fn arguments(grammar: &Command, action: &Action, leaf: &ArgMatches) -> Option<Map<String, Value>> {
    let command = find(grammar, action.command);
    let typed = command.get_arguments().filter(|argument| {
        let source = leaf.value_source(argument.get_id().as_str());
        // A preview comes first where one is needed.
        let is_dry_run = argument.get_id() == "dry_run";
        !is_dry_run && !argument.is_global_set() && source == Some(ValueSource::CommandLine)
    });
    let mut arguments = Map::new();
    for id in typed.map(|argument| argument.get_id().as_str()) {
        let (name, value) = action.takes.iter().find_map(|takes| {
            let value = match takes.how {
                How::As(own) | How::Number(own, _) if own == id => value(command, id, leaf)?,
                How::Text(own) if own == id => leaf.get_raw(id)?.next()?.to_str()?.into(),
                How::Not(own) | How::Either(_, own) if own == id => false.into(),
                How::Either(own, _) if own == id => true.into(),
                _ => return None,
            };
            Some((takes.name, value))
        })?;
        arguments.insert(name.to_owned(), value);
    }
    Some(arguments)
}

fn value(command: &Command, id: &str, leaf: &ArgMatches) -> Option<Value> {
    let argument = argument(command, id);
    if is_flag(argument) {
        return Some(true.into());
    }
    let texts: Option<Vec<&str>> = leaf.get_raw(id)?.map(|word| word.to_str()).collect();
    if is_list(argument) {
        return texts.map(Value::from);
    }
    let text = *texts?.first()?;
    let number = serde_json::from_str(text).ok().filter(Value::is_number);
    Some(number.filter(|_| type_of(argument) != "string").unwrap_or_else(|| text.into()))
}

/// Splits a line as a shell does that expands nothing; `None` if a quotation mark is not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(mark), _) if mark == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_a_text_become_calls() {
        let grammar = crate::cli::grammar::built();
        let reach = |action: &Action| match action.name {
            "undo" => Reach::ByName,
            "sync" => Reach::None,
            _ => Reach::Tool,
        };
        let calls = |text: &str| in_calls(&grammar, None, &reach, text);
        assert_eq!(calls("git colony sync"), "git colony sync");
        assert_eq!(calls("git colony checkpoints"), "list_checkpoints");
        assert_eq!(
            calls("git colony merge ada --theirs a.txt   # takes theirs"),
            "merge_design {\"source_branch\":\"ada\",\"theirs\":[\"a.txt\"]}   # takes theirs"
        );
        assert_eq!(calls("no page; run 'git colony map'"), "no page; run 'materialize_repo_map'");
        assert_eq!(
            calls("git colony checkpoints show 'two words'; or: git colony ops -n 3"),
            "show_checkpoint {\"checkpoint_id\":\"two words\"}; or: list_operations {\"limit\":3}"
        );
        assert_eq!(
            calls("git colony --json checkpoints show -- one   # the most similar label"),
            "show_checkpoint {\"checkpoint_id\":\"one\"}   # the most similar label"
        );
        assert_eq!(calls("git colony call undo --schema"), "read_action {\"words\":\"undo\"}");
        assert_eq!(
            calls("git colony undo --force"),
            r#"call_action {"name":"undo","arguments":"{\"force\":true}"}"#
        );
        assert_eq!(calls("git colony init remove"), "git colony init remove");
        assert_eq!(calls("git colony checkpoints show 'a"), "git colony checkpoints show 'a");
    }

    #[test]
    fn options_become_arguments_of_the_action() {
        let grammar = crate::cli::grammar::built();
        let action = super::super::find("search");
        let calls =
            in_calls(&grammar, action, &|_| Reach::Tool, "3 passages of 183; --limit shows more");
        assert_eq!(calls, "3 passages of 183; 'limit' shows more");
    }
}

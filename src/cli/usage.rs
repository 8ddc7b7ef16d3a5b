//! Wrong usage: what clap says of a command line, as an error of ours, with the help that is about it.

use std::ffi::OsString;
use std::io::Write as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::Exit;
use crate::env::Env;
use crate::model::text::{self, typed_word};
use crate::model::{Code, Error};
use crate::store::settings::{SetBy, TABLE};
use crate::ui::answer::Form;

use super::display;
use super::grammar;
use super::wrong_words::{self, Meaning};

/// Help is an answer; anything else is wrong usage, exit code 129.
pub(super) fn answer(
    error: &clap::Error,
    args: &[OsString],
    wants_json: bool,
    env: &mut Env,
) -> Exit {
    if !error.use_stderr() {
        let written = write!(env.stdout, "{}", error.render()).and_then(|()| env.stdout.flush());
        return written.map_or_else(|error| super::stream_failed(&error, env), |()| Exit(0));
    }
    // Asked for nothing, a command shows what it can be asked for, as git does.
    if is_bare(error) && !wants_json {
        let written = write!(env.stderr, "{}", error.render());
        return written.map_or_else(|error| super::stream_failed(&error, env), |()| Exit(129));
    }
    let form = if wants_json { Form::Json } else { Form::Text };
    let palette = display::early_palette(env);
    super::face_error(&as_error(error, args), form, palette, env)
}

/// Words an error in one line: which arguments are missing, and what may have been meant.
pub(super) fn as_error(error: &clap::Error, args: &[OsString]) -> Error {
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let first = &with_expected(error, first);
    let About { help: own, usage } = about(error, args);
    if is_bare(error) {
        return without_command(own);
    }
    let named = if first.ends_with(':') {
        let named = [ContextKind::InvalidArg, ContextKind::PriorArg];
        named.into_iter().map(|kind| words(error, kind)).find(|words| !words.is_empty())
    } else {
        None
    };
    let similar = similar_to(error);
    let usage_error = match named {
        None => Error::new(Code::Usage, short_value(error, first)),
        Some(named) => Error::new(Code::Usage, short_list(first, &named)).detail("missing", named),
    };
    let usage_error = if is_of_command(error) || error.get(ContextKind::Usage).is_none() {
        usage_error
    } else {
        usage_error.detail("usage", usage)
    };
    if let Some(line) = setting_line(error, args) {
        return usage_error.hint(line);
    }
    if let Some(meaning) = meaning(error, args).filter(|_| !is_below(error, &own)) {
        let hint = format!("{}   # {}", meaning.command, meaning.explanation);
        return usage_error.hint(hint);
    }
    if let Some(line) = merge_of_several(error, args).or_else(|| completed_line(error, args)) {
        return usage_error.hint(line);
    }
    match similar.first() {
        None => usage_error.hint(own),
        Some(word) if is_of_command(error) => {
            let hint = format!("{} {word} -h   # the most similar command", bare(&own));
            usage_error.hint(hint).detail("similar", similar)
        }
        Some(word) => {
            let hint = format!("{own}   # '{word}' is the most similar");
            usage_error.hint(hint).detail("similar", similar)
        }
    }
}

/// The columns of the first line of a refusal, behind `error: `.
const MAX_COLUMNS: usize = 73;

/// The columns that a typed value counts: its length is not ours.
const VALUE_COLUMNS: usize = 12;

/// Returns the first sentence that fits into a line, else the last.
fn fitting(sentences: &[String], typed: &str) -> String {
    let spare = typed.chars().count().saturating_sub(VALUE_COLUMNS);
    let fits = |sentence: &&String| {
        let columns = sentence.chars().count();
        let own = if sentence.contains(typed) { columns.saturating_sub(spare) } else { columns };
        own <= MAX_COLUMNS
    };
    let last = sentences.last().cloned().unwrap_or_default();
    sentences.iter().find(fits).cloned().unwrap_or(last)
}

/// Returns which arguments a command line lacks or has too many of, without the names of values where these are too many.
fn short_list(sentence: &str, named: &[String]) -> String {
    let flag = |argument: &String| match argument.split_once(' ') {
        Some((flag, _)) if flag.starts_with("--") => flag.to_owned(),
        _ => argument.clone(),
    };
    let flags: Vec<String> = named.iter().map(flag).collect();
    let whole = format!("{sentence} {}", named.join(", "));
    if !sentence.ends_with("were not provided:") {
        return whole;
    }
    let missing = format!("required arguments are missing: {}", named.join(", "));
    fitting(&[whole, missing, format!("missing: {}", flags.join(", "))], "")
}

/// Returns which value is wrong, without repetitions where the line is too long.
fn short_value(error: &clap::Error, sentence: &str) -> String {
    let (arguments, values) =
        (words(error, ContextKind::InvalidArg), words(error, ContextKind::InvalidValue));
    let Some((argument, value)) = arguments.first().zip(values.first()) else {
        return sentence.to_owned();
    };
    let expected = sentence.rfind(": expected ").and_then(|at| sentence.get(at..));
    let reason = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    let reason = expected.map(str::to_owned).or(reason).unwrap_or_default();
    let flag = argument.split(' ').next().unwrap_or(argument);
    let start = if value.is_empty() {
        format!("a value is required for '{flag}'")
    } else {
        format!("invalid value '{value}' for '{flag}'")
    };
    let named = match (value.is_empty(), flag.starts_with("--")) {
        (true, _) => format!("'{flag}'"),
        (false, true) => format!("'{flag} {value}'"),
        (false, false) => format!("'{value}'"),
    };
    let sentences = [
        sentence.to_owned(),
        format!("{start}{reason}"),
        format!("{named}{reason}"),
        format!("'{flag}'{reason}"),
        start,
    ];
    fitting(&sentences, value)
}

/// Adds to the sentence of clap the values that are expected, also in place of the words of the standard library.
fn with_expected(error: &clap::Error, sentence: &str) -> String {
    let known = words(error, ContextKind::ValidValue);
    if !known.is_empty() {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return format!("{sentence}: expected {}", text::either(&known));
    }
    let Some(cause) = std::error::Error::source(error) else {
        return sentence.to_owned();
    };
    let expected = match cause.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow) => "a smaller number",
        Some(IntErrorKind::NegOverflow) => "a larger number",
        Some(_) => "a whole number",
        None if cause.is::<ParseFloatError>() => "a number",
        None => return sentence.to_owned(),
    };
    let start = sentence.strip_suffix(&format!(": {cause}"));
    format!("{}: expected {expected}", start.unwrap_or(sentence))
}

/// Returns the words that may have been meant, the most similar first.
fn similar_to(error: &clap::Error) -> Vec<String> {
    [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue]
        .into_iter()
        // clap has the most similar one last.
        .flat_map(|kind| words(error, kind).into_iter().rev())
        .filter(|word| !is_of_command(error) || is_probable(error, word))
        .collect()
}

/// Returns `true` if a command may have been meant: clap offers hidden ones too, and such as have little in common.
fn is_probable(error: &clap::Error, command: &str) -> bool {
    let typed = words(error, ContextKind::InvalidSubcommand);
    let is_near = |typed: &String| text::nearest(typed, [command]).is_some();
    !grammar::is_hidden(command) && (typed.is_empty() || typed.iter().any(is_near))
}

/// Returns `true` if a group of commands was called without one.
fn is_bare(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

fn without_command(help: String) -> Error {
    let message = format!("'{}' needs a command", bare(&help));
    Error::new(Code::Usage, message).hint(help)
}

/// Returns the command line that was meant: a label without its option, or a commit without paths.
fn completed_line(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let typed: Vec<&str> = args
        .iter()
        .skip(1)
        .map(|arg| arg.to_str().filter(|word| !word.contains(char::is_control)))
        .collect::<Option<_>>()?;
    let after = |command: &str| typed.iter().position(|word| *word == command).map(|at| at + 1);
    let named = words(error, ContextKind::InvalidArg);
    let (line, comment) = match error.kind() {
        ErrorKind::UnknownArgument => {
            let (before, label) = typed.split_at_checked(after("checkpoint")?)?;
            let is_label =
                label.first().is_some_and(|first| named.first().is_some_and(|word| word == first))
                    && label.iter().all(|word| !word.starts_with('-'));
            if !is_label {
                return None;
            }
            let label = typed_word(&label.join(" "));
            (format!("{} -m {label}", retyped(before)), "")
        }
        ErrorKind::MissingRequiredArgument
            if !named.iter().any(|word| word.contains("--message")) =>
        {
            let (before, rest) = typed.split_at_checked(after("commit")?)?;
            let line = retyped(&[before, &["-a"], rest].concat());
            (line, "   # everything that is tracked")
        }
        _ => return None,
    };
    Some(format!("git colony {line}{comment}"))
}

/// Returns the command of git that sets what was meant to be set.
fn setting_line(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let words: Vec<_> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    let at = words.iter().position(|word| *word == "config")?;
    let ["config", "set", key, rest @ ..] = words.get(at..)? else {
        return None;
    };
    let is_key = |known: &str| known.eq_ignore_ascii_case(key);
    let setting = TABLE.iter().find(|setting| {
        is_key(setting.key) || setting.key.strip_prefix("colony.").is_some_and(is_key)
    })?;
    let value = rest.first().map_or("VALUE".to_owned(), |value| typed_word(value));
    let global = if setting.set_by == SetBy::UserFiles { " --global" } else { "" };
    let line = format!("git config{global} {} {value}", setting.key);
    is_of_command(error).then_some(line)
}

/// Returns `true` if the wrong command is one below a group: words of other tools are commands of their own.
fn is_below(error: &clap::Error, help: &str) -> bool {
    is_of_command(error) && help != "git colony -h"
}

/// Returns the command that merges several agents at once, if `merge` was asked to.
fn merge_of_several(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let typed: Vec<&str> = args.iter().skip(1).map(|arg| arg.to_str()).collect::<Option<_>>()?;
    // What comes before the command are options for all of them.
    let names = typed.get(typed.iter().position(|word| *word == "merge")? + 1..)?;
    let are_names = names.len() > 1 && names.iter().all(|name| !name.starts_with('-'));
    let is_it = are_names && error.kind() == ErrorKind::UnknownArgument;
    let names = retyped(names);
    is_it.then(|| format!("git colony land --no-test {names}   # all of them, as one operation"))
}

fn retyped(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| typed_word(word)).collect();
    words.join(" ")
}

fn is_of_command(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::InvalidSubcommand
}

/// Finds what hands meant that know the word from elsewhere.
fn meaning(error: &clap::Error, args: &[OsString]) -> Option<&'static Meaning> {
    let unknown = match error.kind() {
        ErrorKind::InvalidSubcommand => words(error, ContextKind::InvalidSubcommand),
        ErrorKind::UnknownArgument => words(error, ContextKind::InvalidArg),
        _ => return None,
    };
    let wrong = unknown.first()?;
    let typed: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    if is_of_command(error) {
        let at = typed.iter().position(|word| word == wrong)?;
        return wrong_words::find(wrong, typed.get(at + 1).copied());
    }
    let cli = grammar::whole();
    let command = typed.iter().find(|word| cli.find_subcommand(word).is_some())?;
    let known = wrong_words::find(command, Some(wrong));
    known.filter(|_| command != wrong)
}

fn words(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(word)) => vec![word.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    }
}

/// The command that an error is about.
struct About {
    /// The command line for its help.
    help: String,
    /// How it is called. The usage of clap's error has the options that were typed, and one that it takes for
    /// similar, as if they were required.
    usage: String,
}

/// Returns the command that the error is about: which its line of usage names, else the words that were typed.
fn about(error: &clap::Error, args: &[OsString]) -> About {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let typed: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    let named = usage.map(|usage| usage.split("git colony ").nth(1).map(str::to_owned));
    let after = named.flatten().unwrap_or_else(|| typed.join(" "));
    let cli = grammar::whole();
    let mut command = &cli;
    let mut line = "git colony".to_owned();
    // What comes before the command are options for all of them.
    let is_before = |word: &&str| cli.find_subcommand(word).is_none();
    for word in after.split_whitespace().skip_while(is_before) {
        let Some(subcommand) = command.find_subcommand(word) else {
            break;
        };
        line = format!("{line} {word}");
        command = subcommand;
    }
    let usage = command.clone().render_usage().to_string();
    About { help: format!("{line} -h"), usage: usage.trim_start_matches("Usage: ").to_owned() }
}

fn bare(help: &str) -> &str {
    help.strip_suffix(" -h").unwrap_or(help)
}

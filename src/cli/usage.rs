//! Wrong usage: what clap says of a command line, as an error of ours, with the help that is about it.

use std::ffi::OsString;
use std::io::Write as _;

use clap::error::{ContextKind, ContextValue};

use crate::Exit;
use crate::env::Env;
use crate::model::{Code, Error};
use crate::ui::answer::Form;

/// Help is an answer; anything else is wrong usage, exit code 129.
pub(super) fn answer(
    error: &clap::Error,
    (args, wants_json): (&[OsString], bool),
    env: &mut Env,
) -> Exit {
    if !error.use_stderr() {
        let written = write!(env.stdout, "{}", error.render()).and_then(|()| env.stdout.flush());
        return written.map_or_else(|error| super::stream_failed(&error, env), |()| Exit(0));
    }
    if wants_json {
        return super::face_error(&as_error(error, args), Form::Json, env);
    }
    let own = help_of(error, args);
    let text = error.render().to_string();
    // clap escapes nothing: each line is made safe here. '--help' is a page that may not be installed.
    for line in text.lines() {
        let line = match line.strip_suffix("try '--help'.") {
            Some(begun) => format!("{begun}try '{own}'."),
            None => line.to_owned(),
        };
        drop(writeln!(env.stderr, "{}", crate::ui::escape::line(&line)));
    }
    Exit(129)
}

/// Words an error in one line: which arguments are missing, and what may have been meant.
fn as_error(error: &clap::Error, args: &[OsString]) -> Error {
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    let first = first.trim_start_matches("error: ");
    let own = help_of(error, args);
    let missing = if first.ends_with(':') {
        words(error, ContextKind::InvalidArg)
    } else {
        Vec::new()
    };
    let similar: Vec<String> = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ]
    .into_iter()
    // clap has the most similar one last.
    .flat_map(|kind| words(error, kind).into_iter().rev())
    .collect();
    let told = if missing.is_empty() {
        Error::new(Code::Usage, first)
    } else {
        let shown = format!("{first} {}", missing.join(", "));
        Error::new(Code::Usage, shown).detail("missing", missing)
    };
    match similar.first() {
        None => told.hint(own),
        Some(one) if is_of_command(error) => {
            let hint = format!("{} {one} -h   # the most similar command", bare(&own));
            told.hint(hint).detail("similar", similar)
        }
        Some(one) => {
            let hint = format!("{own}   # '{one}' is the most similar");
            told.hint(hint).detail("similar", similar)
        }
    }
}

fn is_of_command(error: &clap::Error) -> bool {
    error.get(ContextKind::SuggestedSubcommand).is_some()
}

fn words(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    }
}

/// Returns the command line for the help of the command that the error is about: which its line of usage names,
/// else the words that were typed.
fn help_of(error: &clap::Error, args: &[OsString]) -> String {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let typed: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    let named = usage.map(|usage| usage.split("git colony ").nth(1).map(str::to_owned));
    let after = named.flatten().unwrap_or_else(|| typed.join(" "));
    let cli = super::grammar();
    let mut command = &cli;
    let mut line = "git colony".to_owned();
    // What comes before the command are options for all of them.
    let is_before = |word: &&str| cli.find_subcommand(word).is_none();
    for word in after.split_whitespace().skip_while(is_before) {
        let Some(found) = command.find_subcommand(word) else {
            break;
        };
        line = format!("{line} {word}");
        command = found;
    }
    format!("{line} -h")
}

fn bare(help: &str) -> &str {
    help.strip_suffix(" -h").unwrap_or(help)
}

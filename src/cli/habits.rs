//! What hands type, before the grammar reads it: as in git, global options between a command and its action, and
//! `list` or `ls` after a noun that lists by itself; and the names that commands had before they were put below another
//! one. A question of 'context' may begin with the name of an action.

use std::ffi::{OsStr, OsString};

use clap::Command;

use super::{commands, grammar};

/// Commands of an earlier version, and the same of this one.
const EARLIER: [(&str, &str); 22] = [
    ("clone", "clones new"),
    ("colony", "clones colony"),
    ("completions", "help completions"),
    ("deinit", "init remove"),
    ("demote", "knowledge demote"),
    ("groups", "status groups"),
    ("id", "status id"),
    ("ingest", "knowledge ingest"),
    ("memory", "session memory"),
    ("paths", "status paths"),
    ("plans", "context plans"),
    ("projects", "context projects"),
    ("promote", "knowledge promote"),
    ("query", "catalog query"),
    ("schema", "help schema"),
    ("scopes", "map scopes"),
    ("tag", "checkpoints tag"),
    ("topology", "status branches"),
    ("tour", "help tour"),
    ("watches ls", "watch list"),
    ("watches stop", "watch stop"),
    ("watches", "watch list"),
];

/// Returns the words that name a command in this version: those of an earlier one are replaced.
pub(super) fn of_this_version(words: &[OsString]) -> Vec<OsString> {
    let is_it = |(earlier, _): &&(&str, &str)| {
        let earlier = earlier.split(' ').map(OsStr::new);
        words.iter().map(OsString::as_os_str).take(earlier.clone().count()).eq(earlier)
    };
    let Some((earlier, now)) = EARLIER.iter().find(is_it) else {
        return words.to_vec();
    };
    let rest = words.iter().skip(earlier.split(' ').count()).cloned();
    now.split(' ').map(OsString::from).chain(rest).collect()
}

/// Does the same after the global options.
pub fn with_command_of_this_version(typed: &[OsString]) -> Vec<OsString> {
    let mut at = 0;
    while let Some(option) = typed.get(at).and_then(|word| GlobalOption::read(word.to_str()?)) {
        at += if option.takes_next { 2 } else { 1 };
    }
    let (options, words) = typed.split_at_checked(at).unwrap_or((typed, &[]));
    [options.to_vec(), of_this_version(words)].concat()
}

/// Returns the command line as the grammar reads it. Only the words before the first other word are changed,
/// so that no value and no path is mistaken for an option.
pub(super) fn as_grammar_has_it(args: &[OsString]) -> Vec<OsString> {
    let Some((program, typed)) = args.split_first() else {
        return Vec::new();
    };
    let typed = with_command_of_this_version(typed);
    let mut front = vec![program.clone()];
    let mut path = Vec::new();
    let mut command: Option<Command> = None;
    let mut rest = typed.iter();
    while let Some(arg) = rest.as_slice().first() {
        let word = arg.to_str().unwrap_or_default();
        if let Some(option) = GlobalOption::read(word) {
            let taken = if option.takes_next { 2 } else { 1 };
            if rest.len() < taken {
                // The grammar says that a value is missing.
                break;
            }
            let words: Vec<_> = rest.by_ref().take(taken).cloned().collect();
            let is_repeated = option.is_flag && front.contains(arg);
            front.extend(words.into_iter().filter(|_| !is_repeated));
            continue;
        }
        if let Some((question, words)) = question_of(&path, rest.as_slice()) {
            path.push(question);
            rest.by_ref().take(words).for_each(drop);
            break;
        }
        let is_list = matches!(word, "list" | "ls");
        let subcommand = match &mut command {
            None => grammar::command(arg),
            // Whether it is an action changes nothing, and to ask costs as much as the grammar of all actions.
            Some(_) if !is_list && !precedes_option(rest.as_slice()) => break,
            Some(command) => {
                command.build();
                command.find_subcommand(word).cloned()
            }
        };
        let Some(action) = subcommand else {
            if is_list && lists(&path) {
                rest.next();
            }
            break;
        };
        path.push(arg.clone());
        command = Some(action);
        rest.next();
    }
    front.into_iter().chain(path).chain(rest.cloned()).collect()
}

/// Returns `true` if a global option follows the first word.
fn precedes_option(words: &[OsString]) -> bool {
    let next = words.get(1).and_then(|next| next.to_str());
    next.is_some_and(|next| GlobalOption::read(next).is_some())
}

/// Returns `true` if the words are a noun that lists by itself.
fn lists(path: &[OsString]) -> bool {
    let [noun] = path else { return false };
    noun.to_str().and_then(commands::find).is_some_and(|declaration| declaration.lists_by_itself)
}

/// Returns the question of 'context' as an option, and the number of its words, if it has several: only a lone word may
/// be an action, and 'projects' before one of its own.
fn question_of(path: &[OsString], rest: &[OsString]) -> Option<(OsString, usize)> {
    let is_word = |word: &&OsString| !word.as_encoded_bytes().starts_with(b"-");
    let words: Vec<&OsString> = rest.iter().take_while(is_word).collect();
    let is_of_projects = matches!(
        words.iter().map(|word| word.as_encoded_bytes()).collect::<Vec<_>>().as_slice(),
        [b"projects", b"add" | b"remove", ..]
    );
    let is_question = path.iter().eq(["context"]) && words.len() > 1 && !is_of_projects;
    is_question.then(|| {
        let mut question = OsString::from("--question=");
        for (at, word) in words.iter().enumerate() {
            question.push(if at == 0 { "" } else { " " });
            question.push(word);
        }
        (question, words.len())
    })
}

/// An option that every command takes.
struct GlobalOption {
    /// Whether it takes no value.
    is_flag: bool,
    /// Whether its value is the next word.
    takes_next: bool,
}

impl GlobalOption {
    fn read(word: &str) -> Option<GlobalOption> {
        let mut globals = grammar::options().get_arguments().filter(|arg| arg.is_global_set());
        let (arg, has_value) = if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').unzip();
            let name = name.unwrap_or(long);
            (globals.find(|arg| arg.get_long() == Some(name))?, value.is_some())
        } else {
            let mut letters = word.strip_prefix('-')?.chars();
            let letter = letters.next()?;
            let arg = globals.find(|arg| arg.get_short() == Some(letter))?;
            let has_value = letters.next().is_some();
            // Several flags in one word, as in '-qn', are for the grammar.
            if has_value && !arg.get_action().takes_values() {
                return None;
            }
            (arg, has_value)
        };
        let takes_value = arg.get_action().takes_values();
        Some(GlobalOption { is_flag: !takes_value, takes_next: takes_value && !has_value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let read = as_grammar_has_it(&args);
        let words: Vec<_> = read.iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn global_options_before_an_action_come_first() {
        for (typed, expected) in [
            ("git-colony agents --json new x", "git-colony --json agents new x"),
            ("git-colony agents -C /d new x", "git-colony -C /d agents new x"),
            ("git-colony --json agents --json new x", "git-colony --json agents new x"),
            ("git-colony agents --agent", "git-colony agents --agent"),
            ("git-colony agents --agent=bo path x", "git-colony --agent=bo agents path x"),
            ("git-colony agents -qn new x", "git-colony agents -qn new x"),
            ("git-colony restore x --json -- --json", "git-colony restore x --json -- --json"),
            ("git-colony -C", "git-colony -C"),
            ("git-colony agents new --json x", "git-colony --json agents new x"),
        ] {
            assert_eq!(read(typed), expected, "{typed}");
        }
    }

    #[test]
    fn examples_in_earlier_words_are_the_same_command_lines() {
        let mut count = 0;
        for (earlier, now) in EARLIER {
            let begin = format!("git colony {now}");
            let examples = commands::with_those_below().flat_map(|declared| &declared.examples);
            let of_it = examples.filter_map(|(line, _)| line.strip_prefix(&begin));
            for rest in of_it.filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
                let line = |command: &str| read(&format!("git-colony {command}{rest}"));
                assert_eq!(line(earlier), line(now));
                count += 1;
            }
        }
        assert!(count > 30, "{count}");
    }

    #[test]
    fn list_after_a_noun_that_lists_says_nothing_more() {
        for (typed, expected) in [
            ("git-colony agents list", "git-colony agents"),
            ("git-colony checkpoints --json ls --auto", "git-colony --json checkpoints --auto"),
            ("git-colony clones list", "git-colony clones list"),
            ("git-colony forks delete list", "git-colony forks delete list"),
            ("git-colony restore list", "git-colony restore list"),
            ("git-colony agents new list", "git-colony agents new list"),
        ] {
            assert_eq!(read(typed), expected, "{typed}");
        }
    }
}

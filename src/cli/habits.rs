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

/// Does the same after the options in front, and with global options between the words of a command.
pub fn with_command_of_this_version(typed: &[OsString]) -> Vec<OsString> {
    let (front, words) = after_options(typed, |option| option.is_global || option.is_flag);
    let Some((first, rest)) = words.split_first() else {
        return typed.to_vec();
    };
    let (between, rest) = after_options(rest, |option| option.is_global);
    let both = [std::slice::from_ref(first), rest].concat();
    let is_of_two = rest.first().is_some_and(|second| {
        let mut earlier = EARLIER.iter().filter_map(|(earlier, _)| earlier.split_once(' '));
        earlier.any(|(first_word, second_word)| first == first_word && second == second_word)
    });
    if is_of_two {
        [front, between, &of_this_version(&both)].concat()
    } else {
        [front, &of_this_version(words)].concat()
    }
}

/// Returns the options that words begin with, as far as they fit, and the words after them.
fn after_options(
    words: &[OsString],
    fits: impl Fn(&ProgramOption) -> bool,
) -> (&[OsString], &[OsString]) {
    let mut at = 0;
    let read = |word: &OsString| ProgramOption::read(word.to_str()?);
    while let Some(option) = words.get(at).and_then(read).filter(&fits) {
        at += if option.takes_next { 2 } else { 1 };
    }
    words.split_at_checked(at).unwrap_or((words, &[]))
}

/// Returns the command line as the grammar reads it. Only the words before the first other word are changed,
/// so that no value and no path is mistaken for an option.
pub(super) fn as_grammar_has_it(args: &[OsString]) -> Vec<OsString> {
    let Some((program, typed)) = args.split_first() else {
        return Vec::new();
    };
    let as_typed = typed;
    let typed = with_command_of_this_version(as_typed);
    // An earlier command took no question.
    let may_ask = typed == as_typed;
    let mut front = vec![program.clone()];
    let mut path = Vec::new();
    let mut command: Option<Command> = None;
    let mut rest = typed.iter();
    while let Some(arg) = rest.as_slice().first() {
        let word = arg.to_str().unwrap_or_default();
        if let Some(option) = ProgramOption::read(word).filter(|option| option.is_global) {
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
        if may_ask && let Some((question, words)) = question_of(&path, rest.as_slice()) {
            path.push(question);
            rest.by_ref().take(words).for_each(drop);
            break;
        }
        let is_list = matches!(word, "list" | "ls");
        let subcommand = match &mut command {
            None => grammar::command(arg),
            // Whether it is an action changes nothing, and to ask costs as much as the grammar of all actions.
            Some(_) if !is_list && !precedes_option_or_list(rest.as_slice()) => break,
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

/// Returns `true` if a global option, or the word for a list, follows the first word.
fn precedes_option_or_list(words: &[OsString]) -> bool {
    let next = words.get(1).and_then(|next| next.to_str());
    let is_global = |next: &str| ProgramOption::read(next).is_some_and(|option| option.is_global);
    next.is_some_and(|next| matches!(next, "list" | "ls") || is_global(next))
}

/// Returns `true` if the words are a noun that lists by itself.
fn lists(path: &[OsString]) -> bool {
    let words: Option<Vec<_>> = path.iter().map(|word| word.to_str()).collect();
    let noun = words.unwrap_or_default().join(" ");
    commands::find(&noun).is_some_and(|declaration| declaration.lists_by_itself)
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

/// An option of the program, or several of one letter in one word.
struct ProgramOption {
    /// Whether every command takes it.
    is_global: bool,
    /// Whether it takes no value.
    is_flag: bool,
    /// Whether its value is the next word.
    takes_next: bool,
}

impl ProgramOption {
    fn read(word: &str) -> Option<ProgramOption> {
        let mut options = grammar::options().get_arguments();
        let Some(long) = word.strip_prefix("--") else {
            return ProgramOption::read_letters(word.strip_prefix('-')?);
        };
        let (name, value) = long.split_once('=').unzip();
        let name = name.unwrap_or(long);
        let arg = options.find(|arg| arg.get_long() == Some(name))?;
        Some(ProgramOption::of(arg, value.is_some()))
    }

    /// Reads letters as in '-qC': the first that takes a value takes the rest of the word, or the next one.
    fn read_letters(letters: &str) -> Option<ProgramOption> {
        let mut read: Option<ProgramOption> = None;
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            let mut options = grammar::options().get_arguments();
            let arg = options.find(|arg| arg.get_short() == Some(letter))?;
            let option = ProgramOption::of(arg, !letters.as_str().is_empty());
            let is_global = option.is_global && read.is_none_or(|before| before.is_global);
            let is_last = !option.is_flag;
            read = Some(ProgramOption { is_global, ..option });
            if is_last {
                break;
            }
        }
        read
    }

    fn of(arg: &clap::Arg, has_value: bool) -> ProgramOption {
        let takes_value = arg.get_action().takes_values();
        ProgramOption {
            is_global: arg.is_global_set(),
            is_flag: !takes_value,
            takes_next: takes_value && !has_value,
        }
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
            ("git-colony agents -qC /d new x", "git-colony -qC /d agents new x"),
            ("git-colony agents -qC/d new x", "git-colony -qC/d agents new x"),
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
    fn earlier_words_stand_behind_and_around_every_option() {
        for (earlier, now) in EARLIER {
            for options in ["-vC /d", "-qC/d", "-Pq", "--json", "-C .", "--agent=bo -q"] {
                let expected = format!("git-colony {options} {now} x");
                assert_eq!(read(&format!("git-colony {options} {earlier} x")), expected);
                let (first_word, second_word) = earlier.split_once(' ').unwrap_or((earlier, ""));
                let between =
                    format!("git-colony {first_word} {options} {second_word} x").replace("  ", " ");
                assert_eq!(read(&between), expected);
            }
            for option in ["--everywhere", "--watch"] {
                assert_eq!(
                    read(&format!("git-colony {option} {earlier}")),
                    read(&format!("git-colony {option} {now}"))
                );
            }
            for rest in ["x", "list", "ls", "rm x", "x y z"] {
                let line = read(&format!("git-colony {earlier} {rest}"));
                assert!(!line.contains("--question"), "{line}");
            }
        }
    }

    #[test]
    fn list_after_a_noun_that_lists_says_nothing_more() {
        for (typed, expected) in [
            ("git-colony agents list", "git-colony agents"),
            ("git-colony checkpoints --json ls --auto", "git-colony --json checkpoints --auto"),
            ("git-colony clones list", "git-colony clones list"),
            ("git-colony map scopes list", "git-colony map scopes"),
            ("git-colony scopes ls --json", "git-colony map scopes --json"),
            ("git-colony map show list", "git-colony map show list"),
            ("git-colony context projects list", "git-colony context --question=projects list"),
            ("git-colony forks delete list", "git-colony forks delete list"),
            ("git-colony restore list", "git-colony restore list"),
            ("git-colony agents new list", "git-colony agents new list"),
        ] {
            assert_eq!(read(typed), expected, "{typed}");
        }
    }
}

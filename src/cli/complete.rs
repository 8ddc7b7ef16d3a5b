//! `git colony complete` (hidden): the words that may come next on a command line. The shells ask on TAB.
//!
//! The answer comes from clap's grammar and, for values, from the repository. It never writes, takes
//! no lock and never fails: if nothing is known, nothing is offered. Its first line is the kind of
//! offer, `words`, `files` or `directories`; a line `<word> TAB <description>` for each word follows.

use std::ffi::OsString;

use clap::Arg;

use crate::cli::commands::program::schema;
use crate::desk::completion::{self, Names, Offer, Wanted};
use crate::git::{ObjectWrites, Repo};
use crate::model::World;
use crate::model::escape;
use crate::store::settings;
use crate::ui::answer::Outcome;

use super::actions::{ACTIONS, Action};
use super::typed_line::{self, TypedLine};
use super::{Face, Stop, commands, habits};

/// Offer what may stand at the end of a command line
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(super) struct Args {
    /// The words of the line as they are typed, the one to complete last
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// The kind of a value on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// A name in the repository.
    Name(Names),
    /// The key of a setting.
    Setting,
    /// A visible command.
    Command,
    /// An action of 'call'.
    Action,
    /// A word of the name of a report.
    Report,
    /// A file; the shells list them.
    File,
    /// A directory; the shells list them.
    Directory,
}

impl From<Names> for ValueKind {
    fn from(names: Names) -> ValueKind {
        ValueKind::Name(names)
    }
}

/// What values of these names are, unless a command declares something else. A value that is neither here nor declared
/// is free text.
const USUAL_VALUES: &[(&str, ValueKind)] = &[
    ("OP", ValueKind::Name(Names::Operations)),
    ("REVISION", ValueKind::Name(Names::Revisions)),
    ("BRANCH", ValueKind::Name(Names::Branches)),
    ("COMMIT", ValueKind::Name(Names::Revisions)),
    ("FORK", ValueKind::Name(Names::Forks)),
    ("AGENT", ValueKind::Name(Names::Agents)),
    ("CLONE", ValueKind::Name(Names::Agents)),
    ("REMOTE", ValueKind::Name(Names::Remotes)),
    ("KEY", ValueKind::Name(Names::BlackboardKeys)),
    ("SCOPE", ValueKind::Name(Names::Scopes)),
    ("SESSION", ValueKind::Name(Names::Sessions)),
    ("REPOSITORY", ValueKind::Name(Names::Repositories)),
    ("PATH", ValueKind::File),
    ("DIR", ValueKind::Directory),
];

/// Returns what a value of a command is.
fn kind_of(command: &str, value: &str) -> Option<ValueKind> {
    let declared = commands::find(command).map(|declaration| declaration.values.as_slice());
    let mut known = declared.into_iter().flatten().chain(USUAL_VALUES);
    known.find(|(name, _)| *name == value).map(|(_, kind)| *kind)
}

/// The answer to a shell.
#[derive(Debug, PartialEq, Eq)]
enum Offers {
    Words(Vec<Offer>),
    Files,
    Directories,
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let Ok(world) = face.world() else {
        return Ok(Outcome::Yes);
    };
    let cli = super::grammar::built();
    let (kind, words) = match offers(&cli, &typed_line::read(world, &args.words)) {
        Offers::Words(words) => ("words", words),
        Offers::Files => ("files", Vec::new()),
        Offers::Directories => ("directories", Vec::new()),
    };
    let mut text = format!("{kind}\n");
    for Offer { value, about } in words {
        text.extend([&value, "\t", &escape::line(&about), "\n"]);
    }
    let out = &mut face.env.stdout;
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Stop::Stream)?;
    Ok(Outcome::Yes)
}

/// Where in the grammar the last word stands.
struct WordPlace<'a> {
    root: &'a clap::Command,
    command: &'a clap::Command,
    /// The names of the commands from the root, as in `checkpoints show`.
    path: Vec<&'a str>,
    /// Options that have been given.
    given: Vec<&'a Arg>,
    /// The option whose value comes next.
    pending: Option<&'a Arg>,
    /// How many positionals have been given.
    positionals: usize,
    /// What they are.
    words: Vec<String>,
    /// `--` has been given: what follows are the last positionals.
    after_dashes: bool,
}

fn offers(cli: &clap::Command, line: &TypedLine) -> Offers {
    let mut place = WordPlace {
        root: cli,
        command: cli,
        path: Vec::new(),
        given: Vec::new(),
        pending: None,
        positionals: 0,
        words: Vec::new(),
        after_dashes: false,
    };
    let mut world = line.world.clone();
    let typed: Vec<OsString> = line.before.iter().map(OsString::from).collect();
    for word in habits::with_command_of_this_version(&typed) {
        let word = word.to_str().unwrap_or_default();
        if place.pending.is_some_and(|arg| arg.get_short() == Some('C')) {
            world.cwd = typed_line::directory(&world, word);
        } else if let Some(directory) = word.strip_prefix("-C").filter(|rest| !rest.is_empty()) {
            world.cwd = typed_line::directory(&world, directory);
        }
        place.step(word);
    }
    place.offers(&world, &line.last)
}

impl<'a> WordPlace<'a> {
    /// Moves past one word.
    fn step(&mut self, word: &str) {
        if self.pending.take().is_some() {
            return;
        }
        if self.after_dashes {
            self.positionals += 1;
        } else if word == "--" {
            self.after_dashes = true;
        } else if let Some(option) = word.strip_prefix("--") {
            let (name, value) = match option.split_once('=') {
                Some((name, _)) => (name, true),
                None => (option, false),
            };
            self.give(self.option(|arg| arg.get_long() == Some(name)), value);
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            // Of bundled letters the first that takes a value ends the bundle.
            for (at, letter) in letters.char_indices() {
                let arg = self.option(|arg| arg.get_short() == Some(letter));
                let has_value = at + letter.len_utf8() < letters.len();
                self.give(arg, has_value);
                if arg.is_some_and(takes_value) {
                    break;
                }
            }
        } else if let Some(command) = self.subcommand(word) {
            self.command = command;
            self.path.push(command.get_name());
            self.given.retain(|arg| arg.is_global_set());
            self.positionals = 0;
        } else {
            self.positionals += 1;
            self.words.push(word.to_owned());
        }
    }

    fn option(&self, test: impl Fn(&Arg) -> bool) -> Option<&'a Arg> {
        self.command.get_arguments().find(|arg| test(arg))
    }

    fn give(&mut self, arg: Option<&'a Arg>, value_follows_at_once: bool) {
        let Some(arg) = arg else { return };
        self.given.push(arg);
        if takes_value(arg) && !value_follows_at_once {
            self.pending = Some(arg);
        }
    }

    fn subcommand(&self, name: &str) -> Option<&'a clap::Command> {
        let mut all = self.command.get_subcommands();
        all.find(|command| self.positionals == 0 && command.get_name() == name)
    }

    fn offers(&self, world: &World, last: &str) -> Offers {
        if let Some(arg) = self.pending {
            return self.values(world, arg, last);
        }
        if self.after_dashes {
            return match self.positional() {
                Some(arg) => self.values(world, arg, last),
                None => Offers::Words(Vec::new()),
            };
        }
        if let Some((name, value)) = last.strip_prefix("--").and_then(|o| o.split_once('=')) {
            let Some(arg) = self.option(|arg| arg.get_long() == Some(name)) else {
                return Offers::Words(Vec::new());
            };
            return match self.values(world, arg, value) {
                Offers::Words(words) => {
                    let whole =
                        |offer: Offer| Offer::new(format!("--{name}={}", offer.value), offer.about);
                    Offers::Words(words.into_iter().map(whole).collect())
                }
                other => other,
            };
        }
        if last.starts_with('-') {
            return Offers::Words(self.flags(last));
        }
        let mut commands = self.subcommands(last);
        match self.positional() {
            Some(arg) if commands.is_empty() => self.values(world, arg, last),
            Some(arg) if self.kind(arg) == Some(ValueKind::Command) => {
                // 'help' has topics beside the commands.
                commands.extend(self.commands_told_of(last));
                Offers::Words(commands)
            }
            _ => Offers::Words(commands),
        }
    }

    /// The positional that comes next.
    fn positional(&self) -> Option<&'a Arg> {
        let all: Vec<_> = self.command.get_positionals().collect();
        if let Some(last) = all.iter().find(|arg| arg.is_last_set() && self.after_dashes) {
            return Some(last);
        }
        let usual: Vec<_> = all.into_iter().filter(|arg| !arg.is_last_set()).collect();
        // One that takes many goes on for ever.
        let many = |arg: &&&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        let next = usual.get(self.positionals);
        next.or_else(|| usual.last().filter(many)).copied()
    }

    fn subcommands(&self, typed: &str) -> Vec<Offer> {
        let alone = self.command.is_args_conflicts_with_subcommands_set()
            && self.given.iter().any(|arg| !arg.is_global_set());
        if self.positionals > 0 || alone {
            return Vec::new();
        }
        let visible = self.command.get_subcommands().filter(|command| !command.is_hide_set());
        let fitting = visible.filter(|command| command.get_name().starts_with(typed));
        let offer = |c: &clap::Command| Offer::new(c.get_name(), said(c.get_about()));
        fitting.map(offer).collect()
    }

    /// The commands below the one that the words so far name.
    fn commands_told_of(&self, typed: &str) -> Vec<Offer> {
        let mut command = self.root;
        for word in &self.words {
            let Some(below) = command.find_subcommand(word) else {
                return Vec::new();
            };
            command = below;
        }
        let place = WordPlace {
            command,
            positionals: 0,
            words: Vec::new(),
            given: Vec::new(),
            path: Vec::new(),
            ..*self
        };
        place.subcommands(typed)
    }

    /// Options that begin with what has been typed and may still be given.
    fn flags(&self, typed: &str) -> Vec<Offer> {
        let again = |arg: &Arg| matches!(arg.get_action(), clap::ArgAction::Append);
        let given = |arg: &Arg| self.given.iter().any(|given| given.get_id() == arg.get_id());
        let mut offers = Vec::new();
        for arg in self.command.get_arguments().filter(|arg| !arg.is_positional()) {
            if arg.is_hide_set() || (given(arg) && !again(arg)) {
                continue;
            }
            let long = arg.get_long().map(|long| format!("--{long}"));
            let short = arg.get_short().map(|short| format!("-{short}"));
            let names = long.or(short).into_iter();
            let about = said(arg.get_help());
            offers.extend(
                names.filter(|name| name.starts_with(typed)).map(|name| Offer::new(name, &about)),
            );
        }
        offers
    }

    /// Returns what the values of an argument are.
    fn kind(&self, arg: &Arg) -> Option<ValueKind> {
        let names = arg.get_value_names()?;
        kind_of(&self.path.join(" "), names.first()?.as_str())
    }

    fn values(&self, world: &World, arg: &Arg, typed: &str) -> Offers {
        let possible = arg.get_possible_values();
        if !possible.is_empty() {
            let offer = |value: &clap::builder::PossibleValue| {
                Offer::new(value.get_name(), said(value.get_help()))
            };
            return fitting(possible.iter().map(offer), typed);
        }
        match self.kind(arg) {
            None => Offers::Words(Vec::new()),
            Some(ValueKind::File) => Offers::Files,
            Some(ValueKind::Directory) => Offers::Directories,
            Some(ValueKind::Setting) => {
                let offer = |setting: &settings::Setting| Offer::new(setting.key, setting.help);
                fitting(settings::TABLE.iter().map(offer), typed)
            }
            Some(ValueKind::Command) => Offers::Words(self.commands_told_of(typed)),
            Some(ValueKind::Report) => {
                let next = schema::next_words(&self.words).into_iter();
                fitting(next.map(|word| Offer::new(word, "")), typed)
            }
            Some(ValueKind::Action) => {
                let offer = |action: &Action| Offer::new(action.name, action.command);
                fitting(ACTIONS.iter().map(offer), typed)
            }
            Some(ValueKind::Name(kind)) => match Repo::open(world, ObjectWrites::InMemory) {
                Ok(repo) => {
                    let before = &self.words;
                    let wanted = Wanted { kind, typed, before };
                    Offers::Words(completion::names(world, &repo, wanted))
                }
                Err(_) => Offers::Words(Vec::new()),
            },
        }
    }
}

/// Offers the words that begin with the typed text.
fn fitting(all: impl Iterator<Item = Offer>, typed: &str) -> Offers {
    Offers::Words(all.filter(|offer| offer.value.starts_with(typed)).collect())
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn said(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

//! The manual: a page in roff for the program and for each visible command, made from clap's grammar.
//!
//! The same program gives the same bytes: no date, no width of a terminal. `cargo run --example
//! manual` makes the ones of the repository, and a test compares; 'git colony help --install' writes the same.

use crate::cli::args::{DEFAULT_COMMAND, EVERYWHERE};
use crate::cli::commands::program::help;
use crate::cli::declaration::Section;
use crate::cli::examples;
use crate::store::settings;

use super::roff::Roff;

/// One page of section 1.
pub struct Page {
    /// The name of its file, as in `git-colony-restore.1`.
    pub file: String,
    /// Its content.
    pub text: String,
}

/// Returns every page.
pub fn pages() -> Vec<Page> {
    let cli = crate::cli::grammar::whole();
    let mut pages = vec![Page { file: "git-colony.1".to_owned(), text: overview(&cli) }];
    let visible = cli.get_subcommands().filter(|command| !command.is_hide_set());
    pages.extend(visible.map(|command| Page {
        file: format!("git-colony-{}.1", command.get_name()),
        text: page(command),
    }));
    pages
}

const DESCRIPTION: &[&str] = &[
    "'git colony' keeps states of a git repository and restores them exactly. A checkpoint is an ordinary \
     commit with an annotated tag object, so that git alone can read it and any git server can store it; it is \
     not a tag of git, so that 'git tag' and 'git describe' do not list it. A restore makes branch, index and files \
     equal to a checkpoint. An undo reverts the newest operation: a checkpoint, a tag, a restore, an undo.",
    "No file in the working tree is overwritten or deleted: files that are replaced are moved into the git \
     directory, and undo restores them from there. A command that is killed is completed or canceled by the \
     next changing command. All of this works in any repository, without a server, a daemon or a file in the tree.",
];

const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "Done."),
    ("1", "Done, and the answer is no."),
    ("128", "Refused or failed; nothing has changed unless the message says so."),
    ("129", "Wrong usage."),
    (
        "130, 131, 143",
        "Interrupted (SIGINT), ended (SIGQUIT; SIGTERM, SIGHUP) before anything was changed.",
    ),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_DIR, GIT_WORK_TREE, GIT_CEILING_DIRECTORIES", "Where the repository is, as for git."),
    (
        "GIT_AUTHOR_NAME, GIT_COMMITTER_NAME, ...",
        "Who acts, as for git; an agent that is named wins.",
    ),
    (
        "COLONY_HOOK_TIMEOUT",
        "The seconds after which a hook of ours in git gives up, and git goes on; 10 where it is not set.",
    ),
    (
        "COLONY_SESSION",
        "The session that a command is of, for who works in an agent's clone, for the trailer 'Colony-Session', and for \
         'git colony session': a letter or digit, and up to 127 letters, digits and -_.: ; \
         'git colony hooks install --for claude-code' has it set.",
    ),
    (
        "COLONY_TRACE",
        "1 means '-v': each process that is started is printed on standard error, with its time, for bug reports. \
         Credentials of URLs are left out.",
    ),
    (
        "NO_COLOR, TERM, COLUMNS, GIT_PAGER, PAGER",
        "As for git: whether there are colors, how wide the terminal is, and the pager of long lists; so do the settings \
         'color.ui', 'core.pager' and 'pager.colony'.",
    ),
    (
        "COLONY_OPERATION",
        "Set for the hooks of git that an operation calls. Under it a changing command refuses, and \
         'checkpoint --auto' answers that it is busy.",
    ),
];

const FILES: &[(&str, &str)] = &[
    (
        "refs/colony/checkpoints/*",
        "Checkpoints: annotated tag objects. 'git colony sync' brings them to a remote, a usual push does not.",
    ),
    (
        "refs/colony-local/*",
        "Automatic checkpoints and the operation log; an ordinary push leaves them out.",
    ),
    (".git/colony/", "The lock, the name of the worktree, an operation in progress."),
    (
        ".git/colony-kept/",
        "The files that operations moved aside. 'git colony prune' deletes those past their time.",
    ),
    (
        ".colony/colony.toml",
        "What a repository may set, by the name without 'colony.'; the rest of it is ignored and told.",
    ),
    (
        ".colony/agents/*.md",
        "Agents that completion offers for '--agent', where a repository has them.",
    ),
];

fn overview(cli: &clap::Command) -> String {
    let mut roff = Roff::new("GIT-COLONY");
    roff.section("NAME");
    roff.name("git-colony", &about(cli));
    roff.section("SYNOPSIS");
    roff.synopsis("git colony", &["[OPTION]...", "[COMMAND", "[ARGUMENT]...]"]);
    roff.section("DESCRIPTION");
    roff.paragraphs(DESCRIPTION.iter().copied());
    if let Some(default) = cli.find_subcommand(DEFAULT_COMMAND) {
        roff.section("WITHOUT A COMMAND");
        roff.paragraphs([format!("{}.", first_upper(&about(default))).as_str()]);
        describe(&mut roff, default);
    }
    roff.section("COMMANDS");
    let commands = help::commands(cli);
    for group in Section::ALL.map(Section::heading) {
        roff.subsection(group);
        for command in commands.iter().filter(|command| command.group == group) {
            roff.reference_entry(&format!("git-colony-{}", command.name), &command.summary);
        }
    }
    roff.section("OPTIONS");
    options(&mut roff, cli, |_| true);
    roff.section("SETTINGS");
    roff.paragraphs([
        "Set them with 'git config colony.NAME VALUE', at any of git's levels. '.colony/colony.toml' at the root of \
         the worktree wins over git's configuration, the one in the current directory over that, a variable over \
         all files, an option over everything. 'git colony config --show-origin' shows which are in effect.",
    ]);
    for setting in settings::TABLE {
        let default = match setting.default {
            "" => String::new(),
            value => format!(" Default: '{value}'."),
        };
        let help = first_upper(setting.help);
        let variable = match setting.variable {
            "" => String::new(),
            name => format!(" Variable: '{name}'."),
        };
        let help = format!("{help}.{default}{variable}");
        roff.entry(setting.key, &help);
    }
    table(&mut roff, "EXIT STATUS", EXIT_STATUS);
    table(&mut roff, "ENVIRONMENT", ENVIRONMENT);
    table(&mut roff, "FILES", FILES);
    roff.section("SEE ALSO");
    roff.references(&["git", "git-tag", "git-worktree", "gitglossary(7)"]);
    roff.into_text()
}

fn page(command: &clap::Command) -> String {
    let name = format!("git-colony-{}", command.get_name());
    let mut roff = Roff::new(&name.to_uppercase());
    roff.section("NAME");
    roff.name(&name, &about(command));
    roff.section("SYNOPSIS");
    let spoken = format!("git colony {}", command.get_name());
    let actions = actions_below(command, "");
    if !command.is_subcommand_required_set() {
        synopsis(&mut roff, &spoken, command);
    }
    for (name, action) in &actions {
        if !action.is_subcommand_required_set() {
            synopsis(&mut roff, &format!("{spoken} {name}"), action);
        }
    }
    roff.section("DESCRIPTION");
    describe(&mut roff, command);
    if command.get_arguments().any(is_own) {
        roff.section("OPTIONS");
        options(&mut roff, command, is_own);
    }
    if !actions.is_empty() {
        roff.section("ACTIONS");
    }
    for (name, action) in &actions {
        roff.subsection(name);
        describe(&mut roff, action);
        options(&mut roff, action, |arg| is_own(arg) && !arg.is_global_set());
    }
    roff.section("GLOBAL OPTIONS");
    options(&mut roff, command, |arg| !is_own(arg) && !arg.is_hide_set());
    let names = actions.iter().map(|(name, _)| format!("{} {name}", command.get_name()));
    let shown = std::iter::once(command.get_name().to_owned()).chain(names);
    let examples: Vec<_> = shown.filter_map(|name| examples::find(&name)).collect();
    let lines: Vec<_> = examples.iter().flat_map(|examples| examples.lines).copied().collect();
    if !lines.is_empty() {
        table(&mut roff, "EXAMPLES", &lines);
    }
    table(&mut roff, "EXIT STATUS", EXIT_STATUS);
    roff.section("ENVIRONMENT AND FILES");
    roff.paragraphs(["git-colony(1) lists the variables, the settings, and where data is stored."]);
    roff.section("SEE ALSO");
    roff.references(&["git-colony"]);
    roff.into_text()
}

/// Lists the commands below one, each followed by those below it, with their names as in `scopes unmap`.
fn actions_below<'a>(command: &'a clap::Command, above: &str) -> Vec<(String, &'a clap::Command)> {
    let shown = command.get_subcommands().filter(|action| !action.is_hide_set());
    let each = shown.flat_map(|action| {
        let name = format!("{above}{}", action.get_name());
        let below = actions_below(action, &format!("{name} "));
        std::iter::once((name, action)).chain(below)
    });
    each.collect()
}

/// Options of the command itself, not those that every command takes.
fn is_own(arg: &clap::Arg) -> bool {
    let is_everywhere = arg.get_help_heading() == Some(EVERYWHERE) || arg.get_id() == "help";
    !arg.is_hide_set() && !is_everywhere
}

fn about(command: &clap::Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    help::first_lower(&about.unwrap_or_default())
}

/// The paragraphs of the help; its first line says what NAME says, so it counts only alone.
fn describe(roff: &mut Roff, command: &clap::Command) {
    let help = command
        .get_long_about()
        .or(command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default();
    match help.split_once("\n\n") {
        Some((_, more)) => roff.paragraphs(more.split("\n\n")),
        None => roff.paragraphs([format!("{help}.").as_str()]),
    }
}

fn synopsis(roff: &mut Roff, spoken: &str, command: &clap::Command) {
    let mut words = vec!["[OPTION]...".to_owned()];
    for arg in command.get_positionals() {
        let dashes = if arg.is_last_set() { "-- " } else { "" };
        let name = format!("{dashes}{}", value_of(arg).unwrap_or_default());
        words.push(if arg.is_required_set() { name } else { format!("[{name}]") });
    }
    roff.synopsis(spoken, &words.iter().map(String::as_str).collect::<Vec<_>>());
}

fn options(roff: &mut Roff, command: &clap::Command, wanted: impl Fn(&clap::Arg) -> bool) {
    let (positionals, options): (Vec<_>, Vec<_>) =
        command.get_arguments().filter(|arg| wanted(arg)).partition(|arg| arg.is_positional());
    for arg in positionals.into_iter().chain(options) {
        let short = arg.get_short().map(|short| format!("-{short}"));
        let long = arg.get_long().map(|long| format!("--{long}"));
        let value = value_of(arg).filter(|_| arg.get_action().takes_values());
        let names: Vec<_> = short.into_iter().chain(long).collect();
        roff.option(&names, value.as_deref().unwrap_or_default(), &argument_text(arg));
    }
}

/// The name of a value, with dots where it may come many times.
fn value_of(arg: &clap::Arg) -> Option<String> {
    let name = arg.get_value_names()?.first()?;
    let many = arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    Some(format!("{name}{}", if many { "..." } else { "" }))
}

fn argument_text(arg: &clap::Arg) -> String {
    if arg.get_id() == "help" {
        return "Print help: '-h' on one screen, '--help' in full.".to_owned();
    }
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
    let mut text = help.unwrap_or_default();
    if !text.ends_with('.') {
        text.push('.');
    }
    let possible = arg.get_possible_values();
    if !possible.is_empty() && arg.get_action().takes_values() {
        let value = |value: &clap::builder::PossibleValue| match value.get_help() {
            Some(help) => {
                format!("'{}' ({})", value.get_name(), help::first_lower(&help.to_string()))
            }
            None => format!("'{}'", value.get_name()),
        };
        let values: Vec<_> = possible.iter().map(value).collect();
        text = format!("{text}\n\nOne of {}.", values.join(", "));
    }
    let defaults = arg.get_default_values().iter().filter(|_| !arg.is_hide_default_value_set());
    for default in defaults.filter(|_| arg.get_action().takes_values()) {
        text = format!("{text} Default: '{}'.", default.to_string_lossy());
    }
    text
}

fn first_upper(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

fn table(roff: &mut Roff, title: &str, rows: &[(&str, &str)]) {
    roff.section(title);
    for (name, help) in rows {
        roff.entry(name, help);
    }
}

//! The filters as git would run them, and the reason why one cannot run.
//!
//! git refuses a file whose filter is `required` and has no command for the direction; gix passes its content on as it
//! is, so a secret that a filter should encrypt would be stored in plain text.

use gix::bstr::{BString, ByteSlice as _};
use gix::filter::plumbing::Pipeline;
use gix::index::entry::{Flags, Mode};

use crate::git::Repo;
use crate::git::attributes::{AttributeLookup, AttributesOf};
use crate::git::process::on_path;
use crate::model::{Code, Error, RepoPath, World};

/// A command that always fails: the one that a required filter lacks.
const FAILING: &str = "false";

/// Words that a shell knows without a program.
const BUILT_IN: [&str; 16] = [
    ".", ":", "[", "cd", "command", "echo", "eval", "exec", "exit", "export", "printf", "read",
    "set", "test", "trap", "unset",
];

/// The direction of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    /// From the working tree to the object database.
    Clean,
    /// From the object database to the working tree.
    Smudge,
}

impl Conversion {
    /// Returns the name of the command in the configuration.
    fn key(self) -> &'static str {
        match self {
            Conversion::Clean => "clean",
            Conversion::Smudge => "smudge",
        }
    }
}

/// Makes the drivers of gix do what git would do with this configuration.
pub(in crate::git) fn follow_git(repo: &Repo, pipeline: &mut Pipeline) {
    for driver in &mut pipeline.options_mut().drivers {
        let required = format!("filter.{}.required", driver.name);
        // gix does not see a value that is true because it has no `=`.
        driver.required = repo.config_bool(&required) == Some(true);
        if driver.process.as_ref().is_some_and(|process| process.is_empty()) {
            // An empty process is none, and git does not ask for the other commands then.
            (driver.clean, driver.smudge, driver.process) = (None, None, None);
        }
        for command in [&mut driver.clean, &mut driver.smudge] {
            command.take_if(|command| command.is_empty());
            if driver.required && driver.process.is_none() {
                command.get_or_insert_with(|| BString::from(FAILING));
            }
        }
    }
}

impl Repo {
    /// Returns the reason why a file of the working tree cannot be stored, if its filter is required and cannot run.
    pub(in crate::git) fn clean_error(
        &self,
        world: &World,
        index: &gix::index::State,
        path: &RepoPath,
    ) -> Option<Error> {
        let mut lookup = self.attribute_lookup(index, "filter", AttributesOf::Worktree).ok()?;
        self.missing_filter(world, &mut lookup, path, Conversion::Clean)
    }

    /// Explains why the files of an index could not be written, if the filter of one is required and cannot run.
    pub(in crate::git) fn smudge_error(
        &self,
        world: &World,
        index: &gix::index::State,
        error: Error,
    ) -> Error {
        if error.code() != Code::FilterFailed {
            return error;
        }
        let Ok(mut lookup) = self.attribute_lookup(index, "filter", AttributesOf::Index) else {
            return error;
        };
        let written = index.entries().iter().filter(|entry| {
            matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE)
                && !entry.flags.contains(Flags::SKIP_WORKTREE)
        });
        let paths = written.map(|entry| RepoPath::from(entry.path(index).as_bytes()));
        let mut missing = paths
            .filter_map(|path| self.missing_filter(world, &mut lookup, &path, Conversion::Smudge));
        missing.next().unwrap_or(error)
    }

    fn missing_filter(
        &self,
        world: &World,
        lookup: &mut AttributeLookup<'_>,
        path: &RepoPath,
        conversion: Conversion,
    ) -> Option<Error> {
        let selection = lookup.find(path.as_bytes(), Mode::FILE).ok()??;
        let filter = selection.assignment.state.as_bstr()?.to_str().ok()?.to_owned();
        if self.config_bool(&format!("filter.{filter}.required")) != Some(true) {
            return None;
        }
        let verb = match conversion {
            Conversion::Clean => "store",
            Conversion::Smudge => "write",
        };
        let reason = match self.filter_command(&filter, conversion) {
            None => format!("has no command '{}'", conversion.key()),
            Some(command) => {
                let program = missing_program(self, world, &command)?;
                format!("needs '{program}', not installed")
            }
        };
        let message = format!("cannot {verb} '{path}': its required filter '{filter}' {reason}");
        let config = format!("git config --show-origin --get-regexp 'filter[.]{filter}[.]'");
        Some(
            Error::new(Code::FilterMissing, message)
                .detail("path", path.to_string())
                .detail("filter", filter)
                .hint(config),
        )
    }

    /// Returns the command that git runs for a direction.
    fn filter_command(&self, filter: &str, conversion: Conversion) -> Option<String> {
        let process = self.config(&format!("filter.{filter}.process"));
        let command =
            process.or_else(|| self.config(&format!("filter.{filter}.{}", conversion.key())));
        command.filter(|command| !command.is_empty())
    }
}

/// Returns the program that a command begins with, if it is certainly not there.
fn missing_program(repo: &Repo, world: &World, command: &str) -> Option<String> {
    let command = command.trim_start();
    let program = match command.chars().next()? {
        quote @ ('"' | '\'') => command.get(1..)?.split(quote).next()?,
        _ => command.split_whitespace().next()?,
    };
    // Anything else is for the shell to read.
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+ ".contains(c);
    if !program.chars().all(is_plain) || BUILT_IN.contains(&program) {
        return None;
    }
    let is_there = if program.contains('/') {
        repo.workdir().join(program).is_file()
    } else {
        on_path(world, program).is_some()
    };
    (!is_there).then(|| program.to_owned())
}

//! The pager, by git's rules: which program it is, and how it is started and waited for.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::model::Result;
use crate::model::World;

use super::program;
use super::trace::Trace;

/// How often it is looked whether the pager has ended, while nothing says so.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The signal of the keyboard, which is for the pager: it goes to everything in the foreground.
const SIGINT: i32 = 2;

/// What a shell exits with where there is no such program.
const NOT_FOUND: i32 = 127;

/// What the configuration says about paging.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PagerSettings {
    /// `pager.colony`: a boolean, or a program.
    pub own: Option<String>,
    /// `core.pager`.
    pub core: Option<String>,
}

/// Returns the command line of the pager, or `None` where there is to be none.
pub fn command(world: &World, settings: &PagerSettings) -> Option<String> {
    chosen(&world.variables, settings)
}

fn chosen(variables: &BTreeMap<OsString, OsString>, settings: &PagerSettings) -> Option<String> {
    let variable = |name: &str| {
        let value = variables.get(OsStr::new(name))?;
        value.to_str().map(str::to_owned)
    };
    let own = settings.own.as_deref();
    if matches!(own, Some("false" | "no" | "off" | "0")) {
        return None;
    }
    let own = own.filter(|own| !matches!(*own, "true" | "yes" | "on" | "1" | ""));
    let chosen = variable("GIT_PAGER")
        .or_else(|| own.map(str::to_owned))
        .or_else(|| settings.core.clone())
        .or_else(|| variable("PAGER"))
        .unwrap_or_else(|| "less".to_owned());
    (!matches!(chosen.trim(), "" | "cat")).then_some(chosen)
}

/// The streams of the terminal that a pager writes to.
#[derive(Debug)]
pub struct PagerStreams<'a> {
    /// Standard output.
    pub stdout: &'a File,
    /// Standard error.
    pub stderr: &'a File,
}

/// Shows a text in a pager and waits until that has ended. Returns `false` where it cannot be started.
pub fn show(world: &World, command: &str, text: &str, terminal: &PagerStreams<'_>) -> Result<bool> {
    let Some(mut child) = start(world, command, terminal) else {
        return Ok(false);
    };
    // Who quits it early has read enough.
    let _completing = world.interrupt.complete();
    world.interrupt.spare(child.id());
    let mut input = child.stdin.take();
    let text = text.to_owned();
    let writing = std::thread::spawn(move || {
        if let Some(input) = &mut input
            && let Err(error) = input.write_all(text.as_bytes())
            && error.kind() != ErrorKind::BrokenPipe
        {
            // There is no stream to report it on; what was shown is there to read.
        }
    });
    let code = wait(world, &mut child)?;
    // It has nothing to return, and ends with the pipe.
    writing.join().ok();
    Ok(code != Some(NOT_FOUND))
}

fn start(world: &World, command: &str, terminal: &PagerStreams<'_>) -> Option<Child> {
    let mut shell = program::command(world, "sh");
    shell.args(["-c", command]).env_clear().envs(world.variables.iter());
    shell.env("GIT_PAGER_IN_USE", "true").current_dir(&world.cwd);
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if !world.variables.contains_key(OsStr::new(name)) {
            shell.env(name, value);
        }
    }
    let stdout = terminal.stdout.try_clone().ok()?;
    let stderr = terminal.stderr.try_clone().ok()?;
    shell.stdin(Stdio::piped()).stdout(stdout).stderr(stderr);
    if let Some(traced) = Trace::of(world).begin(&shell) {
        traced.goes_on();
    }
    shell.spawn().ok()
}

fn wait(world: &World, child: &mut Child) -> Result<Option<i32>> {
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return Ok(status.code()),
            Err(_) => return Ok(None),
        }
        if world.interrupt.signal().is_some_and(|signal| signal != SIGINT) {
            super::ask_to_end(&[child.id()]);
            child.wait().ok();
            world.interrupt.check()?;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pager_is_chosen_as_git_chooses_it() {
        let settings = |own: Option<&str>, core: Option<&str>| PagerSettings {
            own: own.map(str::to_owned),
            core: core.map(str::to_owned),
        };
        let with = |variables: &[(&str, &str)], settings: &PagerSettings| {
            let variables =
                variables.iter().map(|(name, value)| (OsString::from(name), value.into()));
            chosen(&variables.collect(), settings)
        };
        let none = settings(None, None);
        assert_eq!(with(&[], &none).as_deref(), Some("less"));
        assert_eq!(with(&[("PAGER", "more")], &none).as_deref(), Some("more"));
        let core = settings(None, Some("most"));
        assert_eq!(with(&[("PAGER", "more")], &core).as_deref(), Some("most"));
        let own = settings(Some("own"), Some("most"));
        assert_eq!(with(&[], &own).as_deref(), Some("own"));
        assert_eq!(with(&[("GIT_PAGER", "first")], &own).as_deref(), Some("first"));
        for off in ["", "cat"] {
            assert_eq!(with(&[("GIT_PAGER", off)], &own), None);
        }
        assert_eq!(with(&[], &settings(Some("false"), Some("most"))), None);
        assert_eq!(with(&[], &settings(Some("true"), Some("most"))).as_deref(), Some("most"));
    }
}

//! `git colony tour`

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Serialize;

use crate::env::{Env, Terminal};
use crate::flow::tour::{self, Ground};
use crate::model::time::Moment;
use crate::model::{Code, Error, Result, World};
use crate::ui::answer::{Answer, Outcome};

use super::{Face, Stop};

/// See it all in a throw-away clone of this repository
///
/// Makes a clone of at most 2,000 files in the temporary directory (objects borrowed, nothing
/// fetched), and walks checkpoint, a careless change, restore and undo on it, with the real output
/// of each command. Nothing outside the clone changes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(face: &mut Face<'_>) -> Result<Outcome, Stop> {
    let world = face.world()?;
    let folder = temporary_folder(&world)?;
    let ground = tour::prepare(&world, &folder)?;
    let mut guide = Guide {
        world: inside(&world, &ground),
        ground,
        steps: Vec::new(),
    };
    guide.walk()?;
    let report = TourReport {
        files: guide.ground.files,
        clone: guide.ground.path.display().to_string(),
        steps: guide.steps,
    };
    face.answer(&report)
}

fn temporary_folder(world: &World) -> Result<std::path::PathBuf> {
    let base = world
        .variable("TMPDIR")
        .map_or(Path::new("/tmp"), Path::new);
    tempfile::Builder::new()
        .prefix("colony-tour-")
        .tempdir_in(world.absolute(base))
        .map(tempfile::TempDir::keep)
        .map_err(|e| Error::io("cannot make a temporary directory", e))
}

fn inside(world: &World, ground: &Ground) -> World {
    let mut world = world.clone();
    world.cwd.clone_from(&ground.path);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "COLONY_AGENT"] {
        world.variables.remove(std::ffi::OsStr::new(name));
    }
    world
}

/// Walks through the clone and records the output.
struct Guide {
    world: World,
    ground: Ground,
    steps: Vec<Step>,
}

impl Guide {
    fn walk(&mut self) -> Result<()> {
        self.colony(&["status"])?;
        self.colony(&["checkpoint", "-m", "before the risky change"])?;
        let done = tour::wreck(&self.ground)?;
        for command in done {
            self.steps.push(Step {
                command,
                output: Vec::new(),
            });
        }
        self.colony(&["status"])?;
        self.colony(&["restore", "before the risky change"])?;
        self.colony(&["status"])?;
        self.colony(&["undo"])?;
        self.colony(&["redo"])?;
        self.colony(&["ops"])
    }

    fn colony(&mut self, args: &[&str]) -> Result<()> {
        let output = Captured::default();
        let mut env = Env {
            world: self.world.clone(),
            stdin: Box::new(std::io::empty()),
            stdout: Box::new(output.clone()),
            stderr: Box::new(output.clone()),
            terminal: Terminal::default(),
        };
        let words: Vec<_> = ["git-colony"]
            .iter()
            .chain(args)
            .map(std::ffi::OsString::from)
            .collect();
        let exit = super::run(&words, &mut env);
        let command = args
            .iter()
            .map(|arg| quoted(arg))
            .collect::<Vec<_>>()
            .join(" ");
        let lines = output.lines();
        if exit.0 != 0 {
            return Err(Error::new(
                Code::Io,
                format!(
                    "'git colony {command}' failed in the clone: {}",
                    lines.join(" ")
                ),
            ));
        }
        self.steps.push(Step {
            command: format!("git colony {command}"),
            output: lines,
        });
        Ok(())
    }
}

fn quoted(arg: &str) -> String {
    if arg.contains(' ') {
        format!("'{arg}'")
    } else {
        arg.to_owned()
    }
}

/// A stream that keeps its input.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    fn lines(&self) -> Vec<String> {
        let bytes = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        String::from_utf8_lossy(&bytes)
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Serialize, JsonSchema)]
struct Step {
    command: String,
    output: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct TourReport {
    files: usize,
    steps: Vec<Step>,
    clone: String,
}

impl Answer for TourReport {
    fn message(&self) -> String {
        format!(
            "a walk in a throw-away clone of {} files: {}",
            self.files, self.clone
        )
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        for step in &self.steps {
            lines.push(String::new());
            lines.push(format!("$ {}", step.command));
            lines.extend(step.output.iter().map(|line| format!("  {line}")));
        }
        lines.push(String::new());
        lines.push(format!("look around in it, then: rm -rf {}", self.clone));
        lines
    }
}

//! `git colony help tour`

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop};
use crate::desk::tour::{self, Ground};
use crate::env::{Env, Terminal};
use crate::model::interrupt::Interrupt;
use crate::model::text::shell_word;
use crate::model::time::Moment;
use crate::model::{Code, Error, Result, World};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::layout::Block;
use crate::ui::text;
use crate::ui::theme::{Role, Span};

/// The rows of a screen, without the prompt.
const ROWS: usize = 23;
/// The columns of a screen.
const COLUMNS: usize = 80;
/// The indentation of output.
const INDENT: &str = "  ";

/// Show what the commands do, in a temporary copy of this repository
///
/// Copies at most 1,000 files of HEAD into the temporary directory and runs the commands there: keep and
/// restore, two agents that change the same line, a merge, a conflict, an agent that is removed, and the map
/// with its tokens. What they print is shown, one screen for each part; then the copy is deleted. The
/// repository is only read, nothing is fetched, and no user configuration is used.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("help tour")
        .example("git colony help tour", "see what the commands do, in a temporary copy")
        .example("git colony help tour --json", "the same for a program")
        .answers::<TourReport>()
}

pub(in crate::cli) fn run(face: &mut Face<'_>) -> Result<Outcome, Stop> {
    let world = face.world()?;
    // Dropping it deletes the folder, also after a failure or a signal.
    let folder = temporary_folder(&world)?;
    let ground = world.progress.during("copying files", || tour::prepare(&world, folder.path()))?;
    let mut guide =
        Guide { interrupt: world.interrupt.clone(), ground, part: "", steps: Vec::new() };
    world.progress.during("the tour", || guide.walk())?;
    let Guide { ground, steps, .. } = guide;
    let report = TourReport {
        files: ground.files,
        all_files: ground.all_files,
        clone: ground.path.display().to_string(),
        steps,
    };
    let shown = folder.path().to_owned();
    folder.close().map_err(|error| left_over(&shown, error))?;
    face.answer(&report)
}

fn left_over(folder: &Path, error: io::Error) -> Error {
    let word = shell_word(&folder.to_string_lossy());
    Error::io(format!("cannot delete '{}'", folder.display()), error).hint(format!("rm -rf {word}"))
}

/// Makes a folder that only the user can read.
fn temporary_folder(world: &World) -> Result<tempfile::TempDir> {
    let base = world.variable("TMPDIR").map_or(Path::new("/tmp"), Path::new);
    tempfile::Builder::new()
        .prefix("colony-tour-")
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir_in(world.absolute(base))
        .map_err(|e| Error::io("cannot make a temporary directory", e))
}

/// Runs the commands of the tour and records their output.
struct Guide {
    interrupt: Interrupt,
    ground: Ground,
    part: &'static str,
    steps: Vec<Step>,
}

/// Where a command runs: in the copy or in the clone of an agent.
#[derive(Clone)]
struct Place {
    agent: Option<&'static str>,
    path: PathBuf,
}

impl Guide {
    fn walk(&mut self) -> Result<()> {
        let desk = Place { agent: None, path: self.ground.path.clone() };
        self.keep_and_restore(&desk)?;
        self.two_agents(&desk)?;
        self.merge_and_conflict(&desk)?;
        self.map(&desk)
    }

    fn keep_and_restore(&mut self, desk: &Place) -> Result<()> {
        self.part = "Keep and restore";
        self.colony(desk, &["checkpoint", "-m", "before the risky change"])?;
        for command in self.ground.wreck()? {
            self.record(desk, command, Vec::new(), 0);
        }
        self.colony(desk, &["restore", "before the risky change"])?;
        self.colony(desk, &["undo"])?;
        self.colony(desk, &["redo"])?;
        self.colony(desk, &["ops"])
    }

    fn two_agents(&mut self, desk: &Place) -> Result<()> {
        self.part = "Two agents change the same line";
        for agent in ["ada", "bob"] {
            self.colony(desk, &["agents", "new", agent])?;
            let output = self.run(desk, &["agents", "path", agent])?;
            let place = Place { agent: Some(agent), path: output.lines.concat().into() };
            let end = format!(", as {agent} has it");
            let command = self.ground.change_first_line(&place.path, &end)?;
            self.record(&place, command, Vec::new(), 0);
            let label = format!("the line of {agent}");
            self.colony(&place, &["checkpoint", "-m", &label])?;
        }
        self.colony(desk, &[])
    }

    fn merge_and_conflict(&mut self, desk: &Place) -> Result<()> {
        self.part = "One is merged, one conflicts and is removed";
        self.colony(desk, &["merge", "ada"])?;
        self.colony(desk, &["merge", "bob"])?;
        self.colony(desk, &["agents", "remove", "bob"])?;
        self.colony(desk, &["agents"])
    }

    fn map(&mut self, desk: &Place) -> Result<()> {
        self.part = "A map for a model: pages and their tokens";
        self.colony(desk, &["map", "--offline"])?;
        self.colony(desk, &["pages", "--limit", "5"])?;
        self.colony(desk, &["map", "tree", "--tokens", "--max-depth", "1"])
    }

    /// Runs a command and records its output.
    fn colony(&mut self, place: &Place, args: &[&str]) -> Result<()> {
        let output = self.run(place, args)?;
        let words = args.iter().map(|arg| format!(" {}", shell_word_if_needed(arg)));
        let command = format!("git colony{}", words.collect::<String>());
        self.record(place, command, output.lines, output.exit_code);
        Ok(())
    }

    fn record(&mut self, place: &Place, command: String, output: Vec<String>, exit_code: u8) {
        self.steps.push(Step { part: self.part, agent: place.agent, command, output, exit_code });
    }

    fn run(&self, place: &Place, args: &[&str]) -> Result<Output> {
        self.interrupt.check()?;
        let captured = Captured::default();
        let mut world = self.ground.world_in(&place.path);
        let narration = captured.clone();
        world.narrate = Arc::new(move |line| narration.add(line));
        let mut env = Env {
            world,
            stdin: Box::new(io::empty()),
            stdout: Box::new(captured.clone()),
            stderr: Box::new(captured.clone()),
            terminal: Terminal::default(),
            handle_signals: None,
        };
        let words: Vec<_> = ["git-colony"].iter().chain(args).map(Into::into).collect();
        let exit_code = crate::cli::run(&words, &mut env).0;
        let lines = captured.lines();
        // 1 is an answer as well: no.
        if exit_code > 1 {
            self.interrupt.check()?;
            let (command, said) = (args.join(" "), lines.join(" "));
            let message = format!("'git colony {command}' failed in the copy: {said}");
            return Err(Error::new(Code::Io, message));
        }
        Ok(Output { lines, exit_code })
    }
}

/// The output of a command.
struct Output {
    lines: Vec<String>,
    exit_code: u8,
}

fn shell_word_if_needed(arg: &str) -> String {
    if arg.contains(' ') { shell_word(arg) } else { arg.to_owned() }
}

/// A stream that keeps its input.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    fn bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        // A panic elsewhere leaves the bytes valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: &str) {
        let mut bytes = self.bytes();
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.bytes()).into_owned();
        text.lines().map(str::to_owned).collect()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Serialize, JsonSchema)]
struct Step {
    /// The part of the tour.
    part: &'static str,
    /// The agent in whose clone the command ran; `null` in the copy.
    agent: Option<&'static str>,
    /// The command, as a shell takes it.
    command: String,
    /// The lines that it printed.
    output: Vec<String>,
    /// Its exit code: 0, or 1 where the answer was no.
    exit_code: u8,
}

#[derive(Serialize, JsonSchema)]
struct TourReport {
    /// The number of files in the copy.
    files: usize,
    /// The number of files in HEAD.
    all_files: usize,
    /// The commands, in order.
    steps: Vec<Step>,
    /// The path of the copy, which is deleted.
    clone: String,
}

impl Answer for TourReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let files = match self.files {
            files if files == self.all_files => text::count(files, "file"),
            files => format!("{files} of {}", text::count(self.all_files, "file")),
        };
        let commands = text::count(self.steps.len(), "command");
        format!("{commands} in a temporary copy of {files}, which is deleted again")
    }

    fn blocks(&self, _now: &Moment) -> Vec<Block> {
        let parts: Vec<_> = self.steps.chunk_by(|a, b| a.part == b.part).collect();
        let mut blocks = Vec::new();
        for (index, steps) in parts.iter().enumerate() {
            let part = steps.first().map_or("", |step| step.part);
            let title = format!("{}/{}  {part}", index + 1, parts.len());
            blocks.push(Block::Verbatim(String::new()));
            blocks.push(Block::line([Span::new(Role::Heading, title)]));
            blocks.extend(screen(steps));
        }
        blocks
    }
}

/// Returns the lines of a part; of long output only the first lines, so that the part fits on a screen.
fn screen(steps: &[Step]) -> Vec<Block> {
    let shown_with =
        |most: usize| -> Vec<Block> { steps.iter().flat_map(|step| shown(step, most)).collect() };
    // The heading and the blank line before it are on the screen, too.
    let mut fitting = (1..=ROWS).rev().map(shown_with).filter(|blocks| blocks.len() + 2 <= ROWS);
    fitting.next().unwrap_or_else(|| shown_with(1))
}

fn shown(step: &Step, most: usize) -> Vec<Block> {
    let prompt = format!("{}$ ", step.agent.unwrap_or_default());
    let command = fitted(&step.command, COLUMNS - prompt.len());
    let mut blocks =
        vec![Block::line([Span::new(Role::Dim, prompt), Span::new(Role::Command, command)])];
    let cut = step.output.len() > most;
    let kept = if cut { most.saturating_sub(1) } else { most };
    let lines = step.output.iter().take(kept);
    blocks.extend(
        lines.map(|line| {
            Block::Verbatim(format!("{INDENT}{}", fitted(line, COLUMNS - INDENT.len())))
        }),
    );
    if cut {
        let more = text::count(step.output.len() - kept, "more line");
        blocks.push(Block::line([Span::new(Role::Dim, format!("{INDENT}... {more}"))]));
    }
    blocks
}

/// Cuts a line that is wider than the screen.
fn fitted(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    let kept: String = line.chars().take(columns - 1).collect();
    format!("{kept}\u{2026}")
}

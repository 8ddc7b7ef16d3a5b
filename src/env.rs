//! The process as values: the only reader of the environment, the wall clock and chance.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{IsTerminal as _, Read, Write};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::model::World;
use crate::model::interrupt::Interrupt;
use crate::model::progress::Progress;
use crate::model::time::Moment;
use crate::model::warned::Warned;
use crate::model::world::{Changes, Plane, UserConfiguration};
use crate::streams::Streams;
use crate::ui::held_lines::HeldLines;
use crate::ui::progress_line::ProgressLine;

/// The environment and the streams of one run.
pub struct Env {
    /// The world that commands see.
    pub world: World,
    /// The input of hooks.
    pub stdin: Box<dyn Read + Send>,
    /// The answer.
    pub stdout: Box<dyn Write>,
    /// The narration.
    pub stderr: Box<dyn Write>,
    /// The terminal that people read the answer on.
    pub terminal: Terminal,
    /// Has signals handled, which takes a thread: called before a command that waits or changes anything, and before
    /// the first child of any other.
    pub handle_signals: Option<Box<dyn FnOnce() + Send>>,
}

/// The terminal, or the pipe in its place; empty where neither is known.
#[derive(Debug, Default)]
pub struct Terminal {
    /// How many columns it has, where the answer goes to it.
    pub columns: Option<usize>,
    /// How many rows it has, where the answer goes to it.
    pub rows: Option<usize>,
    /// Whether the narration goes to it.
    pub has_stderr: bool,
    /// The streams for a pager, where the answer goes to it.
    pub streams: Option<Streams>,
    /// Standard output, where it is not the terminal: its reader may leave.
    pub pipe: Option<File>,
    /// The narration that waits while a screen is shown.
    pub held: HeldLines,
}

impl Terminal {
    fn of(
        streams: &Streams,
        variables: &BTreeMap<OsString, OsString>,
    ) -> std::io::Result<Terminal> {
        let has_stderr = streams.stderr.is_terminal();
        if !streams.stdout.is_terminal() {
            return Ok(Terminal {
                has_stderr,
                pipe: Some(streams.stdout.try_clone()?),
                ..Terminal::default()
            });
        }
        let size = rustix::termios::tcgetwinsize(&streams.stdout).ok();
        let columns =
            variables.get(OsStr::new("COLUMNS")).and_then(|columns| columns.to_str()?.parse().ok());
        let known = |count: u16| Some(usize::from(count)).filter(|count| *count > 0);
        Ok(Terminal {
            columns: columns.or_else(|| known(size?.ws_col)).filter(|columns| *columns > 0),
            rows: size.and_then(|size| known(size.ws_row)),
            has_stderr,
            streams: Some(Streams {
                stdout: streams.stdout.try_clone()?,
                stderr: streams.stderr.try_clone()?,
            }),
            pipe: None,
            held: HeldLines::default(),
        })
    }

    /// Returns `true` if the reader of the answer has closed its end of a pipe. Costs one system call.
    pub(crate) fn has_lost_its_reader(&self) -> bool {
        let Some(pipe) = &self.pipe else {
            return false;
        };
        // These two are reported without being asked for.
        let mut ends = [PollFd::new(pipe, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let polled = poll(&mut ends, Some(&at_once));
        let lost = PollFlags::ERR | PollFlags::HUP;
        polled.is_ok() && ends.iter().any(|end| end.revents().intersects(lost))
    }
}

/// The variables that gix reads from the process for every repository that it opens, although they are about one.
const READ_BY_GIX: [&str; 6] = [
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// The prefix under which they reach the world of this program.
const OF_CALLER: &str = "COLONY_OF_CALLER_";

/// Starts this program again with these variables renamed, if one is set: a library cannot be kept from reading the
/// environment of its process. Returns if there is nothing to rename, or if the system refuses.
pub fn hide_repository() {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let mut is_any = false;
    for name in READ_BY_GIX {
        if let Some(value) = variables.remove(OsStr::new(name)) {
            variables.insert(format!("{OF_CALLER}{name}").into(), value);
            is_any = true;
        }
    }
    if is_any {
        // If it fails, commands still work in the repository that the variables are about.
        drop(crate::git::process::restart(&program(), std::env::args_os(), &variables));
    }
}

/// Gives the variables of [`hide_repository`] their names again.
fn show_repository(variables: &mut BTreeMap<OsString, OsString>) {
    for name in READ_BY_GIX {
        if let Some(value) = variables.remove(OsStr::new(&format!("{OF_CALLER}{name}"))) {
            variables.insert(name.into(), value);
        }
    }
}

impl Env {
    /// Reads the process once.
    ///
    /// # Errors
    /// If the process cannot open more files.
    #[expect(clippy::disallowed_methods, reason = "this is the gate for the environment")]
    pub fn from_process(streams: Streams) -> std::io::Result<Env> {
        let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        show_repository(&mut variables);
        let cwd = std::env::current_dir().or_else(|_| left(&variables))?;
        if !variables.contains_key(OsStr::new("HOME"))
            && let Some(home) = std::env::home_dir()
        {
            // HOME is unset: shared data is still below the home in the user database.
            variables.insert("HOME".into(), home.into());
        }
        let terminal = Terminal::of(&streams, &variables)?;
        let (narrate, progress) = narration(streams.stderr.try_clone()?, terminal.held.clone());
        let world = World {
            colony_root: None,
            cwd,
            started_in: None,
            named_root: None,
            owner_beside_root: None,
            variables: variables.into(),
            clock: Arc::new(now),
            zone: in_local_time,
            entropy: Arc::new(random),
            narrate,
            progress,
            listen: Arc::new(|| {}),
            user_configuration: UserConfiguration::Process,
            interrupt: Interrupt::default(),
            timeout: None,
            filters: Arc::from(""),
            changes: Changes::default(),
            warned: Warned::default(),
            process: Some(std::process::id()),
            program: program(),
            die_at: die_at(),
            stdout_is_terminal: streams.stdout.is_terminal(),
            plane: Plane::Cli,
            allows_cargo: false,
        };
        let interrupt = world.interrupt.clone();
        Ok(Env {
            world,
            stdin: stdin(),
            stdout: Box::new(std::io::BufWriter::new(streams.stdout)),
            stderr: Box::new(streams.stderr),
            terminal,
            handle_signals: Some(Box::new(|| crate::signals::watch(interrupt))),
        })
    }
}

/// Leaves a deleted current directory for an existing one, and returns the path that the shell
/// shows: `-C` works, and other commands find no repository.
fn left(variables: &BTreeMap<OsString, OsString>) -> std::io::Result<PathBuf> {
    std::env::set_current_dir("/")?;
    let directory = variables
        .get(OsStr::new("PWD"))
        .map(PathBuf::from)
        .filter(|directory| directory.is_absolute() && !directory.exists());
    Ok(directory.unwrap_or_else(|| PathBuf::from("/")))
}

type Narrate = Arc<dyn Fn(&str) + Send + Sync>;

/// Writes messages to standard error, and progress if that is a terminal: on a line that the next
/// message clears. If standard error is closed, messages are lost.
fn narration(stderr: File, held: HeldLines) -> (Narrate, Progress) {
    let is_seen = stderr.is_terminal();
    let stderr = Arc::new(stderr);
    let line = Arc::new(Mutex::new(ProgressLine::default()));
    let of = |line: &Mutex<ProgressLine>, act: &dyn Fn(&mut ProgressLine) -> String| {
        // A panic elsewhere leaves the line valid.
        act(&mut line.lock().unwrap_or_else(PoisonError::into_inner))
    };
    let (shown, narrated) = (Arc::clone(&line), Arc::clone(&stderr));
    let narrate = move |text: &str| {
        if held.take(text) {
            return;
        }
        let clear = of(&shown, &|line| line.clear().to_owned());
        let text = crate::model::escape::line(text);
        // In one write: two threads may write at once.
        drop((&*narrated).write_all(format!("{clear}{text}\n").as_bytes()));
    };
    let progress = Progress::new(move |step| {
        let text = of(&line, &|line| line.step(step, Instant::now()));
        if !text.is_empty() {
            drop((&*stderr).write_all(text.as_bytes()));
        }
    });
    let progress = if is_seen { progress } else { Progress::default() };
    (Arc::new(narrate), progress)
}

/// Opens the keyboard of the terminal that standard input is. A process in the background that reads it would be stopped.
pub(crate) fn keyboard() -> Option<File> {
    let stdin = std::io::stdin();
    let is_ours = crate::git::process::is_in_foreground(&stdin);
    is_ours.then(|| stdin.as_fd().try_clone_to_owned().ok()).flatten().map(File::from)
}

/// Standard input, unless it is a terminal.
fn stdin() -> Box<dyn Read + Send> {
    if std::io::stdin().is_terminal() {
        Box::new(std::io::empty())
    } else {
        Box::new(std::io::stdin())
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the gate for the clock")]
fn now() -> Moment {
    // Unlike `Utc::now`, it does not panic before 1970.
    Moment::from(chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now()))
}

fn in_local_time(moment: Moment) -> Moment {
    moment.with_timezone(&chrono::Local).fixed_offset()
}

fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        // Without a random device, the process id and the clock distinguish runs.
        let nanos = now().timestamp_nanos_opt().unwrap_or_default();
        u64::from_ne_bytes(nanos.to_ne_bytes()).rotate_left(17) ^ u64::from(std::process::id())
    })
}

/// The path of this program; if it has been replaced since, the one that git would find.
fn program() -> PathBuf {
    let own = std::env::current_exe().ok().filter(|path| path.exists());
    own.unwrap_or_else(|| PathBuf::from("git-colony"))
}

/// A step at which to die, for tests of the real binary; only in builds with debug assertions.
#[expect(clippy::disallowed_methods, reason = "this is the gate for the environment")]
fn die_at() -> Option<&'static str> {
    use crate::store::operation::{EXTERNAL_STEPS, STEPS};

    if !cfg!(debug_assertions) {
        return None;
    }
    let wanted = std::env::var("COLONY_TEST_DIE_AT").ok()?;
    STEPS.iter().chain(EXTERNAL_STEPS).copied().find(|step| *step == wanted)
}

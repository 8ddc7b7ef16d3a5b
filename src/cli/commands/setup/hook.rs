//! `git colony hook`: what the hooks of git and of agents run. It answers at once, stops nobody, and
//! exits with 0; with 1 before a commit that an agent may not make, where Claude Code asks for a worktree that
//! cannot be created or removed, and for nothing else.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::cli::{Face, Stop};
use crate::desk::hook::{self, FiredHook};
use crate::desk::worktree_hook;
use crate::git::process::end_children;
use crate::model::Error;
use crate::model::interrupt::Interrupt;
use crate::setup::hooks::payload::{MAX_BYTES, Payload, WorktreeEvent};
use crate::setup::hooks::{Agent, HookName};
use crate::ui::answer::Outcome;
use crate::ui::print_error;
use crate::ui::theme::Palette;

/// How long to wait for the end of standard input; what has come by then counts.
const INPUT_TIME: Duration = Duration::from_secs(2);

/// After this time the work is stopped; it stops at the next safe place.
const WORK_TIME: Duration = Duration::from_secs(8);

/// The same for the clone that Claude Code gets as a worktree: it may have large files to fetch, and commands to
/// run. The entry in the configuration of Claude Code allows 600 seconds.
const WORKTREE_TIME: Duration = Duration::from_secs(580);

/// Answer a hook; run by the scripts that 'git colony hooks install' makes
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The hook of git, or the agent
    name: OsString,
    /// What git gives the hook
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every command has this signature; this one never fails"
)]
pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let name = args.name.to_string_lossy().into_owned();
    // A name of a newer version is nothing to us.
    if let Some(agent) = Agent::parse(&name) {
        return Ok(run_agent(face, agent));
    } else if let Some(name) = HookName::parse(&name) {
        return Ok(run_git(face, name, args.args));
    }
    Ok(Outcome::Yes)
}

fn run_git(face: &mut Face<'_>, name: HookName, args: Vec<OsString>) -> Outcome {
    let has_input = matches!(name, HookName::PrePush | HookName::PostRewrite);
    let hook = FiredHook {
        name,
        args: args.into_iter().map(OsStringExt::into_vec).collect(),
        input: if has_input { input(face) } else { Vec::new() },
    };
    face.hurry();
    let Ok(world) = face.world() else {
        return Outcome::Yes;
    };
    let _limit = Limit::start(world.interrupt.clone(), WORK_TIME);
    match hook::git(world, &face.flags, &hook) {
        Err(error) if hook::stops_git(&error) => {
            report(face, &error);
            Outcome::No
        }
        // Git goes on whatever else happened here.
        _ => Outcome::Yes,
    }
}

/// Prints an error; the exit code says it as well.
fn report(face: &mut Face<'_>, error: &Error) {
    drop(print_error(&mut face.env.stderr, Palette::Plain, error));
}

fn run_agent(face: &mut Face<'_>, agent: Agent) -> Outcome {
    let payload = Payload::read(&input(face));
    if let Some(event) = payload.worktree_event(agent) {
        return run_worktree(face, &payload, event);
    }
    face.hurry();
    if let Ok(world) = face.world() {
        let _limit = Limit::start(world.interrupt.clone(), WORK_TIME);
        // The agent goes on whatever happened here.
        drop(hook::agent(&world, &face.flags, agent, &payload));
    }
    // Nobody reads it when the agent is gone.
    drop(writeln!(face.env.stdout, "{}", payload.answer(agent)));
    drop(face.env.stdout.flush());
    Outcome::Yes
}

/// Answers with the path of a clone, alone on standard output, or fails: the agent decides what follows.
fn run_worktree(face: &mut Face<'_>, payload: &Payload, event: WorktreeEvent) -> Outcome {
    let answer = face.world().and_then(|world| {
        let _limit = Limit::start(world.interrupt.clone(), WORKTREE_TIME);
        worktree_hook::answer(&world, &face.flags, payload, event)
    });
    match answer {
        Ok(path) => {
            let path = path.map(|path| path.into_os_string().into_vec());
            let mut line = path.unwrap_or_else(|| payload.answer(Agent::ClaudeCode).into());
            line.push(b'\n');
            let written = face.env.stdout.write_all(&line);
            match written.and_then(|()| face.env.stdout.flush()) {
                Ok(()) => Outcome::Yes,
                Err(_) => Outcome::No,
            }
        }
        Err(error) => {
            report(face, &error);
            Outcome::No
        }
    }
}

/// Reads standard input up to its end, a size and a time.
fn input(face: &mut Face<'_>) -> Vec<u8> {
    let stdin = std::mem::replace(&mut face.env.stdin, Box::new(std::io::empty()));
    let so_far = Arc::new(Mutex::new(Vec::new()));
    let (ended, end) = mpsc::channel();
    let shared = Arc::clone(&so_far);
    let reader = std::thread::Builder::new().spawn(move || {
        let mut stdin = stdin.take(MAX_BYTES);
        let mut part = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = stdin.read(&mut part) {
            let new = part.get(..count).unwrap_or_default();
            let mut all = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            all.extend_from_slice(new);
        }
        // Nobody waits any more when the time is up.
        ended.send(()).ok();
    });
    if reader.is_ok() {
        // An end and the time being up are the same to us.
        end.recv_timeout(INPUT_TIME).ok();
    }
    let mut all = so_far.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    std::mem::take(&mut all)
}

/// Stops the work when its time is up, as a signal would; dropped when the work is done.
struct Limit(#[expect(dead_code, reason = "held to tell the end")] mpsc::Sender<()>);

impl Limit {
    fn start(interrupt: Interrupt, limit: Duration) -> Option<Limit> {
        const SIGTERM: i32 = 15;
        let (done, end) = mpsc::channel();
        let watcher = std::thread::Builder::new().spawn(move || {
            if end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                interrupt.raise(SIGTERM);
                end_children(&interrupt);
            }
        });
        watcher.ok().map(|_| Limit(done))
    }
}

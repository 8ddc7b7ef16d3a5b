//! `git colony watch`

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::typed_path::repo_path;
use crate::cli::{Face, Opening, Run, Stop};
use crate::git::process::detached;
use crate::model::escape;
use crate::model::time;
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::ui::answer::{Answer as _, Form, Outcome};
use crate::ui::text;
use crate::watch::watcher::{self, Done, Flow, Options};
use crate::watch::{
    self, DEBOUNCE_SECONDS, OnChange, Request, StoppedReport, WatchReport, WatchesReport, watch_log,
};

use super::scopes::SCOPE;

/// How long a process in the background may take for its first look.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// How often to look for it.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Watch files, and record an event or map again when they change
///
/// Watches the paths, else the files of SCOPE, else those of every row of the map that is not static. Files that
/// git ignores are not watched. One process watches a working tree, for all of its watches: where one runs, this
/// command only adds the watch. The watches last until 'watch stop'; without a process, 'watch' resumes them.
/// The process ends with the last watch.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Files and directories, whether they exist or not; the first word may also be a SCOPE of the map
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The scope, the name of its row, or the beginning of its id
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// What to do after a change: write an event; 'invalidate' also marks pages as stale, 'reindex' also maps them again
    #[arg(long, value_name = "MODE", default_value = "notify_only", value_parser = on_change())]
    on_change: String,
    /// Wait until files have been quiet for SECONDS
    #[arg(long, value_name = "SECONDS", default_value_t = DEBOUNCE_SECONDS)]
    debounce: f64,
    /// The id of the watch (default: a new one)
    #[arg(long)]
    id: Option<String>,
    /// Add no watch; resume those that are recorded
    #[arg(long, conflicts_with_all = ["scope", "paths", "on_change", "debounce", "id", "dry_run"])]
    resume: bool,
    /// Fetch the branches of 'origin' every SECONDS, and write an event for each that has moved
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    remote: Option<Duration>,
    /// Make an automatic checkpoint when files have been quiet for SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    auto_checkpoint: Option<Duration>,
    /// Watch in the background
    #[arg(long)]
    detach: bool,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// List the watches of this working tree
    List,
    /// Stop a watch; the exit code is 1 if there is none with this id
    Stop {
        /// The watch: its id, or the beginning of one that begins with 'watch_'
        #[arg(value_name = "ID")]
        id: String,
        /// Show what would be done, and change nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("watch", Section::Inspect, Screen::All)
        .example(
            "git colony watch --on-change reindex --auto-checkpoint 30 --detach",
            "map files again when they change, and keep quiet states",
        )
        .example(
            "git colony watch default src --id mine --detach",
            "write events in the background",
        )
        .example(
            "git colony watch --resume --detach",
            "resume the watches, after a restart of the machine",
        )
        .answers::<WatchReport>()
        .action(
            action("watch_repo", Group::Pages, Effect::Adds)
                .by("watch --detach")
                .about(
                    "Watch the files of a scope until unwatch_repo: a change writes events, and \
                     may map pages again",
                )
                .takes(&[
                    SCOPE.required(),
                    same("paths").about("They need not exist"),
                    same("on_change").about(
                        "Write an event; 'invalidate' also marks pages as stale, 'reindex' maps \
                         them again",
                    ),
                    as_arg("debounce_seconds", "debounce").about("Quiet time before it reacts"),
                    as_arg("watch_id", "id").about("Default: a new one"),
                ]),
        )
        .below([list_declaration(), stop_declaration()])
}

fn list_declaration() -> Declaration {
    Declaration::of("watch list")
        .example("git colony watch list", "the watches of this working tree")
        .answers::<WatchesReport>()
        .action(action("list_watches", Group::Pages, Effect::Reads))
}

fn stop_declaration() -> Declaration {
    Declaration::of("watch stop")
        .example("git colony watch stop mine", "stop one")
        .answers::<StoppedReport>()
        .action(
            action("unwatch_repo", Group::Pages, Effect::Adds)
                .about("Stop a watch")
                .takes(&[as_arg("watch_id", "id").plain()]),
        )
}

fn on_change() -> clap::builder::PossibleValuesParser {
    OnChange::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().into()
}

/// Parses a time of at least a second: shorter ones ask a remote without end.
fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|seconds| (1.0..=86_400.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected 1 to 86400 seconds".to_owned())
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    match &args.action {
        None => watch(face, args),
        Some(Action::List) => {
            let session = face.session(Opening::Read)?;
            face.answer(&watch::list(&session)?)
        }
        Some(Action::Stop { id, dry_run }) => {
            let session = face.session(Run::from(*dry_run))?;
            face.answer(&watch::stop(&session, id)?)
        }
    }
}

fn watch(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let options = Options { remote: args.remote, auto_checkpoint: args.auto_checkpoint };
    let is_running = watch::is_running(&session);
    if is_running && (options.remote.is_some() || options.auto_checkpoint.is_some()) {
        let message = "a process watches this working tree already: '--remote' and '--auto-checkpoint' are for its start";
        let hint = "git colony watch stop ID   # it ends with its last watch";
        return Err(Error::new(Code::Usage, message).unchanged().hint(hint).into());
    }
    let report =
        if args.resume { None } else { Some(watch::add(&session, &request(&session, args)?)?) };
    let begins = !args.dry_run && !is_running;
    if args.resume && watch::list(&session)?.count == 0 {
        (session.world.narrate)("there is no watch to resume");
        return Ok(Outcome::No);
    }
    if begins && args.detach {
        start_detached(&session, &options)?;
    }
    if !begins || args.detach {
        return match report {
            Some(mut report) => {
                report.watch.running = watch::is_running(&session);
                face.answer(&report)
            }
            None => face.answer(&watch::list(&session)?),
        };
    }
    drop(session);
    follow(face, report, &options)
}

/// Watches in this process, and prints a line for everything that it does.
fn follow(
    face: &mut Face<'_>,
    report: Option<WatchReport>,
    options: &Options,
) -> Result<Outcome, Stop> {
    let mut world = face.world()?;
    let is_logged = !face.env.terminal.has_stderr;
    if is_logged {
        world.narrate = with_times(&world);
    }
    if is_logged && face.form == Form::Quiet {
        // In the background: the log shows when it ran.
        (world.narrate)("begins to watch");
    }
    let flags = face.flags.clone();
    if let Some(mut report) = report {
        report.watch.running = true;
        let begun = serde_json::json!({"event": "watching", "watch_id": report.watch.watch_id});
        let line = format!("{}; Ctrl-C ends the process and keeps the watch", report.message());
        write_line(face, &begun, &line)?;
    }
    let mut failed = None;
    let ran = watcher::run(&world, &flags, options, &mut |all| {
        let mut each = all.iter();
        let written = each.try_for_each(|done| write_line(face, done, &line_of(done)));
        failed = written.err();
        if failed.is_some() || face.has_lost_its_reader() { Flow::End } else { Flow::On }
    })?;
    if !ran {
        (world.narrate)("another process watches this working tree");
    } else if is_logged && face.form == Form::Quiet {
        (world.narrate)("has ended");
    }
    failed.map_or(Ok(Outcome::Yes), Err)
}

/// Returns narration for a log: what happened hours ago has its time.
fn with_times(world: &World) -> Arc<dyn Fn(&str) + Send + Sync> {
    let (narrate, clock) = (Arc::clone(&world.narrate), Arc::clone(&world.clock));
    Arc::new(move |text| narrate(&format!("{}  {text}", time::rfc3339(&clock()))))
}

fn write_line(face: &mut Face<'_>, done: &impl serde::Serialize, line: &str) -> Result<(), Stop> {
    let line = match face.form {
        Form::Quiet => return Ok(()),
        Form::Json => serde_json::to_string(done).map_err(|error| Stop::Stream(error.into()))?,
        Form::Text => escape::line(line),
    };
    face.write(&(line + "\n"), false)
}

fn line_of(done: &Done) -> String {
    match done {
        Done::Fired { watch_id, paths, reindexed, .. } => {
            let shown = paths.first().map(ToString::to_string).unwrap_or_default();
            let more = match paths.len() {
                0 | 1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            let mapped = match reindexed.len() {
                0 => String::new(),
                count => format!(", mapped {}", text::count(count, "scope")),
            };
            format!("{watch_id}: {shown}{more}{mapped}")
        }
        Done::Kept { checkpoint_id } => format!("kept {checkpoint_id}"),
        Done::BranchChanged { branch } => format!("{branch} has moved"),
    }
}

/// Starts a process of its own for the watches of a working tree. It outlives this one.
fn start_detached(session: &Session, options: &Options) -> Result<()> {
    let mut args: Vec<OsString> = vec!["-C".into(), session.repo.workdir().into()];
    // The identity that '--agent' gave to this command.
    if let Some(agent) = &session.settings.agent {
        args.extend(["--agent".into(), agent.into()]);
    }
    args.extend(["--quiet", "watch", "--resume"].map(OsString::from));
    for (flag, time) in
        [("--remote", options.remote), ("--auto-checkpoint", options.auto_checkpoint)]
    {
        if let Some(time) = time {
            args.extend([flag.into(), time.as_secs_f64().to_string().into()]);
        }
    }
    let log = watch_log::open(session);
    if let Err(error) = &log {
        (session.world.narrate)(&format!("warning: it has no log: {}", error.message()));
    }
    detached::start(&session.world, &args, log.ok())?;
    // Then it has looked: a change from now on is noticed.
    let deadline = Instant::now() + START_TIMEOUT;
    while !watch::is_running(session) && Instant::now() < deadline {
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Resumes the watches of a working tree in the background, if it has some and no process watches.
pub(in crate::cli) fn resume(session: &Session) {
    let has_work = |report: WatchesReport| !report.running && report.count > 0;
    if watch::list(session).is_ok_and(has_work)
        && let Err(error) = start_detached(session, &Options::default())
    {
        (session.world.narrate)(&format!("warning: {}", error.message()));
    }
}

fn request(session: &Session, args: &Args) -> Result<Request> {
    let typed = |path: &Path| {
        let path = match &session.settings.watch_root {
            Some(root) => session.world.absolute(root).join(path),
            None => path.to_owned(),
        };
        repo_path(session, &path)
    };
    let mut words = args.paths.as_slice();
    let mut scope = args.scope.clone();
    // As git does with revisions and paths: a first word that names no scope is a path.
    if let (None, Some((first, rest))) = (&scope, words.split_first())
        && let Some(word) = first.to_str()
        && watch::names_a_scope(session, word)
    {
        scope = Some(word.to_owned());
        words = rest;
    }
    let paths = words.iter().map(|path| typed(path)).collect::<Result<_>>()?;
    let mut modes = OnChange::ALL.iter();
    let mode = modes.find(|(name, _)| *name == args.on_change);
    Ok(Request {
        scope,
        paths,
        on_change: mode.map_or(OnChange::NotifyOnly, |(_, mode)| *mode),
        debounce_seconds: args.debounce,
        id: args.id.clone(),
    })
}

//! `git colony dashboard`: a page for one person, from one repository, until its terminal or Ctrl-C ends it.
//!
//! Every answer of the page is an answer of `--json`: a route runs the command line of its row, as the person who started
//! the server, and obeys every rule that the command obeys. The server has no store, no template and no model of its own.
//! Only this folder names axum and hyper. Threads: this one serves, one for each call (at most 16), one for
//! operations that map, one for those that test, and one for the log of events while there is a client.

mod answer;
mod colonies;
mod files;
mod guard;
mod http;
mod keyboard;
mod login;
mod maps;
mod operation;
mod operation_routes;
mod operations;
mod repo_map;
mod requests;
mod routes;
mod server;
mod service;
mod shapes;
mod stream;
mod trains;

use std::fmt::Write as _;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc};

use crate::model::error::Verdict;
use crate::model::interrupt::unpoisoned;
use crate::model::time::Moment;
use crate::model::world::Plane;
use crate::model::{Code, Error};
use crate::ui::answer::{Answer, Form, Outcome};
use crate::ui::text;

use super::declaration::{Declaration, Screen, Section};
use super::served::calls::Calls;
use super::served::run_action::Place;
use super::{Face, Opening, Stop};

use files::WebFiles;
use http::Connections;
use keyboard::Key;
use operations::Operations;
use server::{About, Dashboard, MAX_CALLS, MAX_FETCHES};

/// How many commands may run at once; others wait.
const MAX_THREADS: usize = 16;

/// Serve a page about this repository to the browser of the user
///
/// It listens on 127.0.0.1 until Ctrl-C ends it. The link that it prints logs in once, within a minute; Enter prints
/// another one, 'x' and Enter end all logins. What the page does, it does as the command would.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Listen on port N; 0 is a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Change nothing but caches
    #[arg(long)]
    read_only: bool,
}

/// A dashboard that serves.
#[derive(Serialize, JsonSchema)]
pub(super) struct DashboardReport {
    /// The name of the repository: that of its folder.
    #[serde(skip)]
    repository: String,
    /// The address, with a code that logs in once, within a minute.
    url: String,
    /// The port on 127.0.0.1.
    port: u16,
}

impl Answer for DashboardReport {
    fn message(&self) -> String {
        format!("dashboard of {}: {}", self.repository, self.url)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        Vec::new()
    }
}

pub(super) fn declaration() -> Declaration {
    Declaration::listed("dashboard", Section::Inspect, Screen::All)
        .example("git colony dashboard", "a page for the browser, behind the link that it prints")
        .example("git colony dashboard --read-only --json", "to look only; the link for a program")
        .answers::<DashboardReport>()
}

/// Returns the table of routes for the documentation.
pub(super) fn table_of_routes() -> String {
    let mut text = String::from("| Route | Takes | Command |\n|---|---|---|\n");
    for route in routes::ROUTES.iter() {
        // Writing to a string cannot fail.
        writeln!(text, "{}", route.documented()).ok();
    }
    text
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::InMemory)?;
    let root = session.repo.workdir().to_owned();
    let agent = session.settings.agent.clone();
    drop(session);
    let mut world = face.world()?;
    // The server stands where a variable says.
    world.forget_named_root();
    let mut place = Place {
        world,
        plane: Plane::Web,
        agent: face.flags.agent.clone(),
        timeout: face.flags.timeout_seconds.clone(),
        state: None,
        known: Vec::new(),
    };
    place.keep_to_repository()?;
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    let about = About {
        repository: name.unwrap_or_default(),
        root: root.display().to_string(),
        agent,
        read_only: args.read_only,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .build()
        .map_err(|error| Error::io("cannot start the server", error))?;
    let done = runtime.block_on(serve(face, place, about, args.port));
    // Calls that cannot be stopped any more are completed.
    drop(runtime);
    done?;
    let ended = face.env.world.interrupt.signal().map(|signal| {
        Error::new(Code::Interrupted, "the dashboard has ended").verdict(Verdict::Signal(signal))
    });
    ended.map_or(Ok(Outcome::Yes), |ended| Err(ended.into()))
}

/// Serves until a signal comes.
async fn serve(face: &mut Face<'_>, place: Place, about: About, port: u16) -> Result<(), Stop> {
    let listener = listen(port).await?;
    let port = listener.local_addr().map_err(|error| Error::io("cannot listen", error))?.port();
    let (narrate, mut narrated) = mpsc::unbounded_channel();
    let dashboard = Arc::new(Dashboard {
        grammar: super::grammar::built(),
        calls: Calls::up_to(MAX_CALLS),
        fetches: Arc::new(Semaphore::new(MAX_FETCHES)),
        logins: Mutex::default(),
        previews: Mutex::default(),
        operations: Operations::default(),
        streams: stream::Streams::default(),
        files: WebFiles::of(&place.world),
        about,
        narrate,
        place,
    });
    let connections = Connections::new(service::app(&dashboard), port);
    let mut keys = keyboard::listen(face.env);
    let mut signals = Signals::new().map_err(Stop::Stream)?;
    show_link(face, &dashboard, port, IsFirst::Yes)?;
    // However it ends, what runs is stopped.
    let ended = loop {
        tokio::select! {
            number = signals.next() => {
                // The thread of signals may not have raised it yet.
                face.env.world.interrupt.raise(number);
                break Ok(());
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => connections.serve(stream, peer),
                // No more files can be opened just now.
                Err(_) => tokio::time::sleep(http::ACCEPT_INTERVAL).await,
            },
            Some(key) = keys.recv() => match key {
                Key::Enter => {
                    if let Err(closed) = show_link(face, &dashboard, port, IsFirst::No) {
                        break Err(closed);
                    }
                }
                Key::EndAll => {
                    let count = unpoisoned(&dashboard.logins).end_all();
                    // Without a client it is sent to nobody.
                    dashboard.streams.sender().send(stream::Message::end()).ok();
                    narrate_line(face, &format!("ended {}", text::count(count, "login")));
                }
            },
            Some(line) = narrated.recv() => narrate_line(face, &line),
        }
    };
    drop(listener);
    dashboard.calls.stop();
    dashboard.operations.finish();
    ended
}

async fn listen(port: u16) -> Result<TcpListener, Error> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            Error::new(Code::PortInUse, format!("another program listens on port {port}"))
                .unchanged()
                .hint("git colony dashboard   # takes a free port")
        }
        _ => Error::io(format!("cannot listen on port {port}"), error),
    })
}

/// Whether a link is the answer of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IsFirst {
    Yes,
    No,
}

/// Prints a link with a new code. With `--json` only the first is printed.
fn show_link(
    face: &mut Face<'_>,
    dashboard: &Dashboard,
    port: u16,
    is_first: IsFirst,
) -> Result<(), Stop> {
    if is_first == IsFirst::No && face.form == Form::Json {
        return Ok(());
    }
    let code = unpoisoned(&dashboard.logins).new_code(&dashboard.place.world, Instant::now());
    let report = DashboardReport {
        repository: dashboard.about.repository.clone(),
        url: format!("http://127.0.0.1:{port}/#{code}"),
        port,
    };
    face.answer(&report)?;
    if is_first == IsFirst::Yes {
        narrate_line(face, "Enter: another link; Ctrl-C: end");
    }
    Ok(())
}

fn narrate_line(face: &Face<'_>, line: &str) {
    if face.form == Form::Text {
        (face.env.world.narrate)(line);
    }
}

/// The signals that end the server.
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one, and returns its number.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.hangup.recv() => SignalKind::hangup().as_raw_value(),
        }
    }
}

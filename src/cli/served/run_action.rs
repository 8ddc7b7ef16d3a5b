//! One command line in a world of its own: what it answers is data, also when it fails.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use crate::agents::colony::{clone_of_agent, first_clone};
use crate::cli::actions::Action;
use crate::cli::served::previews::Frozen;
use crate::env::{Env, Terminal};
use crate::git::{Checkout, ObjectWrites, Repo};
use crate::model::interrupt::Interrupt;
use crate::model::progress::Progress;
use crate::model::warned::Warned;
use crate::model::world::{Changes, Plane};
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::lock::FileIdentity;
use crate::store::settings::Flags;

/// The most notes of a call that are passed on.
const MAX_NOTES: usize = 20;

/// Where the calls of a server run, and who acts: fixed when it starts.
#[derive(Clone)]
pub(in crate::cli) struct Place {
    /// The world of a call, without [`Own`].
    pub(in crate::cli) world: World,
    /// Which server it is.
    pub(in crate::cli) plane: Plane,
    /// The agent that was named.
    pub(in crate::cli) agent: Option<String>,
    /// How long to wait for locks, as it was typed.
    pub(in crate::cli) timeout: Option<String>,
    /// The clone for reading that answers questions about the state.
    pub(in crate::cli) state: Option<PathBuf>,
    /// The directories that were there when the server started.
    pub(in crate::cli) known: Vec<(PathBuf, FileIdentity)>,
}

/// Takes a note.
type NoteReceiver = Arc<dyn Fn(&str) + Send + Sync>;

/// What a call has of its own.
#[derive(Default)]
pub(in crate::cli) struct Own {
    /// The action, if it is one.
    pub(in crate::cli) action: Option<&'static Action>,
    pub(in crate::cli) interrupt: Interrupt,
    pub(in crate::cli) progress: Progress,
    /// Who hears each note beside the answer as it comes, also those that are too many to be passed on.
    pub(in crate::cli) heard: Option<NoteReceiver>,
    /// The time and the chance of a dry run that is compared with another.
    pub(in crate::cli) frozen: Option<Frozen>,
}

/// What a command line answered.
pub(in crate::cli) struct Answered {
    /// The object that `--json` prints.
    pub(in crate::cli) object: Map<String, Value>,
    /// The exit code.
    pub(in crate::cli) exit: u8,
    /// The notes beside the answer.
    pub(in crate::cli) notes: Vec<String>,
}

impl Answered {
    /// Returns an error as the answer it would be.
    pub(in crate::cli) fn of_error(error: &Error) -> Answered {
        let object = json!({
            "ok": false,
            "status": "error",
            "code": error.code().as_str(),
            "message": error.sentence(),
            "untouched": error.left_untouched().map(crate::model::Untouched::sentence),
            "hint": error.hint_text(),
            "detail": error.details(),
        });
        Answered { object: as_object(object), exit: 128, notes: Vec::new() }
    }

    /// Returns `true` if it failed or was refused.
    pub(in crate::cli) fn is_failure(&self) -> bool {
        self.exit > 1
    }

    /// Returns the sentence of the answer.
    pub(in crate::cli) fn message(&self) -> &str {
        let message = self.object.get("message");
        message.and_then(Value::as_str).unwrap_or_default()
    }
}

/// Returns the members of an object.
pub(in crate::cli) fn as_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

impl Place {
    /// Runs a command line, which is not of a person; `directory` is where it runs in place of the fixed one.
    pub(in crate::cli) fn run(
        &self,
        words: Vec<OsString>,
        directory: Option<&PathBuf>,
        own: Own,
    ) -> Answered {
        if let Err(error) = self.require_same() {
            return Answered::of_error(&error);
        }
        let (stdout, notes) = (Buffer::default(), Arc::new(Mutex::new(Vec::new())));
        let (action, also) = (own.action, own.heard.clone());
        let mut world = self.world(own);
        if let Some(directory) = directory {
            world = World {
                process: world.process,
                changes: world.changes.clone(),
                ..world.standing_in(directory)
            };
        }
        let heard = Arc::clone(&notes);
        world.narrate = Arc::new(move |note| {
            if let Some(hear) = &also {
                hear(note);
            }
            let mut notes = heard.lock().unwrap_or_else(PoisonError::into_inner);
            if notes.len() < MAX_NOTES {
                notes.push(note.to_owned());
            }
        });
        let mut env = Env {
            world,
            stdin: Box::new(io::empty()),
            stdout: Box::new(stdout.clone()),
            stderr: Box::new(io::sink()),
            terminal: Terminal::default(),
            handle_signals: None,
        };
        let exit = crate::cli::run_words(self.global(words), action, &mut env).0;
        let notes = notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match serde_json::from_slice(&stdout.take()) {
            Ok(Value::Object(object)) => Answered { object, exit, notes },
            _ => Answered::of_error(&Error::new(Code::Io, "the command printed no answer in JSON")),
        }
    }

    /// Opens a dry session, to look at the state: in the clone of the agent outside of a repository.
    pub(in crate::cli) fn open_in_memory(&self) -> Result<Session> {
        self.require_same()?;
        let flags = Flags { agent: self.agent.clone(), timeout_seconds: self.timeout.clone() };
        let world = self.world(Own::default());
        match Session::open(world.clone(), &flags, ObjectWrites::InMemory) {
            Err(error) if error.code() == Code::NotARepository => {
                let place = clone_of_agent::require(&world, self.named_agent().ok_or(error)?)?;
                Session::open(world.standing_in(&place), &flags, ObjectWrites::InMemory)
            }
            opened => opened,
        }
    }

    /// Makes the clone of the agent that acts, where the server stands in no repository and the agent has none: its calls
    /// work there. Returns the notes about it.
    pub(in crate::cli) fn make_missing_clone(&self, own: &Own) -> Result<Vec<String>> {
        let notes = Arc::new(Mutex::new(Vec::new()));
        let mut world = self.world(Own {
            interrupt: own.interrupt.clone(),
            progress: own.progress.clone(),
            ..Own::default()
        });
        let (heard, also) = (Arc::clone(&notes), own.heard.clone());
        world.narrate = Arc::new(move |note| {
            if let Some(hear) = &also {
                hear(note);
            }
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(note.to_owned());
        });
        if let Some(agent) = self.named_agent()
            && let Err(error) = Repo::open(&world, ObjectWrites::InMemory)
            && error.code() == Code::NotARepository
        {
            first_clone::make_missing(&world, agent)?;
        }
        let notes = notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(notes)
    }

    /// Returns the agent that acts by name.
    fn named_agent(&self) -> Option<&str> {
        self.agent.as_deref().or(self.world.text_variable("COLONY_AGENT"))
    }

    /// Returns the place of the clone of an agent: who acts there is what the clone says.
    pub(in crate::cli) fn in_clone(&self, clone: &Path) -> Place {
        let mut world = World { process: self.world.process, ..self.world.standing_in(clone) };
        world.variables.forget(&["COLONY_AGENT"]);
        world.variables.insert("PWD".into(), clone.into());
        let mut place = Place {
            world,
            plane: self.plane,
            agent: None,
            timeout: self.timeout.clone(),
            state: None,
            known: Vec::new(),
        };
        for directory in [clone, &clone.join(".git")] {
            place.keep_to(directory);
        }
        place
    }

    /// Notes a directory: the server works there, and in no other that takes its place.
    pub(in crate::cli) fn keep_to(&mut self, directory: &Path) {
        let identity = FileIdentity::of(directory);
        self.known.extend(identity.map(|identity| (directory.to_owned(), identity)));
    }

    /// Resolves the directory once, with the repository that is found there: no link or rename leads the calls elsewhere.
    pub(in crate::cli) fn keep_to_repository(&mut self) -> Result<()> {
        let cannot = |e| Error::io(format!("cannot resolve '{}'", self.world.cwd.display()), e);
        let directory = self.world.cwd.canonicalize().map_err(cannot)?;
        for name in ["GIT_DIR", "GIT_WORK_TREE"] {
            let named = self.world.variable(name).map(|path| self.world.absolute(Path::new(path)));
            if let Some(real) = named.and_then(|path| path.canonicalize().ok()) {
                self.keep_to(&real);
                self.world.variables.insert(name.into(), real.into());
            }
        }
        self.keep_to(&directory);
        // Hints are about the place of the server, wherever the shell stands that started its client.
        self.world.variables.insert("PWD".into(), directory.clone().into());
        self.world.cwd = directory;
        if let Ok(checkout) = Checkout::find(&self.world) {
            self.keep_to(&checkout.root);
            if let Some(common_dir) = &checkout.common_dir {
                self.keep_to(common_dir);
            }
        }
        Ok(())
    }

    /// Fails if another directory has taken the place of one that was there when the server started. Where all of it is
    /// gone, the command itself says so.
    fn require_same(&self) -> Result<()> {
        let is_gone = !self.world.cwd.is_dir();
        let is_another = |(path, known): &&(PathBuf, FileIdentity)| {
            FileIdentity::of(path).map_or(!is_gone, |now| now != *known)
        };
        let Some((path, _)) = self.known.iter().find(is_another) else {
            return Ok(());
        };
        let message =
            format!("'{}' is not the directory in which the server started", path.display());
        Err(Error::new(Code::OtherRepository, message).unchanged().hint("start the server again"))
    }

    fn world(&self, own: Own) -> World {
        let mut world = World {
            interrupt: own.interrupt,
            progress: own.progress,
            changes: Changes::default(),
            warned: Warned::default(),
            stdout_is_terminal: false,
            plane: self.plane,
            ..self.world.clone()
        };
        if let Some(frozen) = own.frozen {
            frozen.stop(&mut world);
        }
        world
    }

    /// Puts the options that every command takes in front.
    fn global(&self, words: Vec<OsString>) -> Vec<OsString> {
        let agent = self.agent.iter().map(|agent| format!("--agent={agent}"));
        let timeout = self.timeout.iter().map(|seconds| format!("--timeout={seconds}"));
        let mut all: Vec<OsString> = agent.chain(timeout).map(OsString::from).collect();
        all.push("--json".into());
        all.extend(words);
        all
    }
}

/// Memory that is written to.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

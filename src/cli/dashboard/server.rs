//! The server: what it keeps between requests, and how a route runs its command.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;

use crate::cli::actions::{self, CommandLine};
use crate::cli::served::calls::Calls;
use crate::cli::served::previews::{Previewed, Previews};
use crate::cli::served::run_action::{Answered, Own, Place, as_object};
use crate::model::Result;
use crate::model::interrupt::Interrupt;
use crate::model::progress::Progress;

use super::files::WebFiles;
use super::login::Logins;
use super::operations::Operations;
use super::requests::RouteRequest;
use super::routes::Route;
use super::stream::Streams;

/// How many calls may run or wait.
pub(super) const MAX_CALLS: usize = 64;

/// How many calls may wait for other repositories.
pub(super) const MAX_FETCHES: usize = 4;

/// The server.
pub(super) struct Dashboard {
    pub(super) place: Place,
    pub(super) grammar: clap::Command,
    pub(super) calls: Calls,
    /// The calls that may still wait for other repositories.
    pub(super) fetches: Arc<Semaphore>,
    pub(super) logins: Mutex<Logins>,
    pub(super) previews: Mutex<Previews>,
    pub(super) operations: Operations,
    pub(super) streams: Streams,
    pub(super) files: WebFiles,
    /// The facts that stay as long as it runs.
    pub(super) about: About,
    /// Lines for the terminal.
    pub(super) narrate: UnboundedSender<String>,
}

/// The facts that stay as long as the server runs.
#[derive(Clone, Debug)]
pub(super) struct About {
    /// The name of the repository: that of its folder.
    pub(super) repository: String,
    pub(super) root: String,
    pub(super) agent: Option<String>,
    pub(super) read_only: bool,
}

impl Dashboard {
    /// Runs the command of a route.
    pub(super) fn run(&self, route: &'static Route, asked: RouteRequest) -> Result<Answered> {
        self.run_at(&self.place, route, asked)
    }

    /// Runs it in another place.
    pub(super) fn run_at(
        &self,
        place: &Place,
        route: &'static Route,
        asked: RouteRequest,
    ) -> Result<Answered> {
        let wanted = self.previewed(route, &asked)?;
        let own = own(route, asked.interrupt, asked.progress);
        if asked.dry_run && !route.only_reads() {
            return Ok(about_routes(place.run(wanted.line.dry().into_words(), None, own)));
        }
        if !route.action.effect.destroys(&wanted.arguments) {
            return Ok(about_routes(place.run(wanted.line.into_words(), None, own)));
        }
        place.run_previewed(&self.previews, wanted, own).map(about_routes)
    }

    /// Returns the preview that comes before a change by a route; `None` if there is none, or if the one that came back
    /// is still right.
    pub(super) fn preview(
        &self,
        route: &'static Route,
        asked: &RouteRequest,
    ) -> Result<Option<Answered>> {
        let wanted = self.previewed(route, asked)?;
        if !route.action.effect.destroys(&wanted.arguments) {
            return Ok(None);
        }
        let own = own(route, asked.interrupt.clone(), asked.progress.clone());
        let shown = self.place.preview(&self.previews, &wanted, &own)?;
        Ok(shown.map(about_routes))
    }

    /// Returns the command line of a route, as it is previewed.
    fn previewed(&self, route: &'static Route, asked: &RouteRequest) -> Result<Previewed<'static>> {
        let action = &route.action;
        let arguments = actions::typed_arguments(&self.grammar, action, &asked.arguments)?;
        let line = actions::command_line(&self.grammar, action, &arguments)?;
        let (client, preview) = (asked.client.clone(), asked.preview.clone());
        Ok(Previewed { client, action, arguments, line, directory: None, preview })
    }

    /// Runs another command, which only reads.
    pub(super) fn read(&self, words: &[&str], interrupt: &Interrupt) -> Answered {
        let own = Own { interrupt: interrupt.clone(), ..Own::default() };
        self.place.run(words.iter().map(Into::into).collect(), None, own)
    }

    /// Returns the command line of a route.
    pub(super) fn line(&self, route: &'static Route, asked: &RouteRequest) -> Result<CommandLine> {
        self.previewed(route, asked).map(|wanted| wanted.line)
    }
}

fn own(route: &'static Route, interrupt: Interrupt, progress: Progress) -> Own {
    Own { action: Some(&route.action), interrupt, progress, ..Own::default() }
}

/// The hints of the table of actions are about 'call', which has other names.
pub(super) fn about_routes(mut answered: Answered) -> Answered {
    let hint = answered.object.get_mut("hint");
    if let Some(hint) = hint.filter(|hint| hint.as_str().is_some_and(is_about_call)) {
        *hint = "git colony dashboard -h".into();
    }
    answered
}

fn is_about_call(hint: &str) -> bool {
    hint.starts_with("git colony call ")
}

impl About {
    /// Returns it as members of an answer.
    pub(super) fn members(&self) -> Map<String, Value> {
        let about = json!({
            "ok": true,
            "repository": self.repository,
            "root": self.root,
            "agent": self.agent,
            "read_only": self.read_only,
            "version": env!("CARGO_PKG_VERSION"),
        });
        as_object(about)
    }
}

//! `git colony events`

use std::time::{Duration, Instant};

use serde_json::json;

use crate::cli::actions::{Effect, Group, How, action, as_arg, how, same};
use crate::cli::commands::states::checkpoints::age;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Stop};
use crate::model::escape;
use crate::model::time::{self, Moment};
use crate::store::Session;
use crate::ui::answer::{Answer, Form, Outcome};
use crate::ui::layout::Block;
use crate::ui::text;
use crate::ui::theme::{Role, Span};
use crate::watch::events::{self, EventEntry, EventsReport, Follower, OwnEvents, Request};

use super::event_lines;

/// How many events are listed if `-n` does not say it.
const USUAL_LIMIT: usize = 100;

/// How long `--wait` waits if `--timeout` does not say it.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);

/// How long nothing is printed as JSON before a line with the position alone: a reader can continue from there.
const SILENCE: Duration = Duration::from_secs(15);

/// How often it is checked that the output still has a reader.
const READER_INTERVAL: Duration = Duration::from_millis(400);

/// List the events of the colony: what agents and people have done
///
/// Checkpoints, merges, moved branches, mapped scopes and page faults of all clones of a hub on this machine are
/// events. A position 'EPOCH:NUMBER' continues where a reader ended. The log keeps 100,000 events or 90 days;
/// a reader whose position is gone gets 'gap': true and all that is left. An agent's own events are left out.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print events as they come, until Ctrl-C or --timeout; with --json, one object in each line
    #[arg(long)]
    follow: bool,
    /// Wait until there is an event, at most --timeout seconds (default: 30; exit code 1 if none comes)
    #[arg(long, conflicts_with = "follow")]
    wait: bool,
    /// Only events after POSITION (--follow and --wait: default now)
    #[arg(long, value_name = "POSITION")]
    since: Option<String>,
    /// Only events whose key begins with GLOB, or matches it if it has '*' or '?' [several times: any of them]
    #[arg(long = "key", value_name = "GLOB")]
    keys: Vec<String>,
    /// Only events about the branch ID, or the scope: its id, a prefix of it, or the name of its row
    #[arg(long, value_name = "ID")]
    scope: Option<String>,
    /// Also the agent's own events
    #[arg(long)]
    all: bool,
    /// At most N events: the newest, or with --since the next (default: 100; --follow: the newest N first)
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("events", Section::Collaborate, Screen::All)
        .lists_by_itself()
        .example("git colony events -n 20", "the newest twenty events")
        .example(
            "git colony events --key 'branch_merged:' --key '*:fork/*'",
            "merges, and whatever happens to forks",
        )
        .example(
            "git colony --timeout 2 events --follow --json",
            "what happens in the next two seconds, as it happens",
        )
        .answers::<EventsReport>()
        .action(
            action("list_events", Group::Agents, Effect::Reads)
                .about(
                    "See what other agents changed: checkpoints, merges, moved branches, mapped \
                     scopes. With 'since' the oldest after it",
                )
                .takes(&[
                    same("since").about("The 'position' of an earlier answer"),
                    same("keys").about("Prefixes of keys, or patterns with '*'"),
                    same("scope").about("Only about this branch or scope"),
                    as_arg("include_own", "all").about("Your own events, too"),
                    same("limit").about("Default 100: the newest, or with 'since' the next"),
                ]),
        )
        .action(
            action("wait_events", Group::Agents, Effect::Reads)
                .by("events --wait")
                .about(
                    "Wait for other agents: returns their events after 'since', by default after \
                     now, as soon as there are some",
                )
                .takes(&[
                    same("since")
                        .about("The 'position' of the last answer: nothing in between is missed"),
                    same("keys").about("Prefixes of keys, or patterns with '*'"),
                    how("timeout_s", How::Number("timeout", None)).about("Seconds, 30 by default"),
                    same("scope").about("Only about this branch or scope"),
                    as_arg("include_own", "all").about("Your own events, too"),
                    same("limit").about("Default 100"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let has_timeout = face.flags.timeout_seconds.is_some();
    let timeout = session.settings.timeout.filter(|_| has_timeout);
    let request = Request {
        since: args.since,
        keys: args.keys,
        scope: args.scope,
        own: if args.all { OwnEvents::Shown } else { OwnEvents::Hidden },
        limit: args.limit.unwrap_or(USUAL_LIMIT),
    };
    if args.follow {
        let newest = args.limit.filter(|_| request.since.is_none());
        return follow(face, &session, request, Bounds { newest, timeout });
    }
    let report = if args.wait {
        events::wait(&session, &request, timeout.unwrap_or(USUAL_TIMEOUT))?
    } else {
        events::list(&session, &request)?
    };
    face.answer(&report)
}

/// Where following begins and ends.
#[derive(Clone, Copy)]
struct Bounds {
    /// How many events that have been there are printed first.
    newest: Option<usize>,
    timeout: Option<Duration>,
}

fn follow(
    face: &mut Face<'_>,
    session: &Session,
    mut request: Request,
    bounds: Bounds,
) -> Result<Outcome, Stop> {
    let deadline = bounds.timeout.and_then(|time| Instant::now().checked_add(time));
    if bounds.newest.is_some() {
        let report = events::list(session, &request)?;
        print(face, &report)?;
        request.since = Some(report.position);
    }
    let mut follower = Follower::start(session, &request)?;
    let mut silent_since = Instant::now();
    loop {
        let now = Instant::now();
        if deadline.is_some_and(|deadline| deadline <= now) || face.has_lost_its_reader() {
            return Ok(Outcome::Yes);
        }
        let pause = now + READER_INTERVAL;
        let until = deadline.map_or(pause, |deadline| deadline.min(pause));
        match follower.next(session, Some(until))? {
            Some(report) => print(face, &report)?,
            None if silent_since.elapsed() < SILENCE => continue,
            None if face.form == Form::Json => {
                let line = json!({ "position": follower.position() });
                face.write(&format!("{line}\n"), false)?;
            }
            None => {}
        }
        silent_since = Instant::now();
    }
}

/// Prints events in one line each.
fn print(face: &mut Face<'_>, report: &EventsReport) -> Result<(), Stop> {
    let mut lines = Vec::new();
    match face.form {
        Form::Quiet => return Ok(()),
        Form::Json => {
            if report.gap {
                let gap = json!({
                    "gap": true,
                    "oldest": report.oldest,
                    "position": report.position,
                });
                lines.push(gap.to_string());
            }
            for event in &report.events {
                let line = serde_json::to_string(event);
                lines.push(line.map_err(|error| Stop::Stream(error.into()))?);
            }
        }
        Form::Text => {
            lines.extend(gap(report));
            lines.extend(report.events.iter().map(|event| {
                let agent = event.agent.as_deref().unwrap_or("-");
                let (what, rest) = event_lines::parts(event);
                let line = format!("{}  {agent}  {what}  {rest}", event.ts);
                line.trim_end().to_owned()
            }));
            lines = lines.iter().map(|line| escape::line(line)).collect();
        }
    }
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    face.write(&text, false)
}

fn gap(report: &EventsReport) -> Option<String> {
    report.gap.then(|| match &report.oldest {
        Some(oldest) => format!("gap: events before {oldest} are lost"),
        None => "gap: the event log was deleted".to_owned(),
    })
}

impl Answer for EventsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let count = text::count(self.count, "event");
        let more = if self.truncated { "; -n shows more" } else { "" };
        if self.timed_out {
            return format!("no event came; {} continues", self.continued());
        }
        format!("{count}{more}; {} continues", self.continued())
    }

    fn narration(&self) -> Vec<String> {
        gap(self).into_iter().collect()
    }

    fn blocks(&self, now: &Moment) -> Vec<Block> {
        vec![Block::Table(rows(&self.events, now).collect())]
    }

    fn outcome(&self) -> Outcome {
        if self.timed_out { Outcome::No } else { Outcome::Yes }
    }
}

/// Returns events as rows of cells.
pub(super) fn rows(events: &[EventEntry], now: &Moment) -> impl Iterator<Item = Vec<Span>> {
    events.iter().map(|event| {
        let agent = event.agent.clone();
        let (what, rest) = event_lines::parts(event);
        vec![
            Span::new(Role::Dim, when(&event.ts, now)),
            Span::new(Role::Heading, agent.unwrap_or_else(|| "-".to_owned())),
            what.into(),
            Span::new(Role::Dim, rest),
        ]
    })
}

fn when(ts: &str, now: &Moment) -> String {
    match time::parse_rfc3339(ts) {
        Some(_) => age(ts, now),
        None => ts.to_owned(),
    }
}

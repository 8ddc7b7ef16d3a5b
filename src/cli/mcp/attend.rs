//! A call as it runs: its progress, its time, and the wish of its client to stop it.

use std::time::{Duration, Instant};

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};

use crate::cli::served::calls::Call;
use crate::cli::served::run_action::Answered;
use crate::model::progress::{Progress, Step};
use crate::model::{Code, Error, Result};

use super::pace::{Pace, ProgressReport};

/// Returns where a call tells its progress, and who hears it, if the client wants to.
pub(super) fn progress(
    context: &RequestContext<RoleServer>,
) -> (Progress, Option<tokio::sync::mpsc::Receiver<ProgressReport>>) {
    if context.meta.get_progress_token().is_none() {
        return (Progress::unwanted(), None);
    }
    let (tell, reports) = tokio::sync::mpsc::channel(4);
    let progress = Progress::new(move |step| {
        let step = match *step {
            Step::Files { what, done } => ProgressReport {
                done: f64::from(u32::try_from(done).unwrap_or(u32::MAX)),
                total: None,
                what: what.to_owned(),
            },
            Step::Part { what, done, total, .. } => ProgressReport {
                done: f64::from(u32::try_from(done).unwrap_or(u32::MAX)),
                total: Some(f64::from(u32::try_from(total).unwrap_or(u32::MAX))),
                what: what.to_owned(),
            },
            Step::Said(_) | Step::Ended => return,
        };
        // A client that does not keep up misses steps.
        tell.try_send(step).ok();
    });
    (progress, Some(reports))
}

/// Waits for a call; passes on its progress, and stops it when the client does or its time is up.
pub(super) async fn attend(
    mut work: tokio::task::JoinHandle<Answered>,
    call: &Call,
    context: &RequestContext<RoleServer>,
    mut reports: Option<tokio::sync::mpsc::Receiver<ProgressReport>>,
    limit: Option<Duration>,
) -> Result<Answered> {
    /// As long as the runtime can wait.
    const FOREVER: Duration = Duration::from_hours(24 * 365);
    let deadline = tokio::time::sleep(limit.unwrap_or(FOREVER));
    tokio::pin!(deadline);
    let mut is_stopped = false;
    let mut pace = Pace::default();
    loop {
        let is_heard = reports.is_some();
        let next = async {
            match &mut reports {
                Some(reports) => reports.recv().await,
                None => None,
            }
        };
        tokio::select! {
            done = &mut work => {
                return done.map_err(|error| Error::new(Code::Io, format!("the call ended unexpectedly: {error}")));
            }
            () = context.ct.cancelled(), if !is_stopped => {
                is_stopped = true;
                call.stop();
            }
            () = &mut deadline, if !is_stopped => {
                is_stopped = true;
                call.stop();
            }
            step = next, if is_heard => match (step, context.meta.get_progress_token()) {
                (Some(step), Some(token)) => if let Some(step) = pace.next(&step, Instant::now()) {
                    let mut param = ProgressNotificationParam::new(token, step.done).with_message(step.what);
                    param.total = step.total;
                    // A client that has gone is noticed when the answer is written.
                    context.peer.notify_progress(param).await.ok();
                },
                _ => reports = None,
            },
        }
    }
}

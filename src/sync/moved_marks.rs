//! Announces the marks that a sync has brought: an agent of another machine is done, or a person there holds work back.

use std::collections::BTreeMap;

use serde_json::json;

use crate::agents::agent_places;
use crate::blackboard::agent_marks;
use crate::blackboard::board::Board;
use crate::design::fork::machines;
use crate::model::Result;
use crate::store::Session;
use crate::store::state::event_log;

/// Opens the blackboard of the marks; `None` where that cannot be read.
pub(super) fn board(session: &Session) -> Option<Board> {
    agent_marks::board(&session.repo).ok()
}

/// Announces the marks that differ from those of an earlier version: of agents here by their names, of agents of other
/// machines by `<machine>/<agent>`. Of an agent that is neither there is nothing to show.
pub(super) fn announce_changed(session: &Session, before: Option<Board>) -> Result<()> {
    let (Some(before), Some(now)) = (before, board(session)) else {
        return Ok(());
    };
    if before.tip == now.tip {
        return Ok(());
    }
    let elsewhere = machines::list(&session.repo)?.into_iter();
    let mut names: BTreeMap<String, String> =
        elsewhere.map(|agent| (agent.work.clone, agent.name)).collect();
    for clone in agent_places::of_agents(session).unwrap_or_default() {
        names.extend(clone.member.agent.map(|agent| (clone.member.id, agent)));
    }
    for changed in agent_marks::changed(&session.repo, &before, &now)? {
        let name = match &changed.clone {
            Some(clone) => names.get(clone),
            None => Some(&changed.name),
        };
        if let Some(name) = name {
            let (mark, event) = (&changed.mark, changed.kind.event(changed.is_made));
            let text = mark.text.as_ref().filter(|_| changed.is_made);
            let value = json!({"agent": name, "sha": mark.sha, "text": text, "op": null});
            event_log::announce(session, format!("{event}:{name}"), value);
        }
    }
    Ok(())
}

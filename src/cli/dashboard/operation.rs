//! One operation, as it is answered: its request, its progress, its end.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cli::served::run_action::Answered;

/// The lines of a command that are kept: the last ones.
const MAX_LINES: usize = 200;

/// The letters of a line that are kept.
const MAX_LINE: usize = 500;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Map,
    Try,
    Land,
}

impl Kind {
    /// Returns its name, with which an id begins.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Map => "map",
            Kind::Try => "try",
            Kind::Land => "land",
        }
    }
}

/// The state of an operation. The ends of `land` and `try` are the outcomes of their reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Pending,
    Running,
    Mapped,
    Partial,
    Landed,
    Partly,
    Nothing,
    BaseFailing,
    Passed,
    Failed,
    Conflicted,
    Error,
    Canceled,
}

/// The progress of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Done {
    pub(super) what: String,
    pub(super) done: u64,
    pub(super) total: Option<u64>,
}

/// How an operation ended, by what its command answered.
pub(super) struct OperationEnd {
    pub(super) status: Status,
    pub(super) message: String,
    /// The members of its kind.
    pub(super) own: Map<String, Value>,
}

/// An operation, as it is answered.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Operation {
    pub(super) op_id: String,
    pub(super) kind: Kind,
    pub(super) status: Status,
    pub(super) started_at: String,
    pub(super) completed_at: Option<String>,
    pub(super) message: String,
    pub(super) progress: Option<Done>,
    /// What the command has said, line by line.
    pub(super) lines: VecDeque<String>,
    pub(super) op: Value,
    pub(super) code: Value,
    pub(super) hint: Value,
    /// The members of its kind: what was asked for, and what came of it.
    #[serde(flatten)]
    pub(super) own: Map<String, Value>,
}

impl Operation {
    /// Returns one that waits for its turn.
    pub(super) fn waiting(op_id: String, kind: Kind, at: String, own: Map<String, Value>) -> Self {
        Operation {
            op_id,
            kind,
            status: Status::Pending,
            started_at: at,
            completed_at: None,
            message: "waits for its turn".to_owned(),
            progress: None,
            lines: VecDeque::new(),
            op: Value::Null,
            code: Value::Null,
            hint: Value::Null,
            own,
        }
    }

    pub(super) fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    pub(super) fn is_over(&self) -> bool {
        !matches!(self.status, Status::Pending | Status::Running)
    }

    /// Adds what the command says. Each line of it is one of ours.
    pub(super) fn say(&mut self, text: &str) {
        let lines = text.lines().map(|line| line.chars().take(MAX_LINE).collect());
        self.lines.extend(lines);
        let over = self.lines.len().saturating_sub(MAX_LINES);
        self.lines.drain(..over);
        self.message.clear();
    }

    /// Takes what the command answered.
    pub(super) fn end(&mut self, answered: &Answered, ended: OperationEnd, at: String) {
        let member = |name: &str| answered.object.get(name).cloned().unwrap_or_default();
        let is_interrupted = answered.is_failure() && member("code") == "interrupted";
        self.status = if is_interrupted { Status::Canceled } else { ended.status };
        self.message = ended.message;
        self.own.extend(ended.own);
        self.op = member("op");
        self.code = member("code");
        self.hint = member("hint");
        self.progress = None;
        self.completed_at = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_knows_each_status() {
        let words = include_str!("web/words.js");
        let (_, table) = words.split_once("OPERATIONS = {").unwrap();
        let (table, _) = table.split_once("};").unwrap();
        let known: Vec<_> =
            table.lines().filter_map(|line| line.trim().split_once(": [")).collect();
        let all = [
            Status::Pending,
            Status::Running,
            Status::Mapped,
            Status::Partial,
            Status::Landed,
            Status::Partly,
            Status::Nothing,
            Status::BaseFailing,
            Status::Passed,
            Status::Failed,
            Status::Conflicted,
            Status::Error,
            Status::Canceled,
        ];
        let names = all.map(|status| serde_json::to_value(status).unwrap());
        assert_eq!(known.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    }

    #[test]
    fn only_the_last_lines_are_kept_and_the_start_of_each() {
        let now = "2026-01-01T00:00:00Z".to_owned();
        let mut operation = Operation::waiting("land_0".to_owned(), Kind::Land, now, Map::new());
        for number in 0..MAX_LINES {
            operation.say(&format!("{number}\n{}", "x".repeat(2 * MAX_LINE)));
        }
        assert_eq!(operation.lines.len(), MAX_LINES);
        assert_eq!(operation.lines.front().unwrap(), &(MAX_LINES / 2).to_string());
        assert_eq!(operation.lines.back().unwrap().len(), MAX_LINE);
    }
}

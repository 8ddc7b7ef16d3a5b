//! Messages before the protocol reads them, and after it has answered: their shape, the requests that are open, batches.
//!
//! The protocol of rmcp drops the id of a message that it cannot read, and knows no batches. So what it could not answer
//! is refused here, by its id, and a batch is taken apart and its answers are collected.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::ProtocolVersion;
use serde_json::{Map, Value, json};

use super::answer::shown;

/// What the params of a request must have: a text of this name.
const TEXTS: [(&str, &str); 5] = [
    ("tools/call", "name"),
    ("resources/read", "uri"),
    ("resources/subscribe", "uri"),
    ("resources/unsubscribe", "uri"),
    ("prompts/get", "name"),
];

/// Codes of JSON-RPC.
const NOT_JSON: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// What becomes of a line of the input.
#[derive(Debug, PartialEq)]
pub(super) enum LineUse {
    /// The protocol reads the line as it is.
    Line,
    /// The protocol reads these messages of a batch.
    Batch(Vec<Value>),
    /// This is answered, if it is anything.
    Refused(Option<Value>),
    /// Nothing: a notification is never answered, also one that cannot be read.
    Dropped,
}

/// The requests that have no answer yet.
#[derive(Clone, Default)]
pub(super) struct OpenRequests(Arc<Mutex<Requests>>);

#[derive(Default)]
struct Requests {
    ids: HashSet<String>,
    batches: Vec<Batch>,
    /// Whether the version of the client has batches.
    has_batches: bool,
}

/// A batch that is being answered.
struct Batch {
    waiting: HashSet<String>,
    answers: Vec<Value>,
}

impl OpenRequests {
    /// Takes a line of the client.
    pub(super) fn take(&self, line: &[u8]) -> LineUse {
        if line.trim_ascii().is_empty() {
            return LineUse::Line;
        }
        match serde_json::from_slice::<Value>(line) {
            // Its id is found by the caller, who has the bytes.
            Err(_) => LineUse::Refused(None),
            Ok(Value::Array(messages)) => self.take_batch(messages),
            Ok(message) => match self.lock().take(&message) {
                Ok(()) => LineUse::Line,
                Err(Value::Null) => LineUse::Dropped,
                Err(refusal) => LineUse::Refused(Some(refusal)),
            },
        }
    }

    /// Takes the answers of batches that are whole since a request of theirs was canceled.
    pub(super) fn take_whole(&self) -> Vec<Value> {
        let mut requests = self.lock();
        let (whole, open) = std::mem::take(&mut requests.batches)
            .into_iter()
            .partition(|batch| batch.waiting.is_empty());
        requests.batches = open;
        let answers = Vec::into_iter(whole).map(|batch: Batch| batch.answers);
        answers.filter(|answers| !answers.is_empty()).map(Value::from).collect()
    }

    fn take_batch(&self, messages: Vec<Value>) -> LineUse {
        let mut requests = self.lock();
        if messages.is_empty() || !requests.has_batches {
            let message = "a list of messages is not empty, and of protocol version 2025-03-26";
            return LineUse::Refused(Some(error(&Value::Null, INVALID_REQUEST, message)));
        }
        let mut batch = Batch { waiting: HashSet::new(), answers: Vec::new() };
        let mut taken = Vec::new();
        for message in messages {
            match requests.take(&message) {
                Ok(()) => {
                    let is_request = message.get("method").is_some();
                    let id = message.get("id").filter(|_| is_request);
                    batch.waiting.extend(id.map(Value::to_string));
                    taken.push(message);
                }
                Err(Value::Null) => {}
                Err(refusal) => batch.answers.push(refusal),
            }
        }
        // Where no request is left, the refusals are taken by `take_whole`.
        requests.batches.push(batch);
        LineUse::Batch(taken)
    }

    /// Notes a line of the protocol; returns the line that is written now, if any.
    pub(super) fn answer(&self, line: &[u8]) -> Option<Vec<u8>> {
        let as_it_is = Some(line.to_vec());
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return as_it_is };
        let Some(id) = message.get("id").filter(|_| message.get("method").is_none()) else {
            return as_it_is;
        };
        let key = id.to_string();
        let mut requests = self.lock();
        requests.ids.remove(&key);
        let Some(at) = requests.batches.iter().position(|batch| batch.waiting.contains(&key))
        else {
            return as_it_is;
        };
        let batch = requests.batches.get_mut(at)?;
        batch.waiting.remove(&key);
        batch.answers.push(message);
        let is_whole = batch.waiting.is_empty();
        is_whole.then(|| Value::from(requests.batches.remove(at).answers).to_string().into_bytes())
    }

    /// Returns their number.
    pub(super) fn count(&self) -> usize {
        self.lock().ids.len()
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        // A panic elsewhere leaves the sets valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Requests {
    /// Notes a message of the client; the error is what it is refused with, null for a notification.
    fn take(&mut self, message: &Value) -> Result<(), Value> {
        let Some(members) = message.as_object() else {
            return Err(error(&Value::Null, INVALID_REQUEST, "a message is a JSON object"));
        };
        let method = members.get("method").and_then(Value::as_str);
        let is_answer = members.contains_key("result") || members.contains_key("error");
        let is_of_version = members.get("jsonrpc").is_some_and(|version| version == "2.0");
        let Some(id) = members.get("id") else {
            return self.take_notification(method, members, is_of_version);
        };
        if id.is_null() && is_answer {
            return Ok(());
        }
        if !is_id(id) {
            let message = "the id of a request is neither a string nor an integer";
            return Err(error(&Value::Null, INVALID_REQUEST, message));
        }
        if !is_of_version {
            return Err(error(id, INVALID_REQUEST, "'jsonrpc' of a message is \"2.0\""));
        }
        match method {
            None if is_answer => return Ok(()),
            None => return Err(error(id, INVALID_REQUEST, "the request has no method")),
            Some(method) => require_params(method, members.get("params"))
                .map_err(|message| error(id, INVALID_PARAMS, &message))?,
        }
        if method == Some("initialize") {
            let version = members.get("params").and_then(|params| params.get("protocolVersion"));
            self.has_batches =
                version.is_some_and(|version| version == ProtocolVersion::V_2025_03_26.as_str());
        }
        if !self.ids.insert(id.to_string()) {
            return Err(error(id, INVALID_REQUEST, "a request with this id is open"));
        }
        Ok(())
    }

    /// Notes a notification, or what has neither an id nor a method.
    fn take_notification(
        &mut self,
        method: Option<&str>,
        members: &Map<String, Value>,
        is_of_version: bool,
    ) -> Result<(), Value> {
        let Some(method) = method else {
            let message = "the message has neither an id nor a method";
            return Err(error(&Value::Null, INVALID_REQUEST, message));
        };
        let params = members.get("params").filter(|params| !params.is_null());
        let is_readable = is_of_version && params.is_none_or(Value::is_object);
        let canceled = params.and_then(|params| params.get("requestId"));
        let is_cancellation = method == "notifications/cancelled";
        if !is_readable || is_cancellation && !canceled.is_some_and(is_id) {
            return Err(Value::Null);
        }
        if is_cancellation {
            self.forget(members);
        }
        Ok(())
    }

    /// A canceled request is never answered.
    fn forget(&mut self, notification: &Map<String, Value>) {
        let params = notification.get("params").and_then(|params| params.get("requestId"));
        if let Some(key) = params.map(Value::to_string) {
            self.ids.remove(&key);
            for batch in &mut self.batches {
                batch.waiting.remove(&key);
            }
        }
    }
}

/// Fails with the fault of the params of a request.
fn require_params(method: &str, params: Option<&Value>) -> Result<(), String> {
    let params = match params {
        None | Some(Value::Null) => &Value::Null,
        Some(params) if params.is_object() => params,
        Some(_) => return Err(format!("the params of '{}' are not an object", shown(method))),
    };
    let text = TEXTS.iter().find(|(name, _)| *name == method);
    if let Some((_, name)) = text.filter(|(_, name)| !params[*name].is_string()) {
        return Err(format!("'{name}' in the params of '{method}' is not a string"));
    }
    match &params["arguments"] {
        Value::Null | Value::Object(_) => Ok(()),
        _ if text.is_none() => Ok(()),
        _ => Err(format!("'arguments' in the params of '{method}' is not an object")),
    }
}

/// Returns the refusal of a line that is not JSON.
pub(super) fn not_json(id: &Value) -> Value {
    error(id, NOT_JSON, "the line is not JSON")
}

/// Returns the refusal of a message that is too long.
pub(super) fn too_long(id: &Value, message: &str) -> Value {
    error(id, INVALID_REQUEST, message)
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Returns `true` for what the protocol takes for an id.
pub(super) fn is_id(id: &Value) -> bool {
    id.is_string() || id.as_i64().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(open: &OpenRequests, message: &Value) -> LineUse {
        open.take(message.to_string().as_bytes())
    }

    fn refusal(message: &Value) -> (Value, Value) {
        match take(&OpenRequests::default(), message) {
            LineUse::Refused(Some(refusal)) => {
                (refusal["id"].clone(), refusal["error"]["code"].clone())
            }
            other => panic!("{other:?}"),
        }
    }

    fn call(id: i32, params: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    }

    #[test]
    fn what_cannot_be_answered_is_refused_by_its_id() {
        assert_eq!(refusal(&json!({ "jsonrpc": "2.0", "id": 3 })), (json!(3), json!(-32600)));
        assert_eq!(refusal(&json!(7)), (json!(null), json!(-32600)));
        let ping =
            |id: Value, version: &str| json!({ "jsonrpc": version, "id": id, "method": "ping" });
        assert_eq!(refusal(&ping(json!(null), "2.0")), (json!(null), json!(-32600)));
        assert_eq!(refusal(&ping(json!(1.5), "2.0")), (json!(null), json!(-32600)));
        assert_eq!(refusal(&ping(json!(8), "1.0")), (json!(8), json!(-32600)));
        assert_eq!(refusal(&json!({ "id": 9, "method": "ping" })), (json!(9), json!(-32600)));
        assert_eq!(refusal(&json!({ "jsonrpc": "2.0" })), (json!(null), json!(-32600)));
        let open = OpenRequests::default();
        assert_eq!(take(&open, &ping(json!(1), "2.0")), LineUse::Line);
        let LineUse::Refused(Some(twice)) = take(&open, &ping(json!(1), "2.0")) else {
            panic!("its id is taken");
        };
        assert_eq!(twice["id"], 1);
        for (params, id) in [
            (json!([]), 4),
            (json!({}), 5),
            (json!({ "name": 1 }), 6),
            (json!({ "name": "undo", "arguments": "{}" }), 7),
        ] {
            assert_eq!(refusal(&call(id, &params)), (json!(id), json!(-32602)));
        }
    }

    #[test]
    fn a_batch_is_answered_as_one_when_it_is_whole() {
        let open = OpenRequests::default();
        let good = json!({ "name": "undo" });
        let batch = json!([call(1, &good), call(2, &json!([])), call(3, &good)]);
        assert!(matches!(take(&open, &batch), LineUse::Refused(Some(_))), "of another version");
        let start = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-03-26" } });
        assert_eq!(take(&open, &start), LineUse::Line);
        let LineUse::Batch(messages) = take(&open, &batch) else { panic!("a batch") };
        assert_eq!(messages.len(), 2);
        let answer = |id: i32| json!({ "id": id, "result": {} }).to_string().into_bytes();
        assert_eq!(open.answer(&answer(3)), None);
        let whole = open.answer(&answer(1)).expect("it is whole");
        let whole: Value = serde_json::from_slice(&whole).expect("it is JSON");
        let ids: Vec<_> =
            whole.as_array().expect("a list").iter().map(|response| &response["id"]).collect();
        assert_eq!(ids, [2, 3, 1]);
        assert_eq!(open.answer(&answer(4)), Some(answer(4)));
    }

    #[test]
    fn a_notification_is_never_answered() {
        let open = OpenRequests::default();
        let note = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
        assert_eq!(take(&open, &note("notifications/initialized", json!({}))), LineUse::Line);
        for bad in [
            note("notifications/initialized", json!([])),
            note("notifications/cancelled", json!({})),
            note("notifications/cancelled", json!({ "requestId": [] })),
            json!({ "method": "notifications/initialized" }),
        ] {
            assert_eq!(take(&open, &bad), LineUse::Dropped, "{bad}");
        }
    }

    #[test]
    fn a_canceled_request_of_a_batch_takes_no_other_answer_with_it() {
        let open = OpenRequests::default();
        let start = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-03-26" } });
        take(&open, &start);
        let good = json!({ "name": "undo" });
        take(&open, &json!([call(1, &good), call(2, &good)]));
        assert_eq!(open.answer(&json!({ "id": 1, "result": {} }).to_string().into_bytes()), None);
        assert_eq!(open.take_whole(), Vec::<Value>::new());
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
        assert_eq!(take(&open, &cancel), LineUse::Line);
        assert_eq!(open.take_whole(), [json!([{ "id": 1, "result": {} }])]);
        assert_eq!(open.take_whole(), Vec::<Value>::new());
    }
}

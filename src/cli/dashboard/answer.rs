//! Answers: the report of a command as JSON, and its status by exit code and error code.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value};

use crate::cli::served::run_action::Answered;
use crate::model::Error;

use super::guard::Refusal;

/// The headers of every response: the page may load only what the server has, and no other page may hold it.
const HEADERS: [(&str, &str); 5] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// What a route answers.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) object: Map<String, Value>,
}

impl Reply {
    /// An answer that is not of a command.
    pub(super) fn ok(object: Map<String, Value>) -> Reply {
        Reply { status: StatusCode::OK, object }
    }

    /// The same answer with another status, if it is not a failure.
    pub(super) fn with_status(mut self, status: StatusCode) -> Reply {
        if self.status == StatusCode::OK {
            self.status = status;
        }
        self
    }
}

impl From<Answered> for Reply {
    fn from(answered: Answered) -> Reply {
        let status = status(&answered);
        let mut object = answered.object;
        // A report may have a member of this name.
        object.entry("notes").or_insert_with(|| answered.notes.into());
        Reply { status, object }
    }
}

impl From<Error> for Reply {
    fn from(error: Error) -> Reply {
        Answered::of_error(&error).into()
    }
}

/// Returns the status of an answer. A conflict is data: only failures have another than 200.
fn status(answered: &Answered) -> StatusCode {
    if !answered.is_failure() {
        return StatusCode::OK;
    }
    let code = answered.object.get("code").and_then(Value::as_str).unwrap_or_default();
    match code {
        "authentication-failed" => StatusCode::UNAUTHORIZED,
        "remote-unreachable" | "remote-not-found" | "git-failed" => StatusCode::BAD_GATEWAY,
        "server-busy" | "locked" | "cache-unusable" | "state-unusable" => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        "usage" | "invalid-value" | "url-refused" | "source-unknown" => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        "map-invalid" | "manifest-invalid" | "groups-invalid" | "projects-invalid" => {
            StatusCode::BAD_REQUEST
        }
        "repository-broken" | "io" | "recovery-needed" => StatusCode::INTERNAL_SERVER_ERROR,
        "read-only" => StatusCode::FORBIDDEN,
        code if code.ends_with("-not-found") => StatusCode::NOT_FOUND,
        _ => StatusCode::CONFLICT,
    }
}

/// Returns an answer of JSON, which no cache keeps.
pub(super) fn json(status: StatusCode, object: Map<String, Value>) -> Response {
    of_text(status, Value::Object(object).to_string())
}

/// Returns an answer of text that is JSON, which no cache keeps.
pub(super) fn of_text(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert("retry-after", HeaderValue::from_static("1"));
    }
    response
}

/// Returns the answer of a refused request.
pub(super) fn refused(refusal: Refusal) -> Response {
    let Refusal { status, error, header } = refusal;
    let mut response = json(status, Answered::of_error(&error).object);
    if let Some((name, value)) = header {
        response.headers_mut().insert(name, value);
    }
    response
}

/// Adds the headers that every response has.
pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}

//! What a request must be before anything is done for it, in the order of docs/dashboard.md. Pure: `login` knows
//! which tokens count.
//!
//! The token is what keeps others out. Host and origin keep out pages of other sites in the browser of the user: no page
//! has a token by being loaded, so there is nothing that such a request could ride on.

use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, TRANSFER_ENCODING,
    WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use crate::model::{Code, Error};

/// The hosts by which a browser reaches this machine: none of them can be made to lead elsewhere.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// A request that is refused.
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) error: Error,
    /// A header that belongs to the status.
    pub(super) header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Refusal {
        let error = Error::new(code, message.into()).unchanged();
        Refusal { status, error, header: None }
    }

    fn hint(self, hint: &str) -> Refusal {
        Refusal { error: self.error.hint(hint), ..self }
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// An answer, for those who have a token.
    Answer,
    /// A file of the page.
    Asset,
    /// The page itself, at any of its addresses: a link from anywhere may lead there.
    Page,
}

/// Returns what a request asks for; `is_asset` looks a path up in the table of files.
pub(super) fn target(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    is_asset: impl Fn(&str) -> bool,
) -> Target {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if path == "/api" || path.starts_with("/api/") {
        Target::Answer
    } else if is_read && (path == "/" || (!is_asset(path) && accepts.contains("text/html"))) {
        Target::Page
    } else {
        Target::Asset
    }
}

/// Refuses what comes from elsewhere: the first checks, before anything is looked up.
pub(super) fn require_here(headers: &HeaderMap, target: Target) -> Result<(), Refusal> {
    let host = single(headers, &HOST).filter(|host| is_own_host(host)).ok_or_else(|| {
        let message =
            "the dashboard answers to 127.0.0.1 and localhost, and the request names another host";
        Refusal::new(StatusCode::MISDIRECTED_REQUEST, Code::HostRefused, message)
    })?;
    if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
        let message = "the request has two lengths";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, Code::RequestRefused, message));
    }
    let site = HeaderName::from_static("sec-fetch-site");
    let is_same_site =
        !headers.contains_key(&site) || single(headers, &site) == Some("same-origin");
    let origin = format!("http://{host}");
    let is_own_origin =
        !headers.contains_key(ORIGIN) || single(headers, &ORIGIN) == Some(origin.as_str());
    if target == Target::Page || (is_same_site && is_own_origin) {
        return Ok(());
    }
    let message = "the request comes from the page of another origin";
    Err(Refusal::new(StatusCode::FORBIDDEN, Code::OriginRefused, message))
}

/// Returns `true` for a host of this machine, at any port: a tunnel may have another one.
fn is_own_host(host: &str) -> bool {
    let port = |rest: &str| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    HOSTS.iter().any(|own| host.strip_prefix(own).is_some_and(port))
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= 5
}

/// Returns the value of a header that is there once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

/// Returns the token that a request has.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    single(headers, &AUTHORIZATION)?.strip_prefix("Bearer ")
}

/// The refusal of a request without a token that counts.
pub(super) fn login_required(message: &str) -> Refusal {
    let refusal = Refusal::new(StatusCode::UNAUTHORIZED, Code::LoginRequired, message)
        .hint("press Enter in the terminal of the dashboard, and open the new link");
    Refusal { header: Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))), ..refusal }
}

/// Refuses a body that is not JSON: a form of another site can send nothing else than text without asking first.
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = single(headers, &CONTENT_TYPE).unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = "the body must be one JSON object, of type application/json";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::RequestRefused, message))
}

/// The refusal of a change by a server that only reads.
pub(super) fn read_only() -> Refusal {
    let message = "this dashboard only reads";
    Refusal::new(StatusCode::FORBIDDEN, Code::ReadOnlyServer, message)
        .hint("git colony dashboard   # without --read-only")
}

/// The refusal of an address that the dashboard does not have.
pub(super) fn not_found(path: &str) -> Refusal {
    let message = format!("the dashboard has nothing at '{path}'");
    Refusal::new(StatusCode::NOT_FOUND, Code::RouteNotFound, message)
}

/// The refusal of a method that an address does not have.
pub(super) fn method_refused(method: &Method, path: &str) -> Refusal {
    let message = format!("'{path}' has no {method}");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, Code::RequestRefused, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn status(target: Target, pairs: &[(&'static str, &str)]) -> u16 {
        require_here(&headers(pairs), target)
            .map_or_else(|refusal| refusal.status.as_u16(), |()| 200)
    }

    #[test]
    fn hosts_and_origins_of_others_are_refused() {
        let here = ("host", "127.0.0.1:7000");
        for (wanted, pairs) in [
            (200, vec![here]),
            (200, vec![("host", "localhost:9000")]),
            (200, vec![("host", "[::1]:9000")]),
            (421, vec![]),
            (421, vec![("host", "evil.example:7000")]),
            (421, vec![("host", "127.0.0.1.evil.example")]),
            (421, vec![("host", "localhost:80x")]),
            (200, vec![here, ("origin", "http://127.0.0.1:7000")]),
            (403, vec![here, ("origin", "http://127.0.0.1:7001")]),
            (403, vec![here, ("origin", "http://localhost:7000")]),
            (403, vec![here, ("origin", "null")]),
            (200, vec![here, ("sec-fetch-site", "same-origin")]),
            (403, vec![here, ("sec-fetch-site", "same-site")]),
            (403, vec![here, ("sec-fetch-site", "none")]),
            (400, vec![here, ("transfer-encoding", "chunked"), ("content-length", "1")]),
        ] {
            assert_eq!(status(Target::Answer, &pairs), wanted, "{pairs:?}");
        }
        assert_eq!(status(Target::Page, &[here, ("sec-fetch-site", "cross-site")]), 200);
        assert_eq!(status(Target::Page, &[("host", "evil.example")]), 421);
    }

    #[test]
    fn a_page_is_what_a_browser_opens() {
        let is_asset = |path: &str| path == "/app.js";
        let html = headers(&[("accept", "text/html,*/*;q=0.8")]);
        for (wanted, method, path) in [
            (Target::Page, Method::GET, "/"),
            (Target::Page, Method::GET, "/fleet/ada"),
            (Target::Asset, Method::GET, "/app.js"),
            (Target::Asset, Method::POST, "/fleet/ada"),
            (Target::Answer, Method::GET, "/api/v1/state"),
            (Target::Answer, Method::GET, "/api"),
        ] {
            assert_eq!(target(&method, path, &html, is_asset), wanted, "{method} {path}");
        }
        assert_eq!(target(&Method::GET, "/x.js", &headers(&[]), is_asset), Target::Asset);
    }
}

//! The service: a request comes through the guard to its route or to a file, and gets the answer of a command.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;

use crate::cli::served::run_action::Answered;
use crate::model::interrupt::unpoisoned;
use crate::model::{Code, Error, Result};

use super::answer::{self, Reply};
use super::files::INDEX;
use super::guard::{self, Refusal, Target};
use super::login::Attempt;
use super::requests::{self, RouteRequest};
use super::routes::{BASE, ROUTES, Route, RouteAnswer};
use super::server::{Dashboard, MAX_FETCHES, about_routes};
use super::shapes::Shape;
use super::{colonies, maps, operation_routes, repo_map, shapes, stream, trains};

/// Returns the service of all routes.
pub(super) fn app(dashboard: &Arc<Dashboard>) -> Router {
    let mut router = Router::new();
    for route in ROUTES.iter() {
        let (method, pattern) = route.method_and_pattern();
        let filter = match method {
            "POST" => MethodFilter::POST,
            "PUT" => MethodFilter::PUT,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        };
        let handler = move |State(dashboard): State<Arc<Dashboard>>,
                            params: RawPathParams,
                            request: Request| async move {
            let params = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            let handled = dashboard.handle(route, params.collect(), request).await;
            handled.unwrap_or_else(answer::refused)
        };
        router = router.route(&format!("{BASE}{pattern}"), on(filter, handler));
    }
    router
        .fallback(file)
        .method_not_allowed_fallback(method_refused)
        .layer(from_fn_with_state(Arc::clone(dashboard), guarded))
        .with_state(Arc::clone(dashboard))
}

/// The checks before all others, and the headers after all others.
async fn guarded(
    State(dashboard): State<Arc<Dashboard>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let is_asset = |path: &str| dashboard.files.has(path);
    let target = guard::target(request.method(), &path, request.headers(), is_asset);
    let mut response = match guard::require_here(request.headers(), target) {
        Ok(()) => next.run(request).await,
        Err(refusal) => answer::refused(refusal),
    };
    answer::protect(response.headers_mut());
    response
}

async fn method_refused(request: Request) -> Response {
    answer::refused(guard::method_refused(request.method(), request.uri().path()))
}

/// Answers with a file of the page, or with the page.
async fn file(State(dashboard): State<Arc<Dashboard>>, request: Request) -> Response {
    let path = request.uri().path();
    let is_asset = |path: &str| dashboard.files.has(path);
    let wanted = match guard::target(request.method(), path, request.headers(), is_asset) {
        Target::Page => Some(INDEX),
        Target::Asset => Some(path),
        Target::Answer => None,
    };
    let Some(file) = wanted.and_then(|wanted| dashboard.files.find(wanted)) else {
        return answer::refused(guard::not_found(path));
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = answer::refused(guard::method_refused(request.method(), path));
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET,HEAD"));
        return response;
    }
    let is_known =
        request.headers().get(IF_NONE_MATCH).is_some_and(|known| known == file.tag.as_str());
    let body = if is_known { Body::empty() } else { Body::from(file.bytes) };
    let mut response = Response::new(body);
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.extend(HeaderValue::from_str(&file.tag).ok().map(|tag| (ETAG, tag)));
    response
}

/// Answers a route.
fn answered(dashboard: &Dashboard, route: &'static Route, asked: RouteRequest) -> Reply {
    let reply = match route.by {
        RouteAnswer::Code(shape) => shaped(dashboard, route, shape, asked),
        RouteAnswer::Command | RouteAnswer::Login | RouteAnswer::Stream => {
            dashboard.run(route, asked).map(Reply::from)
        }
    };
    reply.unwrap_or_else(|error| about_routes(Answered::of_error(&error)).into())
}

fn shaped(
    dashboard: &Dashboard,
    route: &'static Route,
    shape: Shape,
    asked: RouteRequest,
) -> Result<Reply> {
    match shape {
        Shape::State => shapes::state(dashboard, route, asked),
        Shape::Colonies => colonies::list(dashboard, route, asked),
        Shape::NewColony => colonies::create(dashboard, route, asked),
        Shape::ShowColony => colonies::show(dashboard, route, asked),
        Shape::SaveColony => colonies::save(dashboard, route, asked),
        Shape::Map => repo_map::show(dashboard, route, asked),
        Shape::Tree => repo_map::tree(dashboard, route, asked),
        Shape::MapPreview => repo_map::preview(dashboard, route, asked),
        Shape::StartMap => maps::start(dashboard, route, asked),
        Shape::StartTrain(kind) => trains::start(dashboard, route, kind, asked),
        Shape::Operations(kind) => Ok(operation_routes::list(dashboard, kind)),
        Shape::ShowOperation(kind) => operation_routes::show(dashboard, kind, &asked),
        Shape::CancelOperation(kind) => operation_routes::cancel(dashboard, kind, &asked),
        Shape::Scopes => shapes::scopes(dashboard, route, asked),
        Shape::Pages => shapes::pages(dashboard, route, asked),
        Shape::WorkingSet => shapes::working_set(dashboard, route, asked),
        Shape::Diff => shapes::diff(dashboard, route, asked),
    }
}

impl Dashboard {
    /// Answers a request to a route.
    async fn handle(
        self: Arc<Dashboard>,
        route: &'static Route,
        params: Vec<(String, String)>,
        request: Request,
    ) -> std::result::Result<Response, Refusal> {
        let (parts, body) = request.into_parts();
        let is_login = matches!(route.by, RouteAnswer::Login);
        let client = if is_login { String::new() } else { self.client(&parts.headers)? };
        let has_body = matches!(parts.method, Method::POST | Method::PUT);
        requests::require_one_place(has_body, &parts.uri, &body)?;
        let mut given = if has_body {
            guard::require_json(&parts.headers)?;
            requests::members(body).await?
        } else {
            requests::queried(&self.grammar, route, &parts.uri)?
        };
        for (name, value) in params {
            given.insert(name, value.into());
        }
        if is_login {
            return Ok(self.log_in(&given).await);
        }
        let mut asked = match requests::asked(&self.grammar, route, client, given) {
            Ok(asked) => asked,
            Err(error) => return Ok(reply(error.into())),
        };
        let fetches = match self.fetch(route, &asked) {
            Ok(permit) => permit,
            Err(error) => return Ok(reply(error.into())),
        };
        if self.about.read_only && !route.only_reads() && !asked.dry_run {
            return Err(guard::read_only());
        }
        if matches!(route.by, RouteAnswer::Stream) && stream::is_wanted(&parts.headers) {
            let since = asked.text("since").map(str::to_owned);
            return Ok(stream::open(&self, asked.client, since));
        }
        let (call, turn) = match self.calls.begin() {
            Ok(call) if route.only_reads() => (call, None),
            Ok(call) => (call, Some(self.calls.turn().await)),
            Err(error) => return Ok(reply(error.into())),
        };
        asked.interrupt = call.interrupt.clone();
        // The login may have ended while the body came, or while the call waited.
        self.client(&parts.headers)?;
        let work = tokio::task::spawn_blocking(move || {
            let reply = answered(&self, route, asked);
            drop(turn);
            drop(fetches);
            reply
        });
        let done = work.await.map_err(|error| {
            let message = format!("the call ended unexpectedly: {error}");
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Io, message)
        });
        call.end();
        Ok(with_tag(done?, &parts))
    }

    /// Lets few calls at once wait for the network: a server that never answers holds none of the others up.
    fn fetch(&self, route: &Route, asked: &RouteRequest) -> Result<Option<OwnedSemaphorePermit>> {
        let may_fetch =
            matches!(route.by, RouteAnswer::Code(Shape::Map | Shape::Tree | Shape::MapPreview));
        if !may_fetch || !asked.arguments.contains_key("origin_url") {
            return Ok(None);
        }
        let permit = Arc::clone(&self.fetches).try_acquire_owned().map_err(|_| {
            let message = format!("{MAX_FETCHES} calls wait for other repositories, the maximum");
            Error::new(Code::ServerBusy, message).unchanged()
        });
        permit.map(Some)
    }

    /// Returns who sent a request.
    fn client(&self, headers: &HeaderMap) -> std::result::Result<String, Refusal> {
        let token = guard::bearer(headers)
            .ok_or_else(|| guard::login_required("the request has no token"))?;
        unpoisoned(&self.logins)
            .client_of(token)
            .ok_or_else(|| guard::login_required("the token is not one of this dashboard"))
    }

    async fn log_in(&self, given: &Map<String, Value>) -> Response {
        let code = given.get("code").and_then(Value::as_str).unwrap_or_default();
        let world = &self.place.world;
        let attempt = unpoisoned(&self.logins).log_in(code, world, Instant::now());
        match attempt {
            Attempt::In(token) => {
                // The terminal may be closed; then the server is about to end.
                self.narrate
                    .send("a browser has logged in; x and Enter: end all logins".to_owned())
                    .ok();
                let mut object = self.about.members();
                object.insert("token".to_owned(), token.into());
                answer::json(StatusCode::OK, object)
            }
            Attempt::Wrong(delay) => {
                tokio::time::sleep(delay).await;
                answer::refused(guard::login_required(
                    "the code is wrong, too old, or was used before",
                ))
            }
        }
    }
}

fn reply(reply: Reply) -> Response {
    answer::json(reply.status, reply.object)
}

/// Answers a read with the digest of its answer, or with that alone if the client has the answer.
fn with_tag(reply: Reply, parts: &Parts) -> Response {
    let is_read = matches!(parts.method, Method::GET | Method::HEAD);
    if !is_read || reply.status != StatusCode::OK {
        return answer::json(reply.status, reply.object);
    }
    let text = Value::Object(reply.object).to_string();
    let digest = blake3::hash(text.as_bytes());
    let tag = format!("\"{}\"", digest.to_hex().get(..32).unwrap_or_default());
    let is_known = parts.headers.get(IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let mut response = if is_known {
        answer::of_text(StatusCode::NOT_MODIFIED, String::new())
    } else {
        answer::of_text(StatusCode::OK, text)
    };
    response.headers_mut().extend(HeaderValue::from_str(&tag).ok().map(|tag| (ETAG, tag)));
    response
}

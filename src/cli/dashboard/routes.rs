//! The table of routes: method and pattern, the command that answers, what it takes. docs/dashboard.md and the tests read
//! it. An answer is what `--json` of the command prints; a route with code of its own says what differs there.

use std::sync::LazyLock;

use crate::cli::actions::Effect::{self, Adds, Destroys, Reads};
use crate::cli::actions::How::{Number, Text};
use crate::cli::actions::{Action, Group, Takes, as_arg, how, same};

use super::operation::Kind;
use super::shapes::Shape;

/// What all routes begin with.
pub(super) const BASE: &str = "/api/v1";

/// One route.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// Its name, as in `GET /fleet`; its command, and the arguments of that.
    pub(super) action: Action,
    /// The other arguments, which its own code takes.
    pub(super) own: &'static [&'static str],
    /// What answers.
    pub(super) by: RouteAnswer,
}

/// What answers a route.
#[derive(Clone, Copy, Debug)]
pub(super) enum RouteAnswer {
    /// The command alone.
    Command,
    /// The command, and code around it.
    Code(Shape),
    /// The exchange of a code for a token.
    Login,
    /// The command; as a stream if the client accepts one.
    Stream,
}

impl Route {
    /// Returns the method and the pattern.
    pub(super) fn method_and_pattern(&self) -> (&'static str, &'static str) {
        self.action.name.split_once(' ').unwrap_or(("GET", self.action.name))
    }

    /// Returns `true` if it changes nothing.
    pub(super) fn only_reads(&self) -> bool {
        self.action.effect == Reads
    }

    /// Returns its row in the documentation.
    pub(super) fn documented(&self) -> String {
        let (_, pattern) = self.method_and_pattern();
        let is_in_path = |name: &&str| pattern.contains(&format!("{{{name}}}"));
        let all = self.action.takes.iter().map(|takes| takes.name).chain(self.own.iter().copied());
        let names: Vec<_> =
            all.filter(|name| !is_in_path(name)).map(|name| format!("`{name}`")).collect();
        let star = if self.action.effect.may_need_preview() { " *" } else { "" };
        let command = match self.by {
            RouteAnswer::Login => "the token and what the server is about".to_owned(),
            RouteAnswer::Command | RouteAnswer::Stream => format!("`{}`", self.action.command),
            RouteAnswer::Code(_) => format!("`{}`, and more", self.action.command),
        };
        format!("| `{}`{star} | {} | {command} |", self.action.name, names.join(", "))
    }

    fn with(self, own: &'static [&'static str], by: RouteAnswer) -> Route {
        Route { own, by, ..self }
    }
}

fn route(name: &'static str, effect: Effect, command: &'static str, takes: &[Takes]) -> Route {
    let action = Action {
        name,
        group: Group::Repository,
        effect,
        command,
        takes: takes.to_vec(),
        about: None,
    };
    Route { action, own: &[], by: RouteAnswer::Command }
}

/// The repository of a map, and its state.
const OF_URL: [Takes; 5] =
    [as_arg("origin_url", "url"), same("branch"), same("commit"), same("rev"), same("offline")];

/// Whether another repository is fetched though its hub has it.
const FRESH: &[&str] = &["fresh"];

/// Every route.
pub(super) static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let mut all =
        vec![route("POST /login", Reads, "version", &[]).with(&["code"], RouteAnswer::Login)];
    all.extend(of_colonies());
    all.extend(of_the_map());
    all.extend(of_operations());
    all.extend(of_pages());
    all.extend(of_knowledge());
    all.extend(of_search());
    all.extend(of_work());
    all.extend(of_states());
    all
});

fn of_colonies() -> Vec<Route> {
    let recorded = [
        how("id", Text("name_and_url")).required(),
        how("origin_url", Text("name_and_url")).required(),
        same("branch"),
        same("commit"),
    ];
    vec![
        route("GET /state", Reads, "status", &[]).with(&[], RouteAnswer::Code(Shape::State)),
        route("GET /colonies", Reads, "clones colony list", &[])
            .with(&[], RouteAnswer::Code(Shape::Colonies)),
        route("POST /colonies", Adds, "clones colony set", &recorded)
            .with(&[], RouteAnswer::Code(Shape::NewColony)),
        route(
            "GET /colonies/{id}/design-monorepo",
            Reads,
            "clones colony show",
            &[as_arg("id", "name")],
        )
        .with(&[], RouteAnswer::Code(Shape::ShowColony)),
        route("PUT /colonies/{id}/design-monorepo", Adds, "clones colony set", &recorded)
            .with(&[], RouteAnswer::Code(Shape::SaveColony)),
        route("GET /sessions", Reads, "session list", &[same("all")]),
        route("POST /sessions", Adds, "session new", &[same("plan")]),
        route("POST /sessions/{id}/end", Adds, "session end", &[same("id")]),
    ]
}

fn of_the_map() -> Vec<Route> {
    let [url, branch, commit, rev, offline] = OF_URL;
    let sources = how("enabled_sources", crate::cli::actions::How::As("sources"));
    vec![
        route("GET /repo-map", Reads, "map show", &[url, branch, commit, rev, offline])
            .with(FRESH, RouteAnswer::Code(Shape::Map)),
        route(
            "GET /repo-map/tree",
            Reads,
            "map tree",
            &[
                url,
                branch,
                commit,
                rev,
                offline,
                how("max_nodes", Number("max_nodes", Some(5000))),
                how("max_depth", Number("max_depth", Some(8))),
                same("tokens"),
            ],
        )
        .with(FRESH, RouteAnswer::Code(Shape::Tree)),
        route(
            "POST /repo-map/preview",
            Reads,
            "map preview",
            &[url, branch, commit, rev, offline, as_arg("base_scope_id", "base_scope"), sources],
        )
        .with(FRESH, RouteAnswer::Code(Shape::MapPreview)),
        route(
            "POST /vcm/map",
            Adds,
            "map",
            &[
                url,
                branch,
                commit,
                rev,
                offline,
                as_arg("base_scope_id", "base_scope"),
                sources,
                same("worktree"),
            ],
        )
        .with(FRESH, RouteAnswer::Code(Shape::StartMap)),
    ]
}

fn of_operations() -> Vec<Route> {
    let (all, maps) = (None, Some(Kind::Map));
    vec![
        operation("GET /operations", Reads, Shape::Operations(all)),
        operation("GET /operations/{op_id}", Reads, Shape::ShowOperation(all)),
        operation("DELETE /operations/{op_id}", Adds, Shape::CancelOperation(all)),
        operation("GET /vcm/map/operations", Reads, Shape::Operations(maps)),
        operation("GET /vcm/map/operations/{op_id}", Reads, Shape::ShowOperation(maps)),
        operation("DELETE /vcm/map/operations/{op_id}", Adds, Shape::CancelOperation(maps)),
    ]
}

/// A route about operations, whose answers no command has.
fn operation(name: &'static str, effect: Effect, shape: Shape) -> Route {
    let own: &[_] = if name.ends_with("{op_id}") { &["op_id"] } else { &[] };
    route(name, effect, "map", &[]).with(own, RouteAnswer::Code(shape))
}

fn of_pages() -> Vec<Route> {
    let page_ids = as_arg("page_ids", "ids").required();
    vec![
        route("GET /vcm/scopes", Reads, "map scopes", &[])
            .with(&[], RouteAnswer::Code(Shape::Scopes)),
        route("DELETE /vcm/scopes/{id}", Adds, "map scopes unmap", &[same("id")]),
        route(
            "GET /vcm/pages",
            Reads,
            "pages",
            &[
                how("limit", Number("limit", Some(20_000))),
                same("offset"),
                same("scope"),
                same("source"),
                same("path"),
            ],
        )
        .with(&[], RouteAnswer::Code(Shape::Pages)),
        route("GET /vcm/pages/{id}", Reads, "pages show --neighbours", &[how("id", Text("ids"))]),
        route("GET /vcm/stats", Reads, "pages stats", &[same("scope")]),
        route("GET /vcm/working-set", Reads, "pages resident", &[])
            .with(&["agent"], RouteAnswer::Code(Shape::WorkingSet)),
        route(
            "GET /vcm/graph",
            Reads,
            "pages graph",
            &[same("scope"), how("max_nodes", Number("max_nodes", Some(5000)))],
        ),
        route(
            "POST /vcm/pages/lock",
            Adds,
            "pages lock",
            &[page_ids, as_arg("ttl_s", "ttl"), same("reason")],
        ),
        route("POST /vcm/pages/unlock", Adds, "pages unlock", &[page_ids]),
        route(
            "POST /vcm/pages/extend",
            Adds,
            "pages extend",
            &[as_arg("page_id", "id").required(), as_arg("additional_s", "by").required()],
        ),
    ]
}

fn of_knowledge() -> Vec<Route> {
    let paths = same("paths").required();
    vec![
        route("GET /knowledge", Reads, "knowledge", &[]),
        route("POST /ingest", Adds, "knowledge ingest", &[same("paths")]),
        route(
            "DELETE /knowledge",
            Adds,
            "knowledge clear",
            &[how("row", Number("row", None)), as_arg("source", "sources"), same("prefix")],
        ),
        route("POST /promote", Adds, "knowledge promote", &[paths]),
        route("POST /demote", Adds, "knowledge demote", &[paths]),
        route("GET /watches", Reads, "watch list", &[]),
        route(
            "POST /watches",
            Adds,
            "watch --detach",
            &[
                as_arg("scope_id", "scope").required(),
                same("paths"),
                same("on_change"),
                as_arg("debounce_seconds", "debounce"),
                as_arg("watch_id", "id"),
            ],
        ),
        route("DELETE /watches/{id}", Adds, "watch stop", &[same("id")]),
        route(
            "GET /events",
            Reads,
            "events --all",
            &[
                same("since"),
                as_arg("key", "keys"),
                same("scope"),
                how("limit", Number("limit", Some(100))),
            ],
        )
        .with(&[], RouteAnswer::Stream),
    ]
}

fn of_search() -> Vec<Route> {
    vec![
        route(
            "GET /search",
            Reads,
            "search",
            &[
                how("q", Text("query")).required(),
                as_arg("in", "origin"),
                same("path"),
                how("limit", Number("limit", Some(20))),
            ],
        ),
        route(
            "GET /context",
            Reads,
            "context",
            &[
                as_arg("q", "question").required(),
                how("budget", Number("budget", Some(4096))),
                as_arg("in", "origin"),
                same("path"),
            ],
        ),
        route("GET /context/stats", Reads, "context stats", &[]),
    ]
}

fn of_work() -> Vec<Route> {
    let name = same("name");
    let names = same("names");
    let (into, all, except) = (as_arg("target_branch", "into"), same("all"), same("except"));
    vec![
        route("GET /fleet", Reads, "fleet", &[]),
        route("GET /agents", Reads, "agents", &[]),
        route("GET /agents/{name}/log", Reads, "log", &[name]),
        route("POST /agents", Adds, "agents new", &[name.required(), same("from")]),
        route("POST /agents/{name}/remove", Destroys, "agents remove", &[name]),
        route("POST /agents/{name}/restore", Adds, "agents restore", &[name]),
        route(
            "GET /diff",
            Reads,
            "diff",
            &[
                as_arg("a", "from"),
                as_arg("b", "to"),
                same("worktree"),
                same("patch"),
                as_arg("path", "paths"),
            ],
        )
        .with(&["since_left"], RouteAnswer::Code(Shape::Diff)),
        route(
            "POST /merge",
            Adds,
            "merge",
            &[
                same("source").required(),
                same("into"),
                same("squash"),
                same("message"),
                same("ours"),
                same("theirs"),
                same("both"),
            ],
        ),
        route("POST /land", Destroys, "land", &[names, into, same("squash"), all, except])
            .with(&[], RouteAnswer::Code(Shape::StartTrain(Kind::Land))),
        route("POST /try", Adds, "try", &[names, into, all, except])
            .with(&[], RouteAnswer::Code(Shape::StartTrain(Kind::Try))),
        route("GET /decisions", Reads, "decisions", &[same("limit"), as_arg("path", "paths")]),
    ]
}

fn of_states() -> Vec<Route> {
    let steps = how("steps", Number("steps", None));
    vec![
        route("GET /checkpoints", Reads, "checkpoints", &[same("auto")]),
        route(
            "POST /checkpoints",
            Adds,
            "checkpoint",
            &[same("label").required(), same("rationale"), same("off_branch")],
        ),
        route("GET /ops", Reads, "ops", &[how("limit", Number("limit", Some(200)))]),
        route("GET /ops/{op}", Reads, "ops show", &[as_arg("op", "id")]),
        route(
            "POST /restore",
            Destroys,
            "restore",
            &[
                as_arg("checkpoint_id", "name").required(),
                same("mode"),
                same("label"),
                same("keep_untracked"),
                same("force"),
                same("paths"),
            ],
        ),
        route("POST /undo", Destroys, "undo", &[steps, same("force")]),
        route("POST /redo", Destroys, "redo", &[steps, same("force")]),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_route_is_made_of_arguments_of_the_grammar() {
        let grammar = crate::cli::grammar::built();
        let mut names = BTreeSet::new();
        for route in ROUTES.iter() {
            assert!(names.insert(route.action.name), "'{}' is there twice", route.action.name);
            // It names what the grammar does not have.
            crate::cli::actions::input_schema(&grammar, &route.action);
            let (method, _) = route.method_and_pattern();
            assert!(["GET", "POST", "PUT", "DELETE"].contains(&method), "{method}");
            assert!(method != "GET" || route.only_reads(), "{}", route.action.name);
        }
    }

    #[test]
    fn no_route_takes_what_only_a_person_at_a_shell_decides() {
        let personal = [
            "approve",
            "allow_secret",
            "takeover",
            "allow_unscoped",
            "run",
            "push",
            "allow_large",
            "no_test",
            "test",
            "command",
        ];
        for route in ROUTES.iter() {
            for takes in &route.action.takes {
                assert!(!personal.contains(&takes.name), "{} {}", route.action.name, takes.name);
            }
            let words: Vec<_> = route.action.command.split(' ').collect();
            for never in ["hooks", "config", "prune", "deinit", "sync", "cargo", "git", "lfs"] {
                assert!(!words.contains(&never), "{}", route.action.name);
            }
        }
    }
}

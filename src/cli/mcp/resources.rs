//! Resources: checkpoints, decisions, scopes and pages, as the commands answer about each. Pages are listed scope by
//! scope: no listing holds all of them at once.

use std::ffi::OsString;

use rmcp::model::{
    ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::{Map, Value};

use crate::cli::served::run_action::{Own, Place};
use crate::store::key;

/// How many resources are listed at once.
const PAGE: usize = 50;

const JSON: &str = "application/json";

/// A kind of resource.
struct Kind {
    name: &'static str,
    /// The command that lists all of it, and the member of its answer that has the list.
    list: &'static [&'static str],
    member: &'static str,
    /// The member of an item that is its id, and the one that tells it to people.
    id: &'static str,
    title: &'static str,
    /// The command that shows one.
    show: &'static [&'static str],
}

static KINDS: [Kind; 4] = [
    Kind {
        name: "checkpoint",
        list: &["checkpoints"],
        member: "checkpoints",
        id: "checkpoint_id",
        title: "label",
        show: &["checkpoints", "show"],
    },
    Kind {
        name: "decision",
        list: &["decisions", "--limit=10000"],
        member: "decisions",
        id: "decision_id",
        title: "title",
        show: &["decisions", "show"],
    },
    Kind {
        name: "scope",
        list: &["map", "scopes"],
        member: "mappings",
        id: "scope_id",
        title: "source_type",
        show: &["map", "scopes", "show"],
    },
    Kind {
        name: "page",
        list: &["pages", "--no-records"],
        member: "pages",
        id: "page_id",
        title: "scope_id",
        show: &["pages", "show"],
    },
];

/// Resources that one command lists: all of a kind, or the pages of a scope.
struct Source {
    kind: &'static Kind,
    scope: Option<String>,
}

/// Lists some resources, from where the cursor stands.
pub(super) fn list(
    place: &Place,
    cursor: Option<&str>,
    own: &Own,
) -> Result<ListResourcesResult, ErrorData> {
    let sources = sources(place, own);
    let (mut at, mut from) = match cursor {
        None => (0, 0),
        Some(cursor) => position(cursor, &sources)
            .ok_or_else(|| ErrorData::invalid_params("unknown cursor", None))?,
    };
    let mut resources = Vec::new();
    while let Some(source) = sources.get(at) {
        let items = source.items(place, own, from);
        let some = items.iter().take(PAGE - resources.len());
        let listed = resources.len();
        resources.extend(some.filter_map(|item| source.kind.resource(item)));
        if resources.len() == PAGE {
            from += PAGE - listed;
            break;
        }
        (at, from) = (at + 1, 0);
    }
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = sources.get(at).map(|source| format!("{}:{from}", source.name()));
    Ok(result)
}

/// Returns all sources, in the order of the kinds.
fn sources(place: &Place, own: &Own) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for kind in &KINDS {
        if kind.name != "page" {
            sources.push(Source { kind, scope: None });
            continue;
        }
        // The source before is that of the scopes.
        let scopes = sources.last().map_or_else(Vec::new, |scopes| scopes.items(place, own, 0));
        let ids = scopes.iter().filter_map(|item| item.get("scope_id")?.as_str());
        sources.extend(ids.map(|id| Source { kind, scope: Some(id.to_owned()) }));
    }
    sources
}

/// Returns the shapes of the addresses.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |kind: &Kind| {
        ResourceTemplate::new(format!("colony://{}/{{id}}", kind.name), kind.name)
            .with_mime_type(JSON)
    };
    KINDS.iter().map(template).collect()
}

/// Reads one: what the command answers that shows it.
pub(super) fn read(place: &Place, uri: &str, own: Own) -> Result<ReadResourceResult, ErrorData> {
    let missing = || ErrorData::resource_not_found("no resource has that address", None);
    let rest = uri.strip_prefix("colony://").ok_or_else(missing)?;
    let (name, id) = rest.split_once('/').ok_or_else(missing)?;
    let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(missing)?;
    let id = key::decode(id).ok_or_else(missing)?;
    let mut words: Vec<OsString> = kind.show.iter().map(OsString::from).collect();
    words.extend(["--".into(), id.into()]);
    let shown = place.run(words, None, own);
    if shown.is_failure() {
        return Err(missing());
    }
    let text = Value::Object(shown.object).to_string();
    let contents = ResourceContents::text(text, uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

impl Kind {
    fn resource(&self, item: &Map<String, Value>) -> Option<Resource> {
        let text = |member: &str| item.get(member).and_then(Value::as_str);
        let id = text(self.id)?;
        let uri = format!("colony://{}/{}", self.name, key::encode(id));
        let mut resource = Resource::new(uri, id).with_mime_type(JSON);
        resource.title = text(self.title).map(crate::model::escape::line);
        Some(resource)
    }
}

impl Source {
    /// Returns the items from a number on; of pages only some.
    fn items(&self, place: &Place, own: &Own, from: usize) -> Vec<Map<String, Value>> {
        let mut words: Vec<OsString> = self.kind.list.iter().map(OsString::from).collect();
        let mut skipped = from;
        if let Some(scope) = &self.scope {
            let bounds = [format!("--scope={scope}"), format!("--offset={from}")];
            words.extend(bounds.map(OsString::from));
            words.push(format!("--limit={PAGE}").into());
            skipped = 0;
        }
        let own = Own { interrupt: own.interrupt.clone(), ..Own::default() };
        let mut listed = place.run(words, None, own).object;
        let Some(Value::Array(items)) = listed.remove(self.kind.member) else {
            return Vec::new();
        };
        items.into_iter().skip(skipped).map(crate::cli::served::run_action::as_object).collect()
    }

    /// Returns the name that a cursor has.
    fn name(&self) -> String {
        let scope = self.scope.iter().map(|scope| format!("/{}", key::encode(scope)));
        self.kind.name.to_owned() + &scope.collect::<String>()
    }
}

/// Reads a cursor.
fn position(cursor: &str, sources: &[Source]) -> Option<(usize, usize)> {
    let (name, from) = cursor.rsplit_once(':')?;
    let at = sources.iter().position(|source| source.name() == name)?;
    Some((at, from.parse().ok()?))
}

//! A row of the catalog: one repository, as it is written.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::git::remote::url::{Provenance, RemoteUrl, redact, redact_refused};
use crate::model::text::Position;
use crate::store::yaml::{Node, Placed};
use crate::store::yaml_problem::quoted;
use crate::store::yaml_reading::{Fields, Reader, Word};

/// The keys of a row.
pub(super) const ROW_KEYS: &[&str] = &[
    "repository_id",
    "display_name",
    "root_path",
    "origin_url",
    "provider",
    "default_ref",
    "access_mode",
    "capabilities",
    "remote",
    "metadata",
];

/// The keys of `remote`.
pub(super) const REMOTE_KEYS: &[&str] = &[
    "mcp_url",
    "git_host_api_base",
    "git_host_owner",
    "git_host_repo",
    "search_service_url",
    "search_namespace",
];

/// How a repository is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessMode {
    /// A checkout on this machine.
    #[default]
    Local,
    /// A server of the Model Context Protocol.
    RemoteMcp,
    /// A git host.
    RemoteGitHost,
    /// A search service.
    RemoteSearchService,
}

/// What a repository may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// The text of a file.
    ReadFile,
    /// The list of its files.
    ListFiles,
    /// Lines that match.
    TextSearch,
    /// Passages about a question.
    SemanticSearch,
    /// Commits.
    HistorySearch,
}

const MODES: &[(&str, AccessMode)] = &[
    ("local", AccessMode::Local),
    ("remote_mcp", AccessMode::RemoteMcp),
    ("remote_git_host", AccessMode::RemoteGitHost),
    ("remote_search_service", AccessMode::RemoteSearchService),
];

const CAPABILITIES: &[(&str, Capability)] = &[
    ("read_file", Capability::ReadFile),
    ("list_files", Capability::ListFiles),
    ("text_search", Capability::TextSearch),
    ("semantic_search", Capability::SemanticSearch),
    ("history_search", Capability::HistorySearch),
];

impl AccessMode {
    /// Returns the word of the file.
    pub fn as_str(self) -> &'static str {
        let mut words = MODES.iter();
        words.find(|(_, mode)| *mode == self).map_or("", |(word, _)| word)
    }

    /// Returns what a repository may be asked for if its row does not say.
    pub fn usual_capabilities(self) -> Vec<Capability> {
        use Capability as C;
        match self {
            AccessMode::Local => vec![C::ReadFile, C::ListFiles, C::TextSearch, C::HistorySearch],
            AccessMode::RemoteMcp => vec![C::ReadFile, C::ListFiles, C::TextSearch],
            AccessMode::RemoteGitHost => vec![C::HistorySearch],
            AccessMode::RemoteSearchService => vec![C::TextSearch, C::SemanticSearch],
        }
    }
}

impl Capability {
    /// Returns the word of the file.
    pub fn as_str(self) -> &'static str {
        let mut words = CAPABILITIES.iter();
        words.find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }
}

/// Where a repository is, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// Its root as the row has it, relative to that of the workspace, or absolute.
    pub root_path: Option<String>,
    /// The URL of its origin, without credentials: as found, else as declared.
    pub origin_url: Option<String>,
    /// The host: as declared, else as found.
    pub provider: Option<String>,
    /// The branch or revision that is meant first.
    pub default_ref: Option<String>,
    /// How it is reached.
    pub access_mode: AccessMode,
    /// What it may be asked for.
    pub capabilities: Vec<Capability>,
    /// Where an adapter finds it, without credentials.
    pub remote: Map<String, Value>,
    /// What others note about it, without credentials.
    pub metadata: Value,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestRow {
    /// The id that the row declares.
    pub repository_id: Option<String>,
    /// Its name for people.
    pub display_name: Option<String>,
    /// Where it is, as declared.
    pub access: Access,
    /// The beginning of the row in the file.
    pub at: Position,
}

impl ManifestRow {
    /// Returns the row of the workspace itself.
    pub(super) fn of_workspace() -> ManifestRow {
        ManifestRow {
            repository_id: None,
            display_name: Some("this repository".to_owned()),
            access: Access {
                root_path: Some(".".to_owned()),
                origin_url: None,
                provider: None,
                default_ref: None,
                access_mode: AccessMode::Local,
                capabilities: AccessMode::Local.usual_capabilities(),
                remote: Map::new(),
                metadata: Value::Null,
            },
            at: Position { line: 1, column: 1 },
        }
    }

    /// Reads a row; problems are reported.
    pub(super) fn read(reader: &mut Reader, value: &Placed) -> Option<ManifestRow> {
        let before = reader.problems.len();
        let fields = reader.fields(value, "a row of 'repositories'", ROW_KEYS)?;
        let access_mode = reader.optional_choice(&fields, "access_mode", MODES).unwrap_or_default();
        let row = ManifestRow {
            repository_id: short_text(reader, &fields, "repository_id", 256),
            display_name: short_text(reader, &fields, "display_name", 256),
            access: Access {
                root_path: short_text(reader, &fields, "root_path", 4096),
                origin_url: short_text(reader, &fields, "origin_url", 4096)
                    .map(|url| without_credentials(&url)),
                provider: short_text(reader, &fields, "provider", 128),
                default_ref: short_text(reader, &fields, "default_ref", 512),
                access_mode,
                capabilities: capabilities(reader, &fields)
                    .unwrap_or_else(|| access_mode.usual_capabilities()),
                remote: remote(reader, &fields),
                metadata: fields.find("metadata").map_or(Value::Null, plain),
            },
            at: fields.at,
        };
        (reader.problems.len() == before).then_some(row)
    }

    /// Returns the name to show: the given one, else the last part of path or URL, else the id.
    pub fn name(&self) -> String {
        let root = self.access.root_path.as_ref();
        let place = root.or(self.access.origin_url.as_ref());
        let name = self
            .display_name
            .clone()
            .or_else(|| last_part(place?))
            .or_else(|| self.repository_id.clone());
        name.unwrap_or_else(|| format!("row in line {}", self.at.line))
    }
}

/// Returns the last part of a path or URL, without `.git`.
pub(super) fn last_part(place: &str) -> Option<String> {
    let place = place.trim_end_matches('/');
    let last = place.rsplit(['/', ':']).next()?;
    let name = last.strip_suffix(".git").unwrap_or(last);
    (!matches!(name, "" | "." | "..")).then(|| name.to_owned())
}

/// Reads a text of one line with at most this many characters.
pub(super) fn short_text(
    reader: &mut Reader,
    fields: &Fields<'_>,
    key: &str,
    most: usize,
) -> Option<String> {
    let Word { text, at } = reader.text(fields, key)?;
    if text.is_empty() {
        reader.problem(at, format!("'{key}' is empty"));
    } else if text.chars().count() > most {
        reader.problem(at, format!("'{key}' has more than {most} characters"));
    } else if text.chars().any(char::is_control) {
        reader.problem(at, format!("'{key}' holds control characters"));
    }
    Some(text.to_owned())
}

fn capabilities(reader: &mut Reader, fields: &Fields<'_>) -> Option<Vec<Capability>> {
    let value = fields.find("capabilities")?;
    let Node::List(items) = &value.node else {
        let kind = value.node.kind();
        let message = format!("'capabilities' is {kind}, expected a list of words");
        reader.problem(value.position, message);
        return None;
    };
    let mut capabilities = Vec::new();
    for item in items {
        let Some(capability) = reader.choice(item, "capabilities", CAPABILITIES) else {
            continue;
        };
        if capabilities.contains(&capability) {
            let word = quoted(capability.as_str());
            reader.problem(item.position, format!("'capabilities' has {word} twice"));
        } else {
            capabilities.push(capability);
        }
    }
    (!items.is_empty()).then_some(capabilities)
}

fn remote(reader: &mut Reader, fields: &Fields<'_>) -> Map<String, Value> {
    let Some(value) = fields.find("remote") else {
        return Map::new();
    };
    let Some(inner) = reader.fields(value, "'remote'", REMOTE_KEYS) else {
        return Map::new();
    };
    let texts = REMOTE_KEYS.iter().filter_map(|key| {
        let text = short_text(reader, &inner, key, 4096)?;
        let is_url = key.ends_with("_url") || key.ends_with("_base");
        let text = if is_url { without_credentials(&text) } else { text };
        Some(((*key).to_owned(), Value::String(text)))
    });
    texts.collect()
}

/// Returns a value as plain data, with credentials of URLs left out.
fn plain(value: &Placed) -> Value {
    match &value.node {
        Node::Nothing | Node::Other(_) => Value::Null,
        Node::Text(text) => Value::String(redact(text)),
        Node::Truth(truth) => Value::Bool(*truth),
        Node::Integer(number) => i64::try_from(*number).map_or(Value::Null, Value::from),
        Node::Fraction(number) => Value::String(number.clone()),
        Node::List(items) => items.iter().map(plain).collect(),
        Node::Map(entries) => {
            let members = entries.iter().map(|(key, value)| {
                let key = match plain(key) {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                (key, plain(value))
            });
            Value::Object(members.collect())
        }
    }
}

/// Returns a URL of the file without user and password.
pub(super) fn without_credentials(url: &str) -> String {
    match RemoteUrl::parse(url, Provenance::Repository, Path::new("/")) {
        Ok(url) => url.without_credentials(),
        Err(_) => redact_refused(url),
    }
}

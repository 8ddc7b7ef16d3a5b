//! The rows of a repo map: sources, and the routing of files to the knowledge base.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::RefName;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::git::worktree::safe_path;
use crate::model::RepoPath;
use crate::source::selection::BinaryPolicy;
use crate::store::yaml::Placed;
use crate::store::yaml_problem::{YamlProblem, quoted};
use crate::store::yaml_reading::{Fields, Word};

use super::reading::MapReader;
use super::schema::ReadRow;
pub use super::source_kind::SourceKind;

/// The name of the only source in a repository without a map.
pub const DEFAULT_NAME: &str = "default";

/// The maximum length of a name: it becomes part of a scope id.
const MAX_NAME: usize = 100;

/// A row below `sources`. A missing key is `None`: it is inherited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceRow {
    /// Its name, unique in the map.
    pub name: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: SourceKind,
    /// Another repository, without credentials.
    pub origin_url: Option<String>,
    /// A submodule, by its path.
    pub submodule: Option<RepoPath>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit; `HEAD` is the tip of the branch.
    pub commit: Option<String>,
    /// The directory of the source; empty for the root.
    pub start_dir: Option<RepoPath>,
    /// The included files; an empty list includes none.
    pub include_globs: Option<Vec<String>>,
    /// The excluded files.
    pub exclude_globs: Option<Vec<String>>,
    /// The treatment of binary files.
    pub binary_policy: Option<BinaryPolicy>,
    /// Whether it stays at the commit of its first mapping.
    #[serde(rename = "static")]
    pub is_static: Option<bool>,
    /// The target size of a chunk of prose, in tokens.
    pub chunk_target_tokens: Option<u32>,
    /// The overlap of two chunks, in tokens.
    pub chunk_overlap_tokens: Option<u32>,
    /// The maximum number of records of a page.
    pub flush_threshold: Option<u32>,
    /// The maximum number of tokens of a page.
    pub flush_token_budget: Option<u32>,
    /// Whether its pages are never evicted.
    pub pinned: Option<bool>,
    /// The reason why this row cannot be mapped; other rows can.
    #[serde(default, skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub fault: Option<YamlProblem>,
}

/// The destination of files in a routing row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// The knowledge base.
    #[default]
    KnowledgeBase,
    /// A scope, by a row below `sources`: the knowledge base skips them.
    Vcm,
}

/// A row below `knowledge_routing`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteRow {
    /// Globs, relative to the root.
    pub paths: Vec<String>,
    /// The destination.
    pub ingest_to: Destination,
    /// The kind of document.
    pub profile: Option<String>,
}

pub(super) const SOURCE_KEYS: &[&str] = &[
    "name",
    "type",
    "origin_url",
    "submodule",
    "branch",
    "commit",
    "start_dir",
    "include_globs",
    "exclude_globs",
    "binary_policy",
    "static",
    "chunk_target_tokens",
    "chunk_overlap_tokens",
    "flush_threshold",
    "flush_token_budget",
    "pinned",
];

/// The keys whose values can be wrong in a valid file: the repository and the settings decide.
const PLACED_KEYS: &[&str] =
    &["type", "submodule", "branch", "commit", "start_dir", "chunk_overlap_tokens"];

pub(super) const ROUTE_KEYS: &[&str] = &["paths", "ingest_to", "profile"];

impl SourceRow {
    /// Returns a row with only a name and a type.
    pub fn new(name: &str, kind: SourceKind) -> SourceRow {
        SourceRow {
            name: name.to_owned(),
            kind,
            origin_url: None,
            submodule: None,
            branch: None,
            commit: None,
            start_dir: None,
            include_globs: None,
            exclude_globs: None,
            binary_policy: None,
            is_static: None,
            chunk_target_tokens: None,
            chunk_overlap_tokens: None,
            flush_threshold: None,
            flush_token_budget: None,
            pinned: None,
            fault: None,
        }
    }

    /// Reads a row, `None` if it has problems, and its name.
    pub(super) fn read<'a>(
        reader: &mut MapReader,
        value: &'a Placed,
    ) -> (Option<SourceRow>, Option<Word<'a>>) {
        let before = reader.yaml.problems.len();
        let Some(fields) = reader.yaml.fields(value, "a source", SOURCE_KEYS) else {
            return (None, None);
        };
        let name = reader
            .yaml
            .required(&fields, "name")
            .and_then(|name| reader.yaml.as_text(name, "name"));
        if let Some(name) = name {
            check_name(reader, name);
        }
        let kind =
            reader.yaml.required(&fields, "type").and_then(|kind| SourceKind::read(reader, kind));
        let start =
            SourceRow::new(name.map_or("", |name| name.text), kind.unwrap_or(SourceKind::GitRepo));
        let row = SourceRow {
            include_globs: reader.globs(&fields, "include_globs"),
            exclude_globs: reader.globs(&fields, "exclude_globs"),
            is_static: reader.yaml.truth(&fields, "static"),
            pinned: reader.yaml.truth(&fields, "pinned"),
            ..start
        }
        .with_place(reader, &fields)
        .with_knobs(reader, &fields);
        row.warn(reader, &fields);
        let place = |key| Some((key, fields.place_of_value(key)?));
        let places = PLACED_KEYS.iter().copied().filter_map(place).collect();
        reader.rows.push(ReadRow { row: row.clone(), at: fields.at, places });
        let sound = reader.yaml.problems.len() == before;
        (sound.then_some(row), name)
    }

    /// Reads the repository, commit and directory of a row.
    fn with_place(self, reader: &mut MapReader, fields: &Fields<'_>) -> SourceRow {
        let submodule = reader.yaml.text(fields, "submodule");
        let start_dir = reader.yaml.text(fields, "start_dir");
        let branch = reader.yaml.text(fields, "branch");
        let commit = reader.yaml.text(fields, "commit");
        for (key, word, prefix) in
            [("branch", branch, "refs/heads/"), ("commit", commit, "refs/tags/")]
        {
            let Some(word) = word else { continue };
            let name = RefName::from(format!("{prefix}{}", word.text).as_str());
            if !name.is_valid() || word.text.starts_with('-') {
                let text = quoted(word.text);
                let message = format!("'{key}' is {text}, which git does not accept as a {key}");
                reader.yaml.problem(word.at, message);
            }
        }
        let url = reader.yaml.text(fields, "origin_url");
        let both = url.and_then(|_| fields.place_of("submodule").filter(|_| submodule.is_some()));
        let parsed = url.map(|word| {
            let url = RemoteUrl::parse(word.text, Provenance::Repository, Path::new("/"));
            url.map_err(|error| YamlProblem::at(word.at, error.message()))
        });
        if let (Some(word), Some(Ok(url))) = (url, &parsed)
            && url.has_credentials()
        {
            let message = "'origin_url' contains credentials, which are ignored: everyone who can read the file can use them";
            reader.yaml.warn(word.at, message);
        }
        let (origin_url, refused) = match parsed {
            None => (None, None),
            Some(Ok(url)) => (Some(url.without_credentials()), None),
            // A malformed URL may contain a password: only the message repeats it, redacted.
            Some(Err(problem)) => (Some(String::new()), Some(problem)),
        };
        let both = both.map(|at| {
            let message = "'submodule' and 'origin_url' are mutually exclusive: this row has both";
            YamlProblem::at(at, message)
        });
        SourceRow {
            origin_url,
            submodule: submodule.and_then(|word| directory(reader, "submodule", word)),
            start_dir: start_dir.and_then(|word| directory(reader, "start_dir", word)),
            branch: branch.map(|word| word.text.to_owned()),
            commit: commit.map(|word| word.text.to_owned()),
            fault: both.or(refused),
            ..self
        }
    }

    fn with_knobs(self, reader: &mut MapReader, fields: &Fields<'_>) -> SourceRow {
        let binary = [("skip", BinaryPolicy::Skip), ("include", BinaryPolicy::Include)];
        let row = SourceRow {
            binary_policy: reader.yaml.optional_choice(fields, "binary_policy", &binary),
            chunk_target_tokens: reader.yaml.number(fields, "chunk_target_tokens", 16..=100_000),
            chunk_overlap_tokens: reader.yaml.number(fields, "chunk_overlap_tokens", 0..=99_999),
            flush_threshold: reader.yaml.number(fields, "flush_threshold", 1..=100_000),
            flush_token_budget: reader.yaml.number(fields, "flush_token_budget", 16..=10_000_000),
            ..self
        };
        if let (Some(target), Some(overlap)) = (row.chunk_target_tokens, row.chunk_overlap_tokens)
            && overlap >= target
            && let Some(at) = fields.place_of("chunk_overlap_tokens")
        {
            let message = format!(
                "'chunk_overlap_tokens' is {overlap}, expected less than 'chunk_target_tokens', {target}"
            );
            reader.yaml.problem(at, message);
        }
        row
    }

    /// Warns about keys of the row that have no effect.
    fn warn(&self, reader: &mut MapReader, fields: &Fields<'_>) {
        let idle: &[&str] = match self.kind {
            SourceKind::GitRepo => &["chunk_target_tokens", "chunk_overlap_tokens"],
            SourceKind::Literature => &["binary_policy"],
            SourceKind::Blackboard | SourceKind::Custom(_) => {
                &["binary_policy", "chunk_target_tokens", "chunk_overlap_tokens"]
            }
        };
        for key in idle {
            if let Some(at) = fields.place_of(key) {
                let kind = self.kind.name();
                reader.yaml.warn(at, format!("'{key}' has no effect on a source of type {kind}"));
            }
        }
        if let (Some(at), true) = (fields.place_of("commit"), self.submodule.is_some()) {
            let message = "'commit' has no effect: a submodule is at the commit the tree pins";
            reader.yaml.warn(at, message);
        }
        if let (Some(at), Some([])) =
            (fields.place_of("include_globs"), self.include_globs.as_deref())
        {
            let message = "'include_globs' is an empty list, which includes nothing: without the key everything is included";
            reader.yaml.warn(at, message);
        }
    }
}

impl RouteRow {
    pub(super) fn read(reader: &mut MapReader, value: &Placed) -> Option<RouteRow> {
        let before = reader.yaml.problems.len();
        let fields = reader.yaml.fields(value, "a row of 'knowledge_routing'", ROUTE_KEYS)?;
        let paths = reader
            .yaml
            .required(&fields, "paths")
            .and_then(|paths| reader.as_globs(paths, "paths"));
        if let (Some([]), Some(at)) = (paths.as_deref(), fields.place_of("paths")) {
            reader.yaml.warn(at, "'paths' is an empty list, which matches nothing");
        }
        let choices = [("knowledge_base", Destination::KnowledgeBase), ("vcm", Destination::Vcm)];
        let ingest_to = reader.yaml.optional_choice(&fields, "ingest_to", &choices);
        let profile = reader.yaml.text(&fields, "profile");
        if let Some(word) = profile
            && (word.text.trim().is_empty() || word.text.contains(char::is_control))
        {
            reader.yaml.problem(word.at, "'profile' is not a printable word");
        }
        let row = RouteRow {
            paths: paths.unwrap_or_default(),
            ingest_to: ingest_to.unwrap_or_default(),
            profile: profile.map(|word| word.text.to_owned()),
        };
        (reader.yaml.problems.len() == before).then_some(row)
    }
}

fn check_name(reader: &mut MapReader, name: Word<'_>) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let text = quoted(name.text);
    if name.text.is_empty() {
        reader.yaml.problem(name.at, "'name' is empty");
    } else if name.text.len() > MAX_NAME {
        let message = format!("name {text} is longer than {MAX_NAME} bytes");
        reader.yaml.problem(name.at, message);
    } else if matches!(name.text, "." | "..")
        || name.text.starts_with('-')
        || !name.text.bytes().all(plain)
    {
        let message = format!(
            "name {text} cannot be part of the id of a scope: expected letters, digits, '.', '_' and '-', no '-' first"
        );
        reader.yaml.problem(name.at, message);
    }
}

/// Reads a directory of a tree; `.` is the root.
fn directory(reader: &mut MapReader, key: &str, word: Word<'_>) -> Option<RepoPath> {
    let path = word.text.strip_suffix('/').unwrap_or(word.text);
    if key == "start_dir" && path == "." {
        return Some(RepoPath::default());
    }
    // A single slash is the root of the machine, not an empty path.
    let path = if path.is_empty() { word.text } else { path };
    match safe_path::refusal(path) {
        None => Some(RepoPath::from(path)),
        Some(why) => {
            let text = quoted(word.text);
            reader.yaml.problem(word.at, format!("'{key}' is {text}, which {why}"));
            None
        }
    }
}

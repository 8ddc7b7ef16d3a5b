//! `.colony/tool-registry.json`: the tools of a repository, and what each can do.
//!
//! Our own registry is read strictly, with line and column of a problem; in an imported one, a bad entry is
//! left out and reported. Its content is not trusted.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::git::Repo;
use crate::git::worktree::safe_open::MAX_RECORD_BYTES;
use crate::model::text::Position;
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _};

use super::json_text::{self, Edit as _};
use super::tool_entry::ToolEntry;

/// Its path, relative to the root.
pub const PATH: &str = ".colony/tool-registry.json";

/// The limit in bytes; a larger one is not read.
pub const MAX_BYTES: u64 = MAX_RECORD_BYTES;

/// The format this version writes and the newest it reads.
pub const FORMAT: u64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    #[expect(dead_code, reason = "looked at before, as a number of any size")]
    schema_version: u64,
    tools: Vec<ToolEntry>,
}

/// Parses a registry of ours.
pub fn parse(bytes: &[u8]) -> Result<Vec<ToolEntry>> {
    check_version(bytes)?;
    let strict: Strict = serde_json::from_slice(bytes).map_err(|error| invalid(&error))?;
    let tools = strict.tools;
    for (at, tool) in tools.iter().enumerate() {
        let same = |other: &ToolEntry| other.purpose == tool.purpose && other.name == tool.name;
        if tools.iter().take(at).any(same) {
            let what = format!("'{}/{}' is listed twice", tool.purpose, tool.name);
            return Err(invalid_at(&what, position_of(bytes, at)));
        }
    }
    Ok(tools)
}

/// Parses a registry of another repository; returns the problems of unusable entries as well.
pub fn parse_imported(bytes: &[u8]) -> Result<(Vec<ToolEntry>, Vec<String>)> {
    let value = check_version(bytes)?;
    let Some(Value::Array(tools)) = value.get("tools") else {
        return Err(invalid_at("'tools' is not a list", None));
    };
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    for (at, tool) in tools.iter().enumerate() {
        match ToolEntry::deserialize(tool) {
            Ok(entry) => entries.push(entry),
            Err(error) => problems.push(format!("tool {} is left out: {error}", at + 1)),
        }
    }
    Ok((entries, problems))
}

fn check_version(bytes: &[u8]) -> Result<Value> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| invalid(&error))?;
    if !value.is_object() {
        return Err(invalid_at("it is not an object", None));
    }
    match value.get("schema_version").map(Value::as_u64) {
        Some(Some(FORMAT)) => Ok(value),
        Some(Some(version)) if version > FORMAT => Err(Error::new(
            Code::NewerFormat,
            format!("'{PATH}' has format {version}; this version reads {FORMAT}"),
        )),
        _ => Err(invalid_at("schema_version must be 1", None)),
    }
}

fn invalid(error: &serde_json::Error) -> Error {
    let place = Position { line: error.line(), column: error.column() };
    let message = error.to_string();
    let what = message.split(" at line ").next().unwrap_or(&message);
    invalid_at(what, (place.line > 0).then_some(place))
}

fn invalid_at(what: &str, place: Option<Position>) -> Error {
    let at = place.map_or_else(String::new, |place| {
        format!(" at line {} column {}", place.line, place.column)
    });
    let error = Error::new(
        Code::ToolRegistryInvalid,
        format!("'{PATH}' is not a registry of tools: {what}{at}"),
    )
    .detail("path", PATH);
    match place {
        Some(place) => error.detail("line", place.line).detail("column", place.column),
        None => error,
    }
}

fn position_of(bytes: &[u8], index: usize) -> Option<Position> {
    let text = std::str::from_utf8(bytes).ok()?;
    let root = json_text::parse(text).ok()?;
    let tool = root.member("tools")?.items()?.get(index)?;
    Some(Position::of(bytes, tool.start))
}

/// Returns the bytes of a registry with a tool added, or replaced if its purpose and name are there;
/// everything else stays as it was written.
pub fn with_entry(bytes: Option<&[u8]>, entry: &ToolEntry) -> Result<Vec<u8>> {
    let value = serde_json::to_value(entry).or_code(Code::Io, || "cannot write the registry")?;
    let Some(bytes) = bytes else {
        let whole = json!({ "schema_version": FORMAT, "tools": [value] });
        let mut bytes =
            serde_json::to_vec_pretty(&whole).or_code(Code::Io, || "cannot write the registry")?;
        bytes.push(b'\n');
        return Ok(bytes);
    };
    let known = parse(bytes)?;
    let same = |other: &ToolEntry| other.purpose == entry.purpose && other.name == entry.name;
    let at = known.iter().position(same);
    if let Some(other) = at.and_then(|at| known.get(at))
        && other.location != entry.location
    {
        return Err(Error::new(
            Code::ToolExists,
            format!(
                "'{PATH}' has a tool '{}/{}' at '{}'",
                entry.purpose, entry.name, other.location
            ),
        )
        .detail("location", &other.location));
    }
    let text = std::str::from_utf8(bytes)
        .or_code(Code::ToolRegistryInvalid, || format!("'{PATH}' is not UTF-8"))?;
    let root = json_text::parse(text).map_err(|error| invalid(&error))?;
    let tools = root.member("tools").ok_or_else(|| invalid_at("'tools' is not a list", None))?;
    let text = match at {
        Some(at) => tools.replaced(text, at, &value),
        None => tools.with(text, None, &value),
    };
    Ok(text.into_bytes())
}

/// Reads the registry of the working tree; a missing one has no tools.
pub fn read(repo: &Repo) -> Result<Vec<ToolEntry>> {
    match read_file(repo, PATH, Code::ToolRegistryInvalid)? {
        Some(bytes) => parse(&bytes),
        None => Ok(Vec::new()),
    }
}

/// Reads a plain, small file of the working tree; `None` if it does not exist.
pub fn read_file(repo: &Repo, path: &str, code: Code) -> Result<Option<Vec<u8>>> {
    let path = RepoPath::from(path);
    let read = repo.read_file(&path, MAX_BYTES);
    read.map_err(|fault| fault.error(code, &path))
}

#[cfg(test)]
mod tests {
    use super::super::tool_entry::Location;
    use super::*;

    const ONE: &str = r#"{
  "schema_version": 1,
  "tools": [
    {"name": "a", "purpose": "p", "capability": "c", "location": "subdir:tools/p/a"}
  ]
}
"#;

    fn entry(name: &str) -> ToolEntry {
        let text = ONE.replace("\"a\"", &format!("\"{name}\""));
        parse(text.replace("/a\"", &format!("/{name}\"")).as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn missing_fields_have_defaults() {
        let tool = entry("a");
        assert_eq!(tool.version, "0.1.0");
        assert_eq!(tool.headless, "native");
        assert_eq!(tool.container_image, None);
        let keys: Vec<String> =
            serde_json::to_value(&tool).unwrap().as_object().unwrap().keys().cloned().collect();
        assert!(keys.is_sorted(), "{keys:?}");
    }

    #[test]
    fn an_invalid_registry_is_refused_with_its_position() {
        let tool = |fields: &str| {
            format!(
                "{{\"schema_version\": 1, \"tools\": [\n{{\"name\": \"a\", \"purpose\": \"p\", {fields}}}]}}"
            )
        };
        for (text, code, line) in [
            (String::new(), Code::ToolRegistryInvalid, Some(1)),
            ("{\n  \"schema".to_owned(), Code::ToolRegistryInvalid, Some(2)),
            ("[]".to_owned(), Code::ToolRegistryInvalid, None),
            ("{}".to_owned(), Code::ToolRegistryInvalid, None),
            (
                "{\"schema_version\": \"1\", \"tools\": []}".to_owned(),
                Code::ToolRegistryInvalid,
                None,
            ),
            ("{\"schema_version\": 2, \"more\": 1}".to_owned(), Code::NewerFormat, None),
            (
                "{\"schema_version\": 1,\n\"tools\": {}}".to_owned(),
                Code::ToolRegistryInvalid,
                Some(2),
            ),
            (
                "{\"schema_version\": 1,\n\"tools\": [],\n\"more\": 1}".to_owned(),
                Code::ToolRegistryInvalid,
                Some(3),
            ),
            (
                tool("\"capability\": \"\", \"location\": \"subdir:x\""),
                Code::ToolRegistryInvalid,
                Some(2),
            ),
            (
                tool("\"capability\": \"c\", \"location\": \"subdir:../x\""),
                Code::ToolRegistryInvalid,
                Some(2),
            ),
            (
                tool("\"capability\": \"c\", \"location\": \"/x\""),
                Code::ToolRegistryInvalid,
                Some(2),
            ),
            (tool("\"capability\": \"c\""), Code::ToolRegistryInvalid, Some(2)),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.code(), code, "{text}");
            let reported_line = error.details().get("line").and_then(Value::as_u64);
            assert_eq!(reported_line, line, "{text}: {}", error.message());
        }
    }

    #[test]
    fn a_duplicate_tool_is_refused_at_the_second() {
        let entry =
            r#"{"name": "a", "purpose": "p", "capability": "c", "location": "subdir:tools/p/a"}"#;
        let text = format!("{{\"schema_version\": 1, \"tools\": [\n{entry},\n{entry}]}}");
        let error = parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.details()["line"], 3);
    }

    #[test]
    fn only_bad_entries_of_an_imported_registry_are_left_out() {
        let text = ONE.replace("\n  ]", ",\n    {\"name\": 5}\n  ]");
        let (entries, problems) = parse_imported(text.as_bytes()).unwrap();
        assert_eq!((entries.len(), problems.len()), (1, 1));
        assert!(problems[0].starts_with("tool 2 is left out"), "{problems:?}");
        parse(text.as_bytes()).unwrap_err();
    }

    #[test]
    fn a_tool_is_added_or_replaced_and_the_rest_stays_as_written() {
        let added = with_entry(Some(ONE.as_bytes()), &entry("b")).unwrap();
        let added = String::from_utf8(added).unwrap();
        assert!(added.starts_with(&ONE[..ONE.find("\n  ]").unwrap()]), "{added}");
        assert_eq!(parse(added.as_bytes()).unwrap().len(), 2);
        let mut other = entry("a");
        other.capability = "better".to_owned();
        let replaced = with_entry(Some(added.as_bytes()), &other).unwrap();
        let tools = parse(&replaced).unwrap();
        assert_eq!(tools[0].capability, "better");
        assert_eq!(tools.len(), 2);
        other.location = Location::below(&"elsewhere".into());
        let refused = with_entry(Some(added.as_bytes()), &other).unwrap_err();
        assert_eq!(refused.code(), Code::ToolExists);
    }

    #[test]
    fn a_first_registry_has_sorted_keys_and_reads_back() {
        let bytes = with_entry(None, &entry("a")).unwrap();
        assert_eq!(parse(&bytes).unwrap(), [entry("a")]);
        assert!(bytes.ends_with(b"\n"));
    }
}

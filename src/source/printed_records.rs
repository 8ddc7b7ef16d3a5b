//! The records that the command of a custom source prints: one JSON object in each line.
//!
//! The output is not trusted, although the user wrote the command: it may repeat what a repository
//! or a server says. Every line is checked before anything of it is used.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::git::worktree::safe_path;
use crate::model::RepoPath;
use crate::model::text::Position;
use crate::store::key;

/// The version of the protocol: what a command gets and prints.
pub const PROTOCOL: u32 = 1;

/// The maximum number of records.
pub const MAX_RECORDS: usize = 50_000;

/// The maximum length of a path, and of the component of a path.
const MAX_PATH_BYTES: usize = 1024;
const MAX_PART_BYTES: usize = 255;

/// The maximum number of directories that a path goes through.
const MAX_DEPTH: usize = 64;

/// The maximum number of tags of a record, and the maximum length of one.
const MAX_TAGS: usize = 64;
const MAX_TAG_BYTES: usize = 200;

/// The maximum length of a text that a message repeats.
const MAX_SHOWN: usize = 60;

/// The form of a line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    path: Option<String>,
    key: Option<String>,
    text: Option<String>,
    value: Option<Value>,
    #[serde(default)]
    tags: Vec<String>,
}

/// Reads the output of a command: the text of each record, by its path.
pub fn read(output: &[u8]) -> Result<BTreeMap<RepoPath, String>, String> {
    let text = std::str::from_utf8(output).map_err(|error| {
        let line = Position::of(output, error.valid_up_to()).line;
        format!("line {line} is not UTF-8")
    })?;
    let mut records = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let at = |why: String| format!("line {}: {why}", number + 1);
        let (path, text) = read_line(line).map_err(at)?;
        if records.len() == MAX_RECORDS {
            return Err(at(format!("there are more than {MAX_RECORDS} records")));
        }
        let name = shown(&path.to_string());
        if records.insert(path, text).is_some() {
            return Err(at(format!("{name} is the path of two records")));
        }
    }
    for path in records.keys() {
        if let Some(file) = path.ancestors().find(|above| records.contains_key(above)) {
            let (path, file) = (shown(&path.to_string()), shown(&file.to_string()));
            return Err(format!("{path} is below {file}, which is a record"));
        }
    }
    Ok(records)
}

fn read_line(line: &str) -> Result<(RepoPath, String), String> {
    let line: Line = serde_json::from_str(line).map_err(|error| {
        let why = shown(&error.to_string());
        format!("it is not a JSON object with 'path' and 'text': {why}")
    })?;
    let path = match (line.path, line.key) {
        (Some(path), None) => path,
        (None, Some(key)) if !key.is_empty() => key::encode(&key),
        _ => return Err("expected either 'path' or 'key', and not an empty one".to_owned()),
    };
    check_path(&path)?;
    let text = match (line.text, line.value) {
        (Some(text), None) => text,
        (None, Some(value)) => value.to_string(),
        _ => return Err("expected either 'text' or 'value'".to_owned()),
    };
    if text.contains('\0') {
        return Err("its text contains a NUL".to_owned());
    }
    Ok((RepoPath::from(path.as_str()), tagged(&line.tags, text)?))
}

fn check_path(path: &str) -> Result<(), String> {
    let refused = |why: &str| Err(format!("path {} {why}", shown(path)));
    if let Some(why) = safe_path::refusal(path) {
        return refused(why);
    }
    if path.len() > MAX_PATH_BYTES || path.split('/').any(|part| part.len() > MAX_PART_BYTES) {
        return refused("is too long");
    }
    if path.split('/').count() > MAX_DEPTH {
        return refused("is too deep");
    }
    Ok(())
}

/// Puts the tags of a record before its text, in a line of their own.
fn tagged(tags: &[String], text: String) -> Result<String, String> {
    if tags.is_empty() {
        return Ok(text);
    }
    let is_word =
        |tag: &String| (1..=MAX_TAG_BYTES).contains(&tag.len()) && !tag.contains(char::is_control);
    if tags.len() > MAX_TAGS || !tags.iter().all(is_word) {
        return Err(format!("expected at most {MAX_TAGS} tags of one printable line each"));
    }
    Ok(format!("tags: {}\n\n{text}", tags.join(", ")))
}

/// Quotes a text of the output, cut and without control characters.
pub fn shown(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control());
    let short: String = plain.take(MAX_SHOWN).collect();
    format!("'{short}'")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn records_are_texts_or_values_with_tags() {
        let output = r#"{"path":"a/b.md","text":"one\n"}

{"key":"T-1/x","value":{"b":1,"a":[2]},"tags":["open","p 1"]}
"#;
        let records: Vec<(String, String)> = read(output.as_bytes())
            .unwrap()
            .into_iter()
            .map(|(path, text)| (path.to_string(), text))
            .collect();
        let text = "tags: open, p 1\n\n{\"b\":1,\"a\":[2]}";
        assert_eq!(
            records,
            [("T-1%2Fx", text), ("a/b.md", "one\n")].map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
        assert!(read(b"").unwrap().is_empty());
    }

    #[test]
    fn every_bad_line_is_refused_by_its_number() {
        let deep = format!(r#"{{"path":"{}x","text":""}}"#, "a/".repeat(80));
        let long = format!(r#"{{"path":"{}","text":""}}"#, "a".repeat(300));
        for line in [
            "no json",
            "[]",
            "{}",
            r#"{"path":"../x","text":""}"#,
            r#"{"path":"/x","text":""}"#,
            r#"{"path":".git/config","text":""}"#,
            r#"{"path":"a\u001b[2J","text":""}"#,
            r#"{"path":"a\nb","text":""}"#,
            r#"{"path":"a","key":"b","text":""}"#,
            r#"{"path":"a"}"#,
            r#"{"path":"a","text":"x","value":1}"#,
            r#"{"path":"a","text":"x\u0000"}"#,
            r#"{"path":"a","text":"x","more":1}"#,
            r#"{"path":"a","text":"x","tags":["\n"]}"#,
            r#"{"path":"a","text":1}"#,
            r#"{"key":"","text":""}"#,
            &deep,
            &long,
        ] {
            let output = format!("{{\"path\":\"ok\",\"text\":\"\"}}\n{line}\n");
            let why = read(output.as_bytes()).unwrap_err();
            assert!(why.starts_with("line 2: "), "{line}: {why}");
            assert!(!why.contains(char::is_control), "{line}: {why}");
        }
        assert_eq!(read(b"{}\n\xff").unwrap_err(), "line 2 is not UTF-8");
        let twice = r#"{"path":"a","text":""}"#;
        let why = read(format!("{twice}\n{twice}").as_bytes()).unwrap_err();
        assert_eq!(why, "line 2: 'a' is the path of two records");
        let below = r#"{"path":"a/b","text":""}"#;
        let why = read(format!("{twice}\n{below}").as_bytes()).unwrap_err();
        assert_eq!(why, "'a/b' is below 'a', which is a record");
    }

    proptest! {
        #[test]
        fn no_output_leads_out_of_the_tree(lines in prop::collection::vec(any::<String>(), 0..4)) {
            let line = |path: &String| serde_json::json!({"path": path, "text": path}).to_string();
            let output: Vec<String> = lines.iter().map(line).collect();
            if let Ok(records) = read(output.join("\n").as_bytes()) {
                prop_assert!(records.keys().all(RepoPath::is_safe));
            }
        }
    }
}

//! The members of answers that have lines of a form of their own: one row for each kind of report. All others are
//! rendered by `plain_lines`.

use serde_json::{Map, Value};

use super::plain_lines::{self, cell};

/// How many characters of an id are shown in a line; a prefix names it as well.
const ID_CHARACTERS: usize = 8;

/// How many characters of the id of a page are shown in a list.
const PAGE_ID_CHARACTERS: usize = 12;

/// How many characters of a time are shown in a line: its day.
const DAY_CHARACTERS: usize = 10;

/// The most characters of the line of a passage that was found.
const MAX_PASSAGE_CHARACTERS: usize = 100;

type Item = Map<String, Value>;

/// How a member is shown.
#[derive(Clone, Copy)]
pub(super) enum Rendering {
    /// Not at all: another member says it.
    Omitted,
    /// As the lines of its items.
    Items(fn(&[&Item]) -> Vec<String>),
}

const OMITTED: Rendering = Rendering::Omitted;

/// The members, by their tools; no tool means every one.
const RENDERINGS: &[(&[&str], &str, Rendering)] = &[
    (&[], "trace", OMITTED),
    (&[], "untouched", OMITTED),
    (&[], "result_count", OMITTED),
    (&[], "repositories_considered", OMITTED),
    (&[], "repositories_queried", OMITTED),
    (&["search", "context"], "stale_scopes", OMITTED),
    (&["context"], "parts", OMITTED),
    (&["context"], "next_files", OMITTED),
    (&["search"], "hits", Rendering::Items(passages)),
    (&["find"], "hits", Rendering::Items(hits)),
    (&["query_text"], "hits", Rendering::Items(found_lines)),
    (&["query_file"], "files", Rendering::Items(files)),
    (&["read"], "files", Rendering::Items(files_in_part)),
    (&["query_log", "git_log", "show_log", "history"], "commits", Rendering::Items(commits)),
    (&["get_page"], "pages", Rendering::Items(pages)),
    (&["list_stored_pages", "get_pages_for_scope"], "pages", Rendering::Items(page_rows)),
    (&["diff_design", "diff_against_checkpoint"], "entries", Rendering::Items(changed_paths)),
    (&["fleet"], "agents", Rendering::Items(fleet_rows)),
    (&["list_operations"], "ops", Rendering::Items(operations)),
    (&["list_checkpoints", "get_repo_state"], "checkpoints", Rendering::Items(checkpoints)),
];

/// Returns how a member of the answer of a tool is shown, if that is declared.
pub(super) fn find(tool: &str, member: &str) -> Option<Rendering> {
    let is_meant = |(tools, name, _): &&(&[&str], &str, Rendering)| {
        *name == member && (tools.is_empty() || tools.contains(&tool))
    };
    RENDERINGS.iter().find(is_meant).map(|(_, _, rendering)| *rendering)
}

impl Rendering {
    /// Returns the lines of a member.
    pub(super) fn lines(self, value: &Value) -> Vec<String> {
        match (self, value) {
            (Rendering::Omitted, _) => Vec::new(),
            (Rendering::Items(render), Value::Array(items)) => {
                render(&items.iter().filter_map(Value::as_object).collect::<Vec<_>>())
            }
            (Rendering::Items(_), value) => plain_lines::of_member(value),
        }
    }
}

/// Returns a line for each passage: where it is, and its best line.
fn passages(items: &[&Item]) -> Vec<String> {
    let line = |item: &&Item| {
        let snippet = item.get("snippet").and_then(Value::as_str).unwrap_or_default();
        let first = snippet.lines().map(str::trim).find(|line| !line.is_empty());
        let best = start(first.unwrap_or_default(), MAX_PASSAGE_CHARACTERS);
        let heading = text(item, "section");
        let section = start(&heading, MAX_PASSAGE_CHARACTERS);
        let is_new = !section.is_empty() && !best.contains(section) && !section.contains(best);
        let above = if is_new { format!(" [{section}]") } else { String::new() };
        format!("{}{above} {}", text(item, "citation"), cell(&best.into()))
    };
    items.iter().map(line).collect()
}

/// Returns a line for each line that was found, as grep has it; the path stands in the first of a file.
fn found_lines(items: &[&Item]) -> Vec<String> {
    let mut last = None;
    let line = |item: &&Item| {
        let number = number(item, "line_number").map_or_else(String::new, |n| format!(":{n}"));
        let path = format!("{}{}", repository(items, item), text(item, "path"));
        let is_new = last.as_ref() != Some(&path);
        let place = if is_new { path.as_str() } else { "" };
        let line = format!("{place}{number} {}", text(item, "line_text").trim_start());
        last = Some(path);
        line
    };
    items.iter().map(line).collect()
}

/// Returns what a text or a question has found.
fn hits(items: &[&Item]) -> Vec<String> {
    let are_passages = items.iter().any(|item| item.contains_key("citation"));
    if are_passages { passages(items) } else { found_lines(items) }
}

/// Returns lines of files with their numbers.
fn files_in_part(items: &[&Item]) -> Vec<String> {
    let file = |item: &&Item| {
        let bound = |name| number(item, name).unwrap_or_default();
        let (first, last, lines) = (bound("first_line"), bound("last_line"), bound("lines"));
        let is_whole = first <= 1 && last == lines;
        let part = if is_whole { String::new() } else { format!(" {first}-{last} of {lines}") };
        let heading = format!("{}{part}:", text(item, "path"));
        let content = item.get("content").and_then(Value::as_str).unwrap_or_default();
        std::iter::once(heading).chain(numbered(content, Some(first))).collect::<Vec<_>>()
    };
    items.iter().flat_map(file).collect()
}

/// Returns the lines of files with their numbers.
fn files(items: &[&Item]) -> Vec<String> {
    let file = |item: &&Item| {
        let is_cut = item.get("truncated") == Some(&true.into());
        let cut = if is_cut { " (its beginning)" } else { "" };
        let heading = format!("{}{}{cut}:", repository(items, item), text(item, "path"));
        let content = item.get("content").and_then(Value::as_str).unwrap_or_default();
        std::iter::once(heading).chain(numbered(content, Some(1))).collect::<Vec<_>>()
    };
    items.iter().flat_map(file).collect()
}

/// Returns a line for each commit: id, subject, and author and day where they are not those of the line above.
fn commits(items: &[&Item]) -> Vec<String> {
    let mut last = None;
    let line = |item: &&Item| {
        let id = either(item, "commit", "sha");
        let time = text(item, "authored_at");
        let day = start(&time, DAY_CHARACTERS);
        let subject = either(item, "summary", "subject");
        let origin = format!("{}{}, {day}", repository(items, item), text(item, "author"));
        let is_new = last.as_ref() != Some(&origin);
        let end = if is_new { format!(" ({origin})") } else { String::new() };
        last = Some(origin);
        format!("{} {subject}{end}", start(&id, ID_CHARACTERS))
    };
    items.iter().map(line).collect()
}

/// Returns the records of pages with the numbers of their lines.
fn pages(items: &[&Item]) -> Vec<String> {
    let mut lines = Vec::new();
    for page in items {
        let stale = if page.get("stale") == Some(&true.into()) { ", stale" } else { "" };
        lines.push(format!("page {}{stale}", text(page, "page_id")));
        for member in ["successors", "neighbours"] {
            if let Some(value) = page.get(member).filter(|value| !plain_lines::is_empty(value)) {
                lines.push(format!("{member}:"));
                lines.extend(plain_lines::of_member(value));
            }
        }
        let records = page.get("records").and_then(Value::as_array);
        for record in records.into_iter().flatten().filter_map(Value::as_object) {
            lines.push(record_name(record) + ":");
            let content = record.get("text").and_then(Value::as_str).unwrap_or_default();
            lines.extend(numbered(content, number(record, "start_line")));
        }
    }
    lines
}

/// Returns a line for each page: the begin of its id, its size and its files.
fn page_rows(items: &[&Item]) -> Vec<String> {
    const FLAGS: [&str; 4] = ["pinned", "resident", "stale", "locked_until"];
    let line = |item: &&Item| {
        let is_set = |name: &str| {
            let value = item.get(name).unwrap_or(&Value::Null);
            !matches!(value, Value::Null | Value::Bool(false))
        };
        let flags = FLAGS.into_iter().filter(|name| is_set(name));
        let set: String = flags.flat_map(|name| [", ", name]).collect();
        let records = item.get("records").and_then(Value::as_array).into_iter().flatten();
        let files: Vec<_> = records.filter_map(Value::as_object).map(record_name).collect();
        let whole_id = text(item, "page_id");
        let id = start(&whole_id, PAGE_ID_CHARACTERS);
        format!("{id} {} tokens{set}: {}", text(item, "tokens"), files.join(", "))
    };
    items.iter().map(line).collect()
}

/// Returns the file of a record, and which part of it the record is.
fn record_name(record: &Item) -> String {
    let numbers = number(record, "part_number").zip(number(record, "part_count"));
    let part = numbers.map_or_else(String::new, |(part, count)| format!(" part {part} of {count}"));
    text(record, "path") + &part
}

/// Returns a line for each path that changed.
fn changed_paths(items: &[&Item]) -> Vec<String> {
    let line = |item: &&Item| {
        let count = |name| number(item, name).unwrap_or_default();
        let former = text(item, "old_path");
        let old = if former.is_empty() { former } else { format!(" from {former}") };
        let (kind, path) = (text(item, "change_type"), text(item, "path"));
        format!("{kind} +{} -{} {path}{old}", count("insertions"), count("deletions"))
    };
    items.iter().map(line).collect()
}

/// Returns a line for each checkpoint.
fn checkpoints(items: &[&Item]) -> Vec<String> {
    let line = |item: &&Item| {
        let id = text(item, "checkpoint_id");
        let (branch, label) = (text(item, "branch"), text(item, "label"));
        let signature = text(item, "author");
        let author = signature.split(" <").next().unwrap_or_default();
        let rationale = text(item, "rationale");
        let why = if rationale.is_empty() { rationale } else { format!(" ({rationale})") };
        format!("{id} {author} {branch}: {label}{why}")
    };
    items.iter().map(line).collect()
}

/// Returns a line for each operation, the newest first: the oldest may be cut.
fn operations(items: &[&Item]) -> Vec<String> {
    let line = |item: &&Item| {
        let (op, kind, summary) = (text(item, "op"), text(item, "kind"), text(item, "summary"));
        let is_undone = item.get("undone") == Some(&true.into());
        let undone = if is_undone { ", undone" } else { "" };
        format!("{op} {} {kind}: {summary}{undone}", text(item, "created_at"))
    };
    items.iter().rev().map(line).collect()
}

/// Returns a line for each agent or fork: its work, how it would merge, and what else there is to say.
fn fleet_rows(items: &[&Item]) -> Vec<String> {
    const TOLD: [&str; 7] = ["agent", "fork", "work", "state", "commits", "files", "into"];
    let line = |item: &&Item| {
        let names = [text(item, "agent"), text(item, "fork")];
        let count = |name| number(item, name).unwrap_or_default();
        let into = item.get("into").and_then(Value::as_object);
        let merge = into.map_or_else(String::new, |into| {
            let paths = text(into, "paths");
            format!("; into {}: {} {paths}", text(into, "branch"), text(into, "outcome"))
        });
        let others = item.iter().filter(|(name, value)| {
            !TOLD.contains(&name.as_str())
                && !plain_lines::is_empty(value)
                && **value != Value::Bool(false)
        });
        format!(
            "{}: {}, {}, {} commits of {} files{}; {}",
            names.join(" ").trim(),
            text(item, "work"),
            text(item, "state"),
            count("commits"),
            count("files"),
            merge.trim_end_matches(" []"),
            plain_lines::pairs(others)
        )
    };
    items.iter().map(line).collect()
}

/// Returns the lines of a text with their numbers, from the first on.
fn numbered(text: &str, first: Option<u64>) -> impl Iterator<Item = String> {
    text.lines().zip(0..).map(move |(line, n)| match first {
        Some(first) => format!("{}:{line}", first + n),
        None => format!("  {line}"),
    })
}

/// Returns the repository of an item, where the items are of several.
fn repository(items: &[&Item], item: &Item) -> String {
    let name = text(item, "display_name");
    let is_one = items.iter().all(|other| text(other, "display_name") == name);
    if is_one { String::new() } else { format!("{name} ") }
}

fn either(item: &Item, member: &str, other: &str) -> String {
    let first = text(item, member);
    if first.is_empty() { text(item, other) } else { first }
}

/// Returns a member as one line.
fn text(item: &Item, member: &str) -> String {
    item.get(member).map(cell).unwrap_or_default()
}

fn number(item: &Item, member: &str) -> Option<u64> {
    item.get(member).and_then(Value::as_u64)
}

/// Returns the first characters of a text.
fn start(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(at, _)| text.get(..at).unwrap_or_default())
}

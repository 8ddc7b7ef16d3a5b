//! The tables of the documents that are made from what the program knows: settings and error codes.

pub mod manual;
pub mod roff;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::model::Code;
use crate::store::settings::{SetBy, Setting, TABLE};

/// Marks the start of the generated part of a document.
const BEGIN: &str = "<!-- generated: cargo run --example manual -->\n";
/// Ends it.
const END: &str = "<!-- end -->";

/// A table, and the document it stands in.
pub struct Table {
    /// The document, from the top of the package.
    pub file: &'static str,
    /// The table, in Markdown.
    pub text: String,
}

impl Table {
    /// Returns the document with the table between its marks; `None` where it has no marks.
    pub fn fill(&self, document: &str) -> Option<String> {
        let (before, rest) = document.split_once(BEGIN)?;
        let (_, after) = rest.split_once(END)?;
        Some(format!("{before}{BEGIN}\n{}\n{END}{after}", self.text))
    }
}

/// The codes that the tests have met, by command: a line for each pair. CONTRIBUTING.md says how to renew it.
const ANSWERED: &str = include_str!("../../../tests/fixtures/answered-codes.txt");

/// The codes of the ground that every command stands on; they are listed once.
const OF_ANY_COMMAND: [Code; 9] = [
    Code::BareRepository,
    Code::Interrupted,
    Code::InvalidValue,
    Code::Io,
    Code::NewerFormat,
    Code::NoSpace,
    Code::NotARepository,
    Code::RepositoryBroken,
    Code::Usage,
];

/// Returns all tables.
pub fn tables() -> [Table; 3] {
    [
        Table { file: "docs/settings.md", text: settings() },
        Table { file: "docs/errors.md", text: errors() },
        Table { file: "docs/dashboard.md", text: super::dashboard::table_of_routes() },
    ]
}

fn settings() -> String {
    let mut text = String::from(
        "| Setting | Variable, flag | Default | Repository | Meaning |\n|---|---|---|---|---|\n",
    );
    for setting in TABLE {
        let variable = Some(setting.variable).filter(|name| !name.is_empty());
        let from: Vec<_> =
            variable.into_iter().chain(setting.flag).map(|name| format!("`{name}`")).collect();
        let default = match setting.default {
            "" => String::new(),
            value => format!("`{value}`"),
        };
        writeln!(
            text,
            "| `{}` | {} | {default} | {} | {} |",
            setting.key,
            from.join(", "),
            may_be_set(setting),
            setting.help,
        )
        .ok();
    }
    text
}

/// Returns `true` if the repository may set it.
fn may_be_set(setting: &Setting) -> &'static str {
    match setting.set_by {
        SetBy::User | SetBy::UserFiles => "no",
        SetBy::Repository => "yes",
        SetBy::DefaultBranch => "default branch",
    }
}

fn errors() -> String {
    let mut text = String::from("| Code | Meaning |\n|---|---|\n");
    let mut codes: Vec<Code> = Code::ALL.to_vec();
    codes.sort_by_key(|code| code.as_str());
    for code in codes {
        // The text is a doc comment, in which a bar does not end a cell.
        let meaning = code.explanation().replace('|', "\\|");
        writeln!(text, "| `{}` | {meaning} |", code.as_str()).ok();
    }
    text.push_str(&answers());
    text
}

/// Returns which codes each command answers with, beside those of any command.
fn answers() -> String {
    let of_any: Vec<_> = OF_ANY_COMMAND.iter().map(|code| code.as_str()).collect();
    let mut by_command = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (command, code) in ANSWERED.lines().filter_map(|line| line.split_once(' ')) {
        if !of_any.contains(&code) {
            by_command.entry(command).or_default().insert(code);
        }
    }
    let quoted = |codes: &mut dyn Iterator<Item = &str>| {
        codes.map(|code| format!("`{code}`")).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "\n## By command\n\nAny command can answer {}. Beside these, the tests have met:\n\n\
         | Command | Codes |\n|---|---|\n",
        quoted(&mut of_any.iter().copied())
    );
    for (command, codes) in by_command {
        writeln!(text, "| `{command}` | {} |", quoted(&mut codes.into_iter())).ok();
    }
    text
}

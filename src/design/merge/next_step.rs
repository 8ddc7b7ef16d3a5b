//! Adds to a conflict, for programs, a code and the next command, as a refusal has.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::allowed_paths::path_gate::OthersRules;
use crate::model::Code;
use crate::model::text::typed_word;

use super::settle::{Choice, Settle};

/// A code and the next command; neither if there is no conflict.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct NextStep {
    /// `conflicted`, if conflicts remain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// The command that opens the conflicts here, or that concludes the opened merge or pick.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A merge or pick that met a conflict.
pub(in crate::design) struct Stuck<'a> {
    /// The command: `merge` or `cherry-pick`.
    pub(in crate::design) command: &'static str,
    /// The arguments, quoted for a shell.
    pub(in crate::design) words: Vec<String>,
    /// The merged or picked names, as typed.
    pub(in crate::design) sources: &'a [String],
    /// The target branch, unless it is checked out.
    pub(in crate::design) elsewhere: Option<&'a str>,
    /// Whether the conflicts were opened in git's own state.
    pub(in crate::design) resolving: bool,
}

impl Stuck<'_> {
    pub(in crate::design) fn next_step(&self) -> NextStep {
        let command = self.command;
        let hint = if self.resolving {
            format!("git colony {command} --continue   # once each path is resolved and added")
        } else {
            let words = self.words.join(" ");
            let again = format!("git colony {command} {words} --resolve");
            match self.elsewhere.map(typed_word) {
                None => again,
                // A name relative to HEAD would mean another commit there.
                Some(branch) if self.sources.iter().any(|name| is_by_head(name)) => {
                    format!("git switch {branch}   # then run it again with --resolve")
                }
                Some(branch) => format!("git switch {branch} && {again}"),
            }
        };
        NextStep { code: Some(Code::Conflicted.as_str()), hint: Some(hint) }
    }
}

fn is_by_head(name: &str) -> bool {
    name.split("..").any(|end| {
        let end = end.trim_start_matches('.');
        end.is_empty() || end.starts_with("HEAD") || end.starts_with('@')
    })
}

/// Returns the arguments for options that all these commands have.
pub(in crate::design) fn option_words(into: Option<&str>, rules: OthersRules) -> Vec<String> {
    let into = into.map(|branch| format!("--into {}", typed_word(branch)));
    let force = (rules == OthersRules::Lifted).then(|| "--force".to_owned());
    into.into_iter().chain(force).collect()
}

/// Returns the arguments that settle paths in the same way.
pub(in crate::design) fn choice_words(choices: &[Choice]) -> Vec<String> {
    let word = |choice: &Choice| {
        let how = match choice.how {
            Settle::Ours => "--ours",
            Settle::Theirs => "--theirs",
            Settle::Both => "--both",
        };
        let path = choice.from_top.as_ref().unwrap_or(&choice.path);
        format!("{how} {}", typed_word(&format!(":/{path}")))
    };
    choices.iter().map(word).collect()
}

//! The place of a new tool: from its purpose and its name, from a target, or from both where they agree.
//!
//! `subdir_in_monorepo:tools/PURPOSE/NAME` is the only target that can be created.

use crate::model::{Code, Error, Result};

use super::tool_variables::refused;

const SUPPORTED: &str = "subdir_in_monorepo:tools/PURPOSE/NAME";

/// A purpose and a name, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPlace {
    /// The purpose.
    pub purpose: String,
    /// The name.
    pub name: String,
}

/// What was typed of a place.
#[derive(Clone, Debug, Default)]
pub struct TypedPlace {
    /// The target.
    pub target: Option<String>,
    /// The purpose.
    pub purpose: Option<String>,
    /// The name.
    pub name: Option<String>,
}

/// Returns the place that was typed; purpose and name are checked later.
pub fn resolve(typed: TypedPlace) -> Result<ToolPlace> {
    let Some(target) = typed.target else {
        let missing = |option: &str| {
            let message = format!("the tool needs {option}, or --target {SUPPORTED}");
            refused(message, option, "")
        };
        return Ok(ToolPlace {
            purpose: typed.purpose.ok_or_else(|| missing("--purpose"))?,
            name: typed.name.ok_or_else(|| missing("--name"))?,
        });
    };
    let place = parse(&target)?;
    for (option, given, wanted) in
        [("--purpose", &typed.purpose, &place.purpose), ("--name", &typed.name, &place.name)]
    {
        if given.as_ref().is_some_and(|given| given != wanted) {
            let given = given.as_deref().unwrap_or_default();
            let message = format!(
                "the target '{target}' does not agree with {option} '{given}', expected '{wanted}'"
            );
            return Err(refused(message, option, given));
        }
    }
    Ok(place)
}

fn parse(target: &str) -> Result<ToolPlace> {
    let kind = target.split_once(':').map(|(kind, _)| kind);
    if let Some(kind @ ("branch_in_existing" | "new_standalone")) = kind {
        return Err(Error::new(
            Code::Unsupported,
            format!("a tool cannot be created in a '{kind}', expected '{SUPPORTED}'"),
        )
        .unchanged()
        .hint("git colony tools new -h")
        .detail("option", "--target")
        .detail("value", target));
    }
    let path = target.strip_prefix("subdir_in_monorepo:tools/");
    let names = path.and_then(|path| path.split_once('/'));
    let (purpose, name) = names.ok_or_else(|| {
        let message = format!("'{target}' cannot be the target of a tool: expected '{SUPPORTED}'");
        refused(message, "--target", target)
    })?;
    Ok(ToolPlace { purpose: purpose.to_owned(), name: name.to_owned() })
}

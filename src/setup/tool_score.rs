//! How well a tool fits a question, from 0 to 1.

use std::collections::BTreeSet;

use super::tool_entry::ToolEntry;

/// A tool with a lower score is not shown.
pub const MIN_SCORE: f64 = 0.05;
const SAME: f64 = 1.0;
const BEGINS: f64 = 0.85;
/// Words in common count less than the name of the capability, however many they are.
const MAX_BY_WORDS: f64 = 0.7;

/// Returns how well a tool fits: 1 for its capability, 0.85 if one is a prefix of the other, else the share
/// of words that question and tool have in common, at most 0.7. Case does not matter.
pub fn score(query: &str, tool: &ToolEntry) -> f64 {
    let query = query.trim().to_lowercase();
    let capability = tool.capability.trim().to_lowercase();
    if query.is_empty() {
        return 0.0;
    }
    if query == capability {
        return SAME;
    }
    let begins = capability.starts_with(&query) || query.starts_with(&capability);
    if begins && !capability.is_empty() {
        return BEGINS;
    }
    let description = tool.extra.get("description").and_then(|text| text.as_str());
    let texts = [capability.as_str(), &tool.name, &tool.purpose].into_iter().chain(description);
    let known: BTreeSet<String> = texts.flat_map(words).collect();
    let asked: BTreeSet<String> = words(&query).collect();
    share(&asked, &known).min(MAX_BY_WORDS)
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    parts.map(str::to_ascii_lowercase)
}

fn share(asked: &BTreeSet<String>, known: &BTreeSet<String>) -> f64 {
    let size = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let all = asked.union(known).count();
    if all == 0 {
        return 0.0;
    }
    size(asked.intersection(known).count()) / size(all)
}

#[cfg(test)]
mod tests {
    use super::super::tool_entry::Location;
    use super::*;

    fn tool(capability: &str, name: &str, description: &str) -> ToolEntry {
        let extra = serde_json::json!({ "description": description });
        ToolEntry {
            capability: capability.to_owned(),
            container_image: None,
            extra: extra.as_object().unwrap().clone(),
            headless: "native".to_owned(),
            license: String::new(),
            location: Location::below(&"tools/p/n".into()),
            name: name.to_owned(),
            purpose: "ui".to_owned(),
            version: "0.1.0".to_owned(),
        }
    }

    #[test]
    fn scores_are_those_of_the_requirements() {
        let tool = tool("render_widget", "painter", "draws things");
        for (query, wanted) in [
            ("", 0.0),
            ("  ", 0.0),
            ("render_widget", 1.0),
            (" Render_Widget ", 1.0),
            ("render", 0.85),
            ("r", 0.85),
            ("render_widget_fast", 0.85),
            // It has one of render, widget, painter, ui, draws, things, and no other.
            ("painter", 1.0 / 6.0),
            ("widget, painter", 2.0 / 6.0),
            ("the painter", 1.0 / 7.0),
            ("mesh", 0.0),
            ("things draws ui painter widget render", 0.7),
        ] {
            let computed = score(query, &tool);
            assert!((computed - wanted).abs() < 1e-9, "{query}: {computed}");
        }
    }

    #[test]
    fn an_empty_capability_matches_no_prefix() {
        assert!(score("x", &tool("", "n", "")).abs() < 1e-9);
    }
}

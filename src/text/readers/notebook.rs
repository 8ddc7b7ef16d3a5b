//! Jupyter notebooks: the text of their cells, without outputs.

use serde::Deserialize;

use super::{ReadFault, Section};

/// A notebook, as far as it is read.
#[derive(Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(default)]
    source: Lines,
}

/// Text, at once or in lines.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    Text(String),
    Lines(Vec<String>),
}

impl Default for Lines {
    fn default() -> Lines {
        Lines::Lines(Vec::new())
    }
}

/// Reads a notebook: its text, and a section for each cell that has some. The heading of a cell is the last one in a
/// cell of prose up to it.
pub(super) fn read(json: &str) -> Result<(String, Vec<Section>), ReadFault> {
    let notebook: Notebook = serde_json::from_str(json).map_err(|error| ReadFault::Broken {
        reason: format!("it is not a notebook: {error}"),
        passing: false,
    })?;
    let (mut text, mut sections) = (String::new(), Vec::new());
    let mut heading = None;
    for (number, cell) in (1..).zip(notebook.cells) {
        let source = match cell.source {
            Lines::Text(text) => text,
            Lines::Lines(lines) => lines.concat(),
        };
        if source.trim().is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let start = text.len();
        text.push_str(source.trim_end());
        if cell.cell_type == "markdown" {
            let headings = super::markdown::headings(&source);
            heading =
                headings.into_iter().last().map(|last_heading| last_heading.title).or(heading);
        }
        sections.push(Section {
            path: format!("{number}"),
            heading: heading.clone(),
            page: None,
            start,
            end: text.len(),
        });
    }
    Ok((text, sections))
}

#[cfg(test)]
mod tests {
    use super::super::{Format, ReadFault, read_text};

    #[test]
    fn a_notebook_is_its_cells_without_outputs() {
        let json = br##"{"cells": [
            {"cell_type": "markdown", "source": ["# Fit\n", "of a line"]},
            {"cell_type": "code", "source": "x = 1", "outputs": [{"text": "secret"}]},
            {"cell_type": "code", "source": []}
        ], "nbformat": 4}"##;
        let read = read_text(Format::Notebook, json).unwrap();
        assert_eq!(read.text, "# Fit\nof a line\n\nx = 1");
        let seen: Vec<_> = read
            .sections
            .iter()
            .map(|section| {
                (section.path.as_str(), section.heading.as_deref(), read.text_of(section))
            })
            .collect();
        assert_eq!(seen, [("1", Some("Fit"), "# Fit\nof a line"), ("2", Some("Fit"), "x = 1")]);
        for broken in [&b"{"[..], b"[]", b"{\"cells\": 1}"] {
            let fault = read_text(Format::Notebook, broken).unwrap_err();
            assert!(matches!(fault, ReadFault::Broken { .. }));
        }
    }
}

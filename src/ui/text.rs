//! Grammar by construction: plurals, lists, short ids, sizes.

use crate::git::Oid;

pub use crate::model::text::count;

/// Returns `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [entry] => entry.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns the first of several, and how many more there are.
pub fn first_of(items: &[impl std::fmt::Display]) -> String {
    let first = items.first().map(ToString::to_string).unwrap_or_default();
    match items.len().saturating_sub(1) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Returns the 8 hex digits people see, or `(none)`.
pub fn short(id: Option<Oid>) -> String {
    id.map_or_else(|| "(none)".to_owned(), |id| id.short())
}

/// Returns a size in bytes, kilobytes, megabytes or gigabytes.
pub fn size(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(*unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"),
    }
}

/// Lines up columns: each row's cells are padded to the widest of their column.
pub fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_and_lists_read_as_sentences() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&items), "a, b and c");
        assert_eq!(size(1_572_864), "1.5 MiB");
    }
}

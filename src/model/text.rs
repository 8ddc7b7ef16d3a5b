//! Grammar that messages share at every layer.

/// Returns `1 file`, `2 files`.
pub fn count(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_right_by_construction() {
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(0, "commit"), "0 commits");
        assert_eq!(count(3, "entry"), "3 entries");
    }
}

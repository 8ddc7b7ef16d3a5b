//! The home of the YAML reader: text to values, with limits. Nothing is written here.

use serde_json::Value;

/// Larger files are not read.
const MAX_BYTES: usize = 1024 * 1024;

/// Returns what one YAML document says; `None` for what is no single document of plain data: bad
/// syntax, duplicate keys, several documents, numbers that are none, and whatever is beyond a limit
/// (1 MiB; the reader's own on depth, nodes and aliases).
pub fn find_value(text: &str) -> Option<Value> {
    if text.len() > MAX_BYTES {
        return None;
    }
    serde_saphyr::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_data_is_read_and_anything_odd_is_not() {
        assert_eq!(
            find_value("a: 1\nb: [x, \"2\"]\n"),
            Some(serde_json::json!({"a": 1, "b": ["x", "2"]}))
        );
        for odd in ["a: 1\na: 2\n", "a: 1\n---\nb: 2\n", "a: [\n"] {
            assert_eq!(find_value(odd), None, "{odd}");
        }
        assert_eq!(find_value(&"[".repeat(5000)), None);
    }
}

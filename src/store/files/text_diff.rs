//! The change of a text file, for people: one form for every command that edits a file of the repository.

use similar::TextDiff;

/// Returns the change of a file as a unified diff, in git's form; empty without a change. `None` stands for a file that
/// does not exist.
pub fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let side = |text: Option<&str>, prefix: &str| {
        text.map_or_else(|| "/dev/null".to_owned(), |_| format!("{prefix}/{path}"))
    };
    TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .header(&side(before, "a"), &side(after, "b"))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_names_both_sides_or_none() {
        assert_eq!(unified("x", Some("a\n"), Some("a\n")), "");
        assert_eq!(
            unified("x", Some("a\n"), Some("b\n")),
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
        );
        assert_eq!(unified("x", None, Some("b\n")), "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n");
        assert_eq!(unified("x", Some("a\n"), None), "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
    }
}

//! Masks the parts of a diff that look like secrets. The length of every line stays, so that an answer can be continued
//! by its offset.

use crate::design::checkpoint::secret_file_names::contains_secret;

/// The beginnings of the first line about a file: no line of its content begins with a letter.
const HEADERS: [&[u8]; 3] = [b"diff --git ", b"diff --cc ", b"diff --combined "];

/// Masks the changed lines of every file with a key or a token among them; returns the number of these files.
pub(super) fn mask(diff: &mut [u8]) -> usize {
    let mut rest = diff;
    let mut masked = 0;
    while !rest.is_empty() {
        let (file, after) = rest.split_at_mut(end_of_file(rest));
        if contains_secret(file) {
            hide_lines(file);
            masked += 1;
        }
        rest = after;
    }
    masked
}

/// Returns where the next file begins.
fn end_of_file(diff: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let line = diff.get(at..).unwrap_or_default();
        let Some(end) = line.iter().position(|byte| *byte == b'\n') else {
            return diff.len();
        };
        at += end + 1;
        let next = diff.get(at..).unwrap_or_default();
        if HEADERS.iter().any(|header| next.starts_with(header)) {
            return at;
        }
    }
}

/// Masks all lines after the first hunk begins.
fn hide_lines(file: &mut [u8]) {
    let mut is_content = false;
    for line in file.split_inclusive_mut(|byte| *byte == b'\n') {
        is_content |= line.starts_with(b"@@");
        if is_content && !line.starts_with(b"@@") {
            let letters = line.iter_mut().skip(1).filter(|byte| **byte != b'\n');
            letters.for_each(|byte| *byte = b'*');
        } else if let Some(rest) = context_of(line) {
            // git shows the line that a hunk is in.
            let letters = rest.iter_mut().filter(|byte| **byte != b'\n');
            letters.for_each(|byte| *byte = b'*');
        }
    }
}

/// Returns what follows the numbers of a hunk.
fn context_of(line: &mut [u8]) -> Option<&mut [u8]> {
    let begin = line.iter().take_while(|byte| **byte == b'@').count();
    if begin < 2 {
        return None;
    }
    let marks = vec![b'@'; begin];
    let rest = line.get(begin..)?;
    let end = rest.windows(begin).position(|bytes| bytes == marks)?;
    line.get_mut(begin + end + begin..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_token_is_masked_and_its_length_stays() {
        let token = format!("ghp_{}", "a1".repeat(18));
        let text = format!(
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@ fn x\n-old\n+{token}\n\
             diff --git a/b b/b\n@@ -1 +1 @@\n-one\n+two\n"
        );
        let mut diff = text.clone().into_bytes();
        assert_eq!(mask(&mut diff), 1);
        let masked = String::from_utf8(diff).unwrap();
        assert_eq!(masked.len(), text.len());
        assert!(
            masked
                .starts_with("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@*****\n-***\n+****")
        );
        assert!(masked.ends_with("diff --git a/b b/b\n@@ -1 +1 @@\n-one\n+two\n"));
        assert!(!masked.contains(&token));
    }
}

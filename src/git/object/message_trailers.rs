//! Trailers at the end of a commit's message.

use gix::bstr::ByteSlice as _;

/// Adds a trailer to a message that does not have it: to the trailers at its end, or else as a paragraph of its own.
pub fn with_trailer(message: String, trailer: &str) -> String {
    let has_it = |line: &str| line.trim().eq_ignore_ascii_case(trailer);
    if message.lines().any(has_it) {
        return message;
    }
    let text = message.trim_end();
    let gap = String::from_utf8_lossy(gap_before_trailer(text.as_bytes())).into_owned();
    format!("{text}{gap}{trailer}\n")
}

/// Returns the newlines between a message without trailing whitespace and a further trailer.
pub(super) fn gap_before_trailer(text: &[u8]) -> &'static [u8] {
    let last = text.rsplit_str("\n\n").next().unwrap_or_default();
    let is_trailer = |line: &[u8]| {
        let key = line.split(|&byte| byte == b':').next().unwrap_or_default();
        let plain = |&byte: &u8| byte.is_ascii_alphanumeric() || byte == b'-';
        line.starts_with(b"(cherry picked from commit ")
            || (key.len() < line.len() && !key.is_empty() && key.iter().all(plain))
    };
    let ends_in_trailers = last.len() < text.len() && last.lines().all(is_trailer);
    if ends_in_trailers { b"\n" } else { b"\n\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_joins_those_of_the_message_once() {
        let added = |message: &str| with_trailer(message.to_owned(), "Co-authored-by: A <a@b>");
        assert_eq!(added("one"), "one\n\nCo-authored-by: A <a@b>\n");
        assert_eq!(
            added("one\n\nwhy\n\nX-y: z\n"),
            "one\n\nwhy\n\nX-y: z\nCo-authored-by: A <a@b>\n"
        );
        let there = "one\n\nco-authored-by: a <A@b>\n";
        assert_eq!(added(there), there);
    }
}

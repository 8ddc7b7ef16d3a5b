//! No control byte reaches a terminal: names, labels and messages are data wherever they are shown.

/// Makes one line safe: control characters, newlines, and characters that reorder or hide text
/// become visible escapes.
pub fn line(text: &str) -> String {
    if !text.chars().any(is_dangerous) {
        return text.to_owned();
    }
    text.chars().map(|c| if is_dangerous(c) { visible(c) } else { c.to_string() }).collect()
}

/// Makes a patch safe: as [`line()`] does, but newlines and tabs stay.
pub fn patch(text: &str) -> String {
    let cells = text.split_inclusive(['\n', '\t']);
    let safe = cells.map(|cell| match cell.strip_suffix(['\n', '\t']) {
        Some(start) => format!("{}{}", line(start), &cell[start.len()..]),
        None => line(cell),
    });
    safe.collect()
}

/// Makes serialized JSON safe to show: what `serde_json` leaves raw becomes `\u` escapes.
pub fn json(text: &str) -> String {
    if !text.chars().any(|c| is_dangerous(c) && c != '\n') {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_dangerous(c) && c != '\n' {
            let mut units = [0_u16; 2];
            for unit in c.encode_utf16(&mut units) {
                safe.push_str("\\u");
                safe.extend([12, 8, 4, 0].map(|shift| hex_digit(*unit >> shift)));
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

fn hex_digit(value: u16) -> char {
    char::from_digit(u32::from(value & 0xf), 16).unwrap_or('0')
}

fn visible(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        c if c.is_ascii() => format!("\\x{:02x}", u32::from(c)),
        c => format!("\\u{{{:x}}}", u32::from(c)),
    }
}

/// Returns `true` for control characters, and those that are invisible or turn the reading direction.
pub fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{061c}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_control_byte_survives(text in any::<String>()) {
            let safe = super::line(&text);
            let bad = safe.chars().find(|c| super::is_dangerous(*c));
            prop_assert_eq!(bad, None);
        }

        #[test]
        fn a_patch_keeps_tabs_and_line_ends_alone(text in any::<String>()) {
            let safe = super::patch(&text);
            let layout = |c: &char| matches!(c, '\t' | '\n');
            prop_assert!(!safe.chars().any(|c| super::is_dangerous(c) && !layout(&c)));
            let kept = safe.chars().filter(layout);
            prop_assert!(kept.eq(text.chars().filter(layout)));
        }

        #[test]
        fn escaped_json_means_the_same(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            let back: String = serde_json::from_str(&super::json(&json)).unwrap();
            prop_assert_eq!(back, text);
        }
    }
}

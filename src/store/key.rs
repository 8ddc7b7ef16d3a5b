//! The one encoding for names that become a component of a path or of a ref: scopes, agents, branches.

use std::fmt::Write as _;

/// Encodes a name as one component of a path and of a ref, whatever bytes it holds.
///
/// Letters, digits, `-`, `_` and `.` stay, unless they would make the component special (`.`, `..`, a leading
/// dot, a final `.lock` or dot); every other byte becomes `%` and two upper-case hex digits.
pub fn encode(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let last_dot = name.rfind('.');
    let special = |end: &str| matches!(end, ".lock" | ".");
    let last_dot = last_dot.filter(|at| name.get(*at..).is_some_and(special));
    for (at, byte) in name.bytes().enumerate() {
        let dot = byte == b'.';
        let double = dot && name.as_bytes().get(at + 1) == Some(&b'.');
        let escaped_dot = dot && (at == 0 || Some(at) == last_dot || double);
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if plain && !escaped_dot {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            write!(text, "%{byte:02X}").ok();
        }
    }
    text
}

/// Decodes the result of [`encode`]; returns `None` for anything else.
pub fn decode(component: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(component.len());
    let mut rest = component.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let hex = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(hex, 16).ok()?);
        rest = rest.get(2..)?;
    }
    let name = String::from_utf8(bytes).ok()?;
    (encode(&name) == component).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in ["main", "ada", "v1.2", "try-2_b"] {
            assert_eq!(encode(name), name);
        }
        assert_eq!(encode("fork/x"), "fork%2Fx");
        assert_eq!(encode(".."), "%2E%2E");
        assert_eq!(encode("a.lock"), "a%2Elock");
        assert_eq!(decode("%41"), None, "nothing else means 'A'");
        assert_eq!(decode("%2"), None);
    }

    proptest! {
        #[test]
        fn every_name_is_decoded_and_is_one_component(name in any::<String>()) {
            let component = encode(&name);
            prop_assert_eq!(decode(&component), Some(name.clone()));
            prop_assert!(!component.contains('/') && !component.starts_with('.'));
            let full = format!("refs/x/{component}");
            prop_assert_eq!(crate::git::RefName::from(full.as_str()).is_valid(), !name.is_empty());
        }
    }
}

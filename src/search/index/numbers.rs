//! Numbers of variable length: seven bits in each byte, the lowest first.

/// Appends a number.
pub(super) fn write(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// The numbers of some bytes; damaged ones end early.
#[derive(Clone)]
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl Iterator for Numbers<'_> {
    type Item = u32;

    // A program that is compiled for size would call it for each number.
    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (number, rest) = match self.0 {
            // Most are that small.
            [first, rest @ ..] if *first < 0x80 => (u32::from(*first), rest),
            bytes => long_number(bytes)?,
        };
        self.0 = rest;
        Some(number)
    }
}

/// Returns the number at the beginning, and the bytes after it.
#[inline(never)]
fn long_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let part = |byte: &u8, shift: u32| u32::from(byte & 0x7f) << shift;
    match bytes {
        [first, second, rest @ ..] if *second < 0x80 => {
            Some((part(first, 0) | part(second, 7), rest))
        }
        [first, second, third, rest @ ..] if *third < 0x80 => {
            Some((part(first, 0) | part(second, 7) | part(third, 14), rest))
        }
        _ => {
            let length = bytes.iter().take(5).position(|byte| *byte < 0x80)? + 1;
            let (number, rest) = bytes.split_at_checked(length)?;
            let parts = number.iter().zip([0, 7, 14, 21, 28]);
            Some((parts.fold(0, |sum, (byte, shift)| sum | part(byte, shift)), rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_read_as_they_were_written(numbers: Vec<u32>) {
            let mut bytes = Vec::new();
            for &number in &numbers {
                write(&mut bytes, number);
            }
            prop_assert_eq!(Numbers(&bytes).collect::<Vec<_>>(), numbers);
        }

        #[test]
        fn small_numbers_are_read_as_they_were_written(numbers in proptest::collection::vec(0..70_000_u32, 0..9)) {
            let mut bytes = Vec::new();
            for &number in &numbers {
                write(&mut bytes, number);
            }
            prop_assert_eq!(Numbers(&bytes).collect::<Vec<_>>(), numbers);
        }
    }
}

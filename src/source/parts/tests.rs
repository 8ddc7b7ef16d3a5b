//! Tests of the parts of long texts.

use proptest::prelude::*;

use crate::text::count::counted_bytes;

use super::*;

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => "[ ]{0,8}[a-z]{1,9}( [a-z0-9(){};=.]{1,9}){0,9}\n",
        2 => Just("\n".to_owned()),
        1 => "[a-zé]{1,3000}\n",
        1 => "(日本語|\"|\\\\|\t){1,40}\n",
    ];
    proptest::collection::vec(line, 0..80).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn parts_hold_every_byte_once_and_fit(text in text(), budget in 30_usize..400) {
        let parts = cut(Tokenizer::O200k, &text, budget);
        let mut at = 0;
        for part in &parts {
            prop_assert_eq!(part.range.start, at);
            at = part.range.end;
            let tokens = Tokenizer::O200k.count(&json_string(&text[part.range.clone()]));
            prop_assert_eq!(part.tokens, tokens);
            prop_assert!(tokens <= budget);
        }
        prop_assert_eq!(at, text.len());
        prop_assert!(!parts.is_empty());
    }
}

#[test]
fn a_text_of_several_blocks_is_cut_like_any_other() {
    let line = |n: usize| format!("line {} of the text, {}\n", n, n * 7919 % 1009);
    let text: String = (0..90_000).map(line).collect();
    assert!(text.len() > 2 * BLOCK);
    let parts = cut(Tokenizer::Bytes, &text, 4000);
    let joined: String = parts.iter().map(|part| &text[part.range.clone()]).collect();
    assert_eq!(joined, text);
    let (last, others) = parts.split_last().unwrap();
    assert!(last.tokens <= 4000);
    assert!(others.iter().all(|part| part.tokens <= 4000 && part.tokens >= 2390));
}

/// Texts without a place to cut, longer than a block in JSON.
fn without_white_space() -> Vec<String> {
    let runs = [
        "\u{1f600}",
        "\\",
        "\"",
        "\u{6f22}\u{5b57}",
        "e\u{301}\u{301}",
        "a",
        "\u{e9}\u{301}\u{323}\u{200d}",
        ".",
        " ",
        "\n",
    ];
    let repeat = |run: &str| run.repeat(1_200_000 / json_length(run));
    let mut texts: Vec<String> = runs.into_iter().map(repeat).collect();
    texts.push(format!("e{}", "\u{301}".repeat(600_000)));
    texts
}

#[test]
fn what_is_counted_grows_with_the_text_only() {
    for text in without_white_space() {
        let few: String = text.chars().take(30_000).collect();
        for (text, budget, most) in [(&text, 4000, 4), (&few, MIN_BUDGET, 30)] {
            let before = counted_bytes();
            let parts = cut(Tokenizer::O200k, text, budget);
            let counted = (counted_bytes() - before) / json_length(text);
            let sample: String = text.chars().take(8).collect();
            // Counting each part from its beginning to the end of its block would be a hundred
            // times the text.
            assert!(counted <= most, "{sample:?}: {counted} times the text");
            let end = parts.iter().fold(0, |at, part| {
                assert_eq!(part.range.start, at, "{sample:?}");
                assert!(part.tokens <= budget, "{sample:?}");
                part.range.end
            });
            assert_eq!(end, text.len(), "{sample:?}");
        }
    }
}

#[test]
fn an_edit_changes_the_parts_around_it_only() {
    let line = |n: usize| format!("fn name_{}() {{ {} }}\n\n", n, n * 7919 % 1009);
    let lines: Vec<String> = (0..3000).map(line).collect();
    let before = lines.concat();
    let after = [&lines[..1500], &["a new line\n".to_owned()], &lines[1500..]].concat().concat();
    let texts = |text: &str| -> Vec<String> {
        let parts = cut(Tokenizer::O200k, text, 1000);
        parts.into_iter().map(|part| text[part.range].to_owned()).collect()
    };
    let (before, after) = (texts(&before), texts(&after));
    let new = after.iter().filter(|part| !before.contains(part)).count();
    assert!(before.len() > 30 && new <= 3, "{new} of {}", before.len());
}

/// Functions of different lengths, as lines.
fn functions(count: usize, next: &mut impl FnMut(usize) -> usize) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..count {
        lines.push(format!("fn name_{}(input: &str) -> usize {{\n", next(100_000)));
        for _ in 0..next(40) + 2 {
            lines.push(format!("    step({}, {});\n", next(10_000), next(100)));
        }
        lines.extend(["}\n".to_owned(), "\n".to_owned()]);
    }
    lines
}

/// Returns a generator of numbers below its argument.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    }
}

/// The most tokens of a part in these tests.
const BUDGET: usize = 4000;

fn parts_of(text: &str) -> Vec<String> {
    let parts = cut(Tokenizer::Bytes, text, BUDGET).into_iter();
    parts.map(|part| text[part.range].to_owned()).collect()
}

/// Inserts up to `most` lines at 60 random places; returns how many parts are new each time, in
/// ascending order.
fn new_parts(lines: &[String], most: usize, next: &mut impl FnMut(usize) -> usize) -> Vec<usize> {
    let before = parts_of(&lines.concat());
    let mut counts: Vec<usize> = (0..60)
        .map(|_| {
            let (head, tail) = lines.split_at(next(lines.len()));
            let many = functions(most, next);
            let more = many.get(..next(most) + 1).unwrap_or(&many);
            let after = parts_of(&[head, more, tail].concat().concat());
            after.iter().filter(|part| !before.contains(part)).count()
        })
        .collect();
    counts.sort_unstable();
    counts
}

#[test]
fn an_insertion_changes_few_parts_however_long_it_is() {
    let mut next = numbers(7);
    let lines = functions(1000, &mut next);
    let text = lines.concat();
    let parts = cut(Tokenizer::Bytes, &text, BUDGET);
    let begins_well = |part: &&Part| text[part.range.clone()].starts_with("fn ");
    let tokens: usize = parts.iter().map(|part| part.tokens).sum();
    let good = parts.iter().filter(begins_well).count();
    assert!(good * 10 >= parts.len() * 9, "{good} of {}", parts.len());
    assert!(tokens * 100 >= parts.len() * BUDGET * 78, "{tokens} in {}", parts.len());
    let short = new_parts(&lines, 60, &mut next);
    let sum: usize = short.iter().sum();
    assert!(sum <= 2 * 60 && short[56] <= 4 && short[59] <= 6, "{short:?}");
    // An insertion of this length is most of a part itself.
    let long = new_parts(&lines, 300, &mut next);
    assert!(long[56] <= 5 && long[59] <= 7, "{long:?}");
}

#[test]
fn equal_lines_are_cut_in_few_steps() {
    for line in ["\n", "}\n", "a\n"] {
        let text = line.repeat(200_000 / line.len());
        let parts = cut(Tokenizer::Bytes, &text, MIN_BUDGET);
        assert!(parts.iter().all(|part| part.tokens <= MIN_BUDGET));
        assert_eq!(parts.last().map(|part| part.range.end), Some(text.len()));
    }
}

//! The vocabularies against those of the crate `bpe-openai`.

use proptest::prelude::*;

use super::*;

fn both() -> [(&'static Vocabulary, &'static bpe_openai::Tokenizer); 2] {
    [(o200k(), bpe_openai::o200k_base()), (cl100k(), bpe_openai::cl100k_base())]
}

#[test]
fn every_token_has_its_rank_and_is_encoded_as_itself() {
    let mut encoder = Encoder::new();
    for (ours, reference) in both() {
        let count = u32::try_from(reference.bpe.num_tokens()).unwrap();
        for rank in 0..count {
            let token = reference.bpe.token_bytes(rank);
            assert_eq!(ours.tokens.token(rank), token);
            assert_eq!(ours.tokens.rank(token), Some(rank));
            assert_eq!(encoder.encode(&ours.tokens, token), [rank], "{token:?}");
        }
        assert_eq!(ours.tokens.token(count), b"");
    }
}

/// Splits and encodes a text by both; returns how many tokens it has in `o200k_base`.
fn check(text: &str) -> usize {
    let mut encoder = Encoder::new();
    for (ours, reference) in both() {
        let pieces: Vec<&str> = ours.split(text).collect();
        assert!(reference.split(text).eq(pieces.iter().copied()), "{text:?}");
        for piece in pieces {
            let tokens = reference.bpe.encode_via_backtracking(piece.as_bytes());
            assert_eq!(encoder.encode(&ours.tokens, piece.as_bytes()), tokens);
            assert_eq!(ours.count(piece, &mut encoder), tokens.len());
            assert_eq!(ours.lengths(piece).iter().sum::<usize>(), piece.len());
        }
    }
    o200k().split(text).map(|piece| o200k().count(piece, &mut encoder)).sum()
}

#[test]
fn files_count_as_by_the_reference() {
    check(include_str!("../../../CHANGELOG.md"));
    check(include_str!("../../../benches/compare"));
    check(include_str!("mod.rs"));
    check(
        "速度を測る。計測した値を比べる — 매우 빠르다, совсем не медленно, çok güzel\u{17f} '\u{17f} 'RE",
    );
    assert_eq!(check(""), 0);
}

/// What takes quadratic time where each merge looks at a whole run again.
const RUNS: [&str; 6] = ["a", " ", "-", "ab", "\u{a0}", "東京"];

#[test]
fn long_runs_count_as_by_the_reference() {
    for run in RUNS {
        check(&run.repeat(3000));
    }
    check(&letters(20_000));
}

#[test]
fn the_work_of_encoding_grows_with_the_text_only() {
    let steps = |text: &str| {
        let mut encoder = Encoder::new();
        let before = tokens::steps();
        for piece in o200k().split(text) {
            encoder.encode(&o200k().tokens, piece.as_bytes());
        }
        tokens::steps() - before
    };
    let runs = RUNS.map(|run| run.repeat(20_000 / run.len()));
    for text in runs.iter().chain([&letters(20_000)]) {
        let (once, twice) = (steps(text), steps(&text.repeat(2)));
        // Where each merge looks at the whole run, it is four times as much.
        assert!(twice < 3 * once, "{once}, {twice}: {text:.9}");
    }
}

/// Returns lower-case letters that make no words, always the same.
fn letters(count: usize) -> String {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + u8::try_from(state >> 28).unwrap())
    };
    std::iter::repeat_with(next).take(count).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_text_counts_as_by_the_reference(text: String, more in "(\\PC{0,9}[ \t\r\n]{0,4}['a-zA-Z_.,/=-]{0,30}[ぁ-ん一-龥]{0,20}[0-9]{0,5}){0,9}") {
        check(&text);
        check(&more);
    }

    #[test]
    fn any_run_of_few_letters_counts_as_by_the_reference(text in "[aest]{0,300}|[ab]{0,300}|[あいん]{0,99}|[-=*]{0,300}") {
        check(&text);
    }
}

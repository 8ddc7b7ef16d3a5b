//! The guarantees for chunks, tested with texts of every kind.

use proptest::prelude::*;

use crate::text::count::json_tokens;
use crate::text::sentence;
use crate::text::tokenizer::Tokenizer;

use super::*;

fn o200k(text: &str) -> usize {
    json_tokens(Tokenizer::O200k, text)
}

fn cut(text: &str, target: usize, overlap: usize) -> Vec<Chunk> {
    chunk(text, ChunkSize::new(target, overlap).unwrap(), &o200k)
}

/// Checks chunks against all guarantees.
fn hold(text: &str, size: ChunkSize, chunks: &[Chunk]) {
    let mut covered = 0;
    let mut before = 0;
    for chunk in chunks {
        let part = &text[chunk.start..chunk.end];
        assert_eq!(part, part.trim(), "white space at a border");
        assert!(chunk.end > covered, "a chunk that goes nowhere: {part:?}");
        assert!(chunk.start >= before, "out of order");
        assert_eq!(chunk.tokens, o200k(part));
        assert!(chunk.tokens <= size.target(), "{} tokens", chunk.tokens);
        assert_eq!(chunk.overlap_bytes, covered.saturating_sub(chunk.start));
        if chunk.start > covered {
            assert!(text[covered..chunk.start].trim().is_empty(), "bytes lost");
        }
        covered = chunk.end;
        before = chunk.start;
    }
    assert!(text[covered..].trim().is_empty(), "tail lost");
}

fn prose(sentences: usize) -> String {
    let sentence = |number: usize| {
        let end = if number % 5 == 4 { "\n\n" } else { " " };
        format!("Sentence {number} tells that the value of gauge {number} was read at noon.{end}")
    };
    (0..sentences).map(sentence).collect()
}

/// Texts with no natural ends, or with nothing else.
fn unlike_prose() -> Vec<String> {
    let runs = [
        "\u{1f600}",
        "\\",
        "\"",
        "\u{6f22}\u{5b57}",
        "e\u{301}\u{301}",
        "a",
        ". ",
        "a.",
        ".",
        "# h\n",
        "#",
        "1. ",
        "(",
        "...",
        "a. ",
        "\u{3002}",
        "\n.",
        "\n\n-",
        "\u{1} ",
        "\u{1}",
    ];
    let long = |run: &&str| run.repeat(100_000 / run.len());
    runs.iter().map(long).collect()
}

#[test]
fn what_is_counted_grows_with_the_text_only() {
    for text in unlike_prose() {
        let counted = std::cell::Cell::new(0);
        let count = |text: &str| {
            counted.set(counted.get() + text.len());
            o200k(text)
        };
        let size = ChunkSize::default();
        let sections: Vec<usize> = text.match_indices("# h").map(|(at, _)| at).collect();
        let chunks = chunk_sections(&text, &sections, size, &count);
        let sample: String = text.chars().take(8).collect();
        let times = counted.get() / text.len();
        // Removing one unit after the other would count hundreds of times the text.
        assert!(times < 32, "{sample:?}: {times} times the text");
        let last = chunks.last().unwrap();
        assert_eq!(last.end, text.trim_end().len(), "{sample:?}");
    }
}

#[test]
fn a_text_without_words_has_no_chunks() {
    for text in ["", " ", "\n\n \n", "\u{c}\u{a0}"] {
        assert_eq!(cut(text, 800, 100), []);
    }
}

#[test]
fn a_short_text_is_one_chunk_and_its_bytes_are_as_they_were() {
    let text = "\n\n  A  \tnote.\r\n\r\n\r\nAnd   more.  \n";
    let chunks = cut(text, 800, 100);
    assert_eq!(chunks.len(), 1);
    assert_eq!(&text[chunks[0].start..chunks[0].end], "A  \tnote.\r\n\r\n\r\nAnd   more.");
}

#[test]
fn the_tail_is_neither_lost_nor_told_twice() {
    let size = ChunkSize::default();
    for sentences in [40, 44, 48, 49, 50, 51, 60, 200] {
        let text = prose(sentences);
        let chunks = chunk(&text, size, &o200k);
        hold(&text, size, &chunks);
        for pair in chunks.windows(2) {
            let (before, after) = (&text[..pair[0].end], &text[pair[1].start..pair[1].end]);
            assert!(!before.ends_with(after));
            let fresh = pair[1].end - pair[1].start - pair[1].overlap_bytes;
            assert!(fresh > 0);
        }
    }
}

#[test]
fn ten_short_paragraphs_are_one_chunk() {
    let text = ["A paragraph of some words that is by no means long."; 10].join("\n\n");
    assert_eq!(cut(&text, 800, 100).len(), 1);
}

#[test]
fn a_paragraph_over_the_target_is_cut_at_sentences() {
    let text = prose(400).replace("\n\n", " ");
    let chunks = cut(&text, 800, 100);
    assert!(chunks.len() > 5);
    hold(&text, ChunkSize::default(), &chunks);
    for chunk in &chunks {
        assert!(sentence::is_closed(&text[chunk.start..chunk.end]));
        assert!(text[chunk.start..].starts_with("Sentence "));
    }
}

#[test]
fn small_chunks_end_at_sentences_too() {
    let words = ["side", "girl", "body", "father", "problem", "job", "state"];
    let paragraph = |n: usize| {
        let word = |at: usize| words.iter().cycle().nth(n * 5 + at * 3).unwrap().to_string();
        let words: Vec<String> = (0..16).map(word).collect();
        format!("Then {}.\n\n", words.join(" "))
    };
    let text: String = (0..80).map(paragraph).collect();
    for (target, overlap) in [(64, 0), (64, 8), (100, 20)] {
        let chunks = cut(&text, target, overlap);
        let closed = |chunk: &&Chunk| sentence::is_closed(&text[chunk.start..chunk.end]);
        assert_eq!(chunks.iter().filter(closed).count(), chunks.len(), "{target}");
        let tokens: usize = chunks.iter().map(|chunk| chunk.tokens).sum();
        assert!(tokens * 10 >= chunks.len() * target * 7, "{tokens} in {}", chunks.len());
    }
}

#[test]
fn a_chunk_repeats_whole_sentences_of_the_one_before() {
    let text = prose(200);
    for chunk in cut(&text, 800, 100).iter().skip(1) {
        let repeated = &text[chunk.start..chunk.start + chunk.overlap_bytes];
        let tokens = o200k(repeated);
        assert!((50..=102).contains(&tokens), "{tokens}");
        assert!(repeated.starts_with("Sentence ") && repeated.ends_with('.'));
    }
    let plain = cut(&text, 800, 0);
    assert!(plain.iter().all(|chunk| chunk.overlap_bytes == 0));
}

#[test]
fn what_has_neither_sentences_nor_words_is_cut_anyway() {
    let size = ChunkSize::new(64, 16).unwrap();
    for text in [
        "x".repeat(5000),
        "0123456789abcdef".repeat(400),
        "\u{1f600}".repeat(500),
        "\u{4e00}\u{4e8c}".repeat(500),
        "\u{1}\u{2}\\\"".repeat(300),
        "a\n".repeat(2000),
        format!("a{}b", "\n".repeat(5000)),
        format!("word{}", " ".repeat(9000)).repeat(3),
    ] {
        hold(&text, size, &chunk(&text, size, &o200k));
    }
}

#[test]
fn a_change_does_not_reach_the_chunks_far_behind_it() {
    let text = prose(3000);
    let changed = text.replacen("gauge 7 ", "gauge number seven ", 1);
    let texts = |text: &str| -> std::collections::BTreeSet<String> {
        let cut = cut(text, 200, 40).into_iter();
        cut.map(|chunk| text[chunk.start..chunk.end].to_owned()).collect()
    };
    let (before, after) = (texts(&text), texts(&changed));
    let new = after.difference(&before).count();
    assert!(new * 4 < after.len(), "{new} of {} are new", after.len());
}

#[test]
fn a_chunk_ends_before_a_heading_and_small_sections_share_one() {
    let part = |number: usize| format!("# Part {number}\n{}\n\n", prose(1 + number % 3));
    let text: String = (0..40).map(part).collect();
    let sections: Vec<usize> = text.match_indices('#').map(|(at, _)| at).collect();
    let size = ChunkSize::new(400, 60).unwrap();
    let chunks = chunk_sections(&text, &sections, size, &o200k);
    hold(&text, size, &chunks);
    assert!(chunks.len() < 40);
    for chunk in &chunks {
        assert!(text[chunk.start..].starts_with("# Part "));
        assert_eq!(chunk.overlap_bytes, 0);
    }
}

#[test]
fn what_is_repeated_is_of_the_same_section() {
    let text = format!("# One\n{}# Two\nShort. {}", prose(60), prose(60));
    let two = text.find("# Two").unwrap();
    let size = ChunkSize::default();
    for start in chunk_sections(&text, &[0, two], size, &o200k) {
        let (from, to) = (start.start, start.start + start.overlap_bytes);
        assert!(from >= two || to <= two);
    }
}

#[test]
fn a_size_that_cannot_be_kept_is_refused() {
    assert_eq!(ChunkSize::new(0, 0), Err(SizeFault::TargetTooSmall));
    assert_eq!(ChunkSize::new(15, 0), Err(SizeFault::TargetTooSmall));
    assert_eq!(ChunkSize::new(800, 800), Err(SizeFault::OverlapTooLarge));
    assert_eq!(ChunkSize::new(800, 100), Ok(ChunkSize::default()));
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[A-Za-z]{1,12}[ ,.!?:]{1,2}",
        1 => "\\PC{0,20}",
        1 => Just("\n".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => Just(" e.g. Fig. 3. ".to_owned()),
        1 => "[\u{3040}-\u{309f}\u{3002}]{1,30}",
        1 => any::<String>(),
    ];
    proptest::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_text_is_covered_within_the_limit(
        text in pieces(),
        target in MIN_TARGET_TOKENS..200,
        share in 0_usize..100,
    ) {
        let size = ChunkSize::new(target, target * share / 100).unwrap();
        let chunks = chunk(&text, size, &o200k);
        hold(&text, size, &chunks);
        prop_assert_eq!(&chunks, &chunk(&text, size, &o200k));
        let sections: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        hold(&text, size, &chunk_sections(&text, &sections, size, &o200k));
    }
}

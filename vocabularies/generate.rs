//! Writes the merges of the vocabularies, which the program carries: `cargo run --release --example vocabularies`.
//!
//! The vocabularies are those of `OpenAI`, as published with tiktoken (MIT license), and taken here from the crate
//! `bpe-openai` (MIT license). A file has the 256 single bytes by rank, then five bytes for each other token, the
//! lowest first: the ranks of the two tokens that byte pair encoding merges to it last, in 20 bits each.

#![expect(clippy::disallowed_methods, reason = "this is a tool of the developers")]

use std::collections::HashMap;

use bpe_openai::byte_pair_encoding::BytePairEncoding;

fn main() -> std::io::Result<()> {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("vocabularies");
    let vocabularies = [("o200k", bpe_openai::o200k_base()), ("cl100k", bpe_openai::cl100k_base())];
    for (name, vocabulary) in vocabularies {
        let file = merges(&vocabulary.bpe);
        let file = file.ok_or_else(|| std::io::Error::other("a token is not merged from two"))?;
        std::fs::write(directory.join(format!("{name}.merges")), file)?;
    }
    Ok(())
}

/// Returns what the file of a vocabulary has; `None` for one whose tokens are not single bytes, then merges.
fn merges(vocabulary: &BytePairEncoding) -> Option<Vec<u8>> {
    let count = u32::try_from(vocabulary.num_tokens()).ok()?;
    let ranks: HashMap<&[u8], u32> =
        (0..count).map(|rank| (vocabulary.token_bytes(rank), rank)).collect();
    let mut file = Vec::new();
    for rank in 0..count {
        match (rank, vocabulary.token_bytes(rank)) {
            (..256, [byte]) => file.push(*byte),
            (256.., token) => {
                let (left, right) = last_merge(token, &ranks)?;
                let both = u64::from(left) | u64::from(right) << 20;
                file.extend_from_slice(both.to_le_bytes().first_chunk::<5>()?);
            }
            _ => return None,
        }
    }
    Some(file)
}

/// Merges the bytes of a token by the definition of byte pair encoding, until there are two.
fn last_merge(token: &[u8], ranks: &HashMap<&[u8], u32>) -> Option<(u32, u32)> {
    let mut ends: Vec<usize> = (0..=token.len()).collect();
    while ends.len() > 3 {
        let merged = |at: &usize| {
            let part = token.get(*ends.get(at - 1)?..*ends.get(at + 1)?)?;
            Some((*ranks.get(part)?, *at))
        };
        let (_, at) = (1..ends.len() - 1).filter_map(|at| merged(&at)).min()?;
        ends.remove(at);
    }
    let middle = *ends.get(1)?;
    Some((*ranks.get(token.get(..middle)?)?, *ranks.get(token.get(middle..)?)?))
}

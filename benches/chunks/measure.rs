//! Measures chunks of the literature of git repositories, as their commit HEAD has it:
//!
//! ```text
//! cargo run --release --example chunks -- [--target N] [--overlap N] GIT_DIR...
//! ```
//!
//! Each repository is measured twice: with every document as one section, as the references of other
//! chunkers were, and with the sections of the reader. "fill" is the mean of tokens / target: over all
//! chunks, and over those that are not the last of a document (which is as long as it is).
//! "sentence" is the share of chunks whose last character is one of `. ! ? : ) "`; "lost" counts bytes
//! that are no white space and in no chunk, "twice" the share of bytes that are in two; "MB/s" is one
//! thread, and "of count" that speed in relation to only counting the tokens of the documents.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "this is a tool of the developers"
)]

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use git_colony::testing::{
    ChunkSize, Document, Format, RepoPath, Tokenizer, chunk, json_tokens, readers,
};

/// What is said of the chunks of one repository.
#[derive(Default)]
struct Figures {
    bytes: usize,
    chunks: usize,
    fill: f64,
    followed: usize,
    fill_followed: f64,
    most: usize,
    sentences: usize,
    lost: usize,
    twice: usize,
    time: Duration,
}

fn count(text: &str) -> usize {
    json_tokens(Tokenizer::O200k, text)
}

impl Figures {
    fn add(&mut self, text: &str, sections: &[usize], size: ChunkSize) {
        let start = Instant::now();
        let chunks = chunk::chunk_sections(text, sections, size, &count);
        self.time += start.elapsed();
        self.bytes += text.len();
        let mut covered = 0;
        for (index, chunk) in chunks.iter().enumerate() {
            let part = text.get(chunk.start..chunk.end).unwrap_or_default();
            let fill = share(chunk.tokens, size.target());
            self.fill += fill;
            if index + 1 < chunks.len() {
                self.followed += 1;
                self.fill_followed += fill;
            }
            self.most = self.most.max(chunk.tokens);
            self.sentences += usize::from(part.ends_with(['.', '!', '?', ':', ')', '"']));
            self.twice += chunk.overlap_bytes;
            self.lost += black_bytes(text.get(covered..chunk.start.max(covered)));
            covered = chunk.end;
        }
        self.lost += black_bytes(text.get(covered..));
        self.chunks += chunks.len();
    }

    fn print(&self, name: &str, cut: &str, counting: Duration) {
        println!(
            "| {name} | {cut} | {:.2} | {} | {:.3} | {:.3} | {} | {:.3} | {} | {:.3} | {:.1} | {:.2} |",
            share(self.bytes, 1_000_000),
            self.chunks,
            self.fill / share(self.chunks.max(1), 1),
            self.fill_followed / share(self.followed.max(1), 1),
            self.most,
            share(self.sentences, self.chunks),
            self.lost,
            share(self.twice, self.bytes),
            share(self.bytes, 1_000_000) / self.time.as_secs_f64(),
            counting.as_secs_f64() / self.time.as_secs_f64(),
        );
    }
}

fn black_bytes(text: Option<&str>) -> usize {
    text.unwrap_or_default().split_whitespace().map(str::len).sum()
}

#[expect(clippy::cast_precision_loss, reason = "shares are shown with 3 digits")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn git(git_dir: &str, args: &[&str]) -> Option<Vec<u8>> {
    let mut git = Command::new("git");
    let output = git.arg("--git-dir").arg(git_dir).args(args).output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn documents(git_dir: &str) -> Option<Vec<Document>> {
    let names = git(git_dir, &["ls-tree", "-rz", "--name-only", "HEAD"])?;
    let mut found = Vec::new();
    for name in names.split(|&byte| byte == 0) {
        let format = Format::of(&RepoPath::new(name)).filter(|format| *format != Format::Pdf);
        let (Some(format), Ok(name)) = (format, std::str::from_utf8(name)) else {
            continue;
        };
        let bytes = git(git_dir, &["cat-file", "blob", &format!("HEAD:{name}")])?;
        found.extend(readers::read_text(format, &bytes));
    }
    Some(found)
}

fn measure(git_dir: &str, size: ChunkSize) -> Option<()> {
    let documents = documents(git_dir)?;
    let (mut whole, mut cut) = (Figures::default(), Figures::default());
    // The vocabulary is loaded once, and not counted.
    count("warm");
    let start = Instant::now();
    let tokens: usize = documents.iter().map(|d| count(&d.text)).sum();
    let counting = start.elapsed();
    for document in &documents {
        whole.add(&document.text, &[], size);
        let sections: Vec<usize> = document.sections.iter().map(|s| s.start).collect();
        cut.add(&document.text, &sections, size);
    }
    let name = git_dir.trim_end_matches("/repo").rsplit('/').next()?;
    let name = format!("{name}: {} documents, {tokens} tokens", documents.len());
    whole.print(&name, "whole", counting);
    cut.print(&name, "sections", counting);
    Some(())
}

fn main() -> ExitCode {
    let mut numbers = [chunk::DEFAULT_TARGET_TOKENS, chunk::DEFAULT_OVERLAP_TOKENS];
    let mut repositories = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let index = match arg.as_str() {
            "--target" => 0,
            "--overlap" => 1,
            _ => {
                repositories.push(arg);
                continue;
            }
        };
        let number = args.next().and_then(|number| number.parse().ok());
        let (Some(number), Some(place)) = (number, numbers.get_mut(index)) else {
            println!("{arg} needs a number");
            return ExitCode::from(2);
        };
        *place = number;
    }
    let [target, overlap] = numbers;
    let Ok(size) = ChunkSize::new(target, overlap) else {
        println!("no such size: {target} tokens, {overlap} of them repeated");
        return ExitCode::from(2);
    };
    println!("target {target}, overlap {overlap}, o200k");
    println!(
        "| repository | cut | MB | chunks | fill | fill, not last | most | sentence | lost | twice | MB/s | of count |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for repository in &repositories {
        if measure(repository, size).is_none() {
            println!("cannot read {repository}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

//! What pages of git-colony are measured against:
//!
//! ```text
//! cargo run --release --example references -- floor DIRECTORY < names
//! cargo run --release --example references -- pages GIT_DIR < pairs
//! ```
//!
//! "floor" reads the files of a directory whose names come NUL-terminated, and counts the tokens of the
//! JSON string of each text, on one thread: no exact map can do with less. It prints files, bytes and
//! tokens.
//!
//! "pages" packs trees by algorithms known from elsewhere: `greedy` fills pages in the order of the
//! paths over the whole tree and cuts long files when a page is full; `content` fills pages per
//! directory and cuts long files where, among the lines at which a part is 0.75 to 1.0 full, the hash of
//! the line is least. A line of the input is two commits; the answer is one JSON object for each: new
//! pages of the second over the first, and fill and number of its pages. Tokens are exact counts of the
//! JSON values, as the product has them; a page has 4096 of them and 20 records at most. The place of a
//! part in its file is not part of its name, in favor of the algorithms.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a tool of the developers")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use git_colony::testing::{
    BareRepo, Measured, Objects, Oid, RepoPath, Result, Tokenizer, file, json_string, json_tokens,
    record,
};

const TOKENS: usize = 4096;
const RECORDS: usize = 20;
const TOKENIZER: Tokenizer = Tokenizer::O200k;

/// Longer lines are cut in stretches of so many bytes.
const MAX_LINE_BYTES: usize = 1024;

type Digest = [u8; 16];

fn digest(parts: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

/// Which of the two algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Algorithm {
    Greedy,
    Content,
}

/// A record: what it says, and its tokens.
#[derive(Clone, Copy, Debug)]
struct Record {
    name: Digest,
    tokens: usize,
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().take(8192).any(|&byte| byte == 0)
}

/// Where a part of a text may end: behind each line, or piece of a long one; in bytes of the text and of
/// its JSON string.
fn units(text: &str) -> Vec<(usize, usize)> {
    let mut found = vec![(0, 1)];
    let (mut at, mut json_at) = (0, 1);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while !rest.is_empty() {
            let least = rest.len().min(MAX_LINE_BYTES);
            let length = (least..=rest.len()).find(|&at| rest.is_char_boundary(at));
            let (piece, left) = rest.split_at(length.unwrap_or(rest.len()));
            rest = left;
            at += piece.len();
            json_at += json_string(piece).len() - 2;
            found.push((at, json_at));
        }
    }
    found
}

/// Cuts a file in records.
fn cut(algorithm: Algorithm, path: &RepoPath, bytes: &[u8]) -> Vec<Record> {
    let (_, text) = file::decode(bytes);
    let name = |part: &str| digest(&[path.as_bytes(), part.as_bytes()]);
    let whole = json_tokens(TOKENIZER, &text) + record::frame_tokens(TOKENIZER, path, None);
    if whole <= TOKENS {
        return vec![Record { name: name(&text), tokens: whole }];
    }
    let frame = record::frame_tokens(TOKENIZER, path, Some("00000000"));
    let budget = TOKENS.saturating_sub(frame);
    let (units, measured) = (units(&text), Measured::new(TOKENIZER, &text));
    let place = |unit: usize| units.get(unit).copied().unwrap_or_default();
    let tokens = |from: usize, to: usize| measured.tokens(place(from).1, place(to).1);
    let slice = |from: usize, to: usize| text.get(place(from).0..place(to).0).unwrap_or_default();
    let (mut records, mut from, end) = (Vec::new(), 0, units.len() - 1);
    while from < end {
        let rest: Vec<usize> = (from + 1..=end).collect();
        let fits = rest.partition_point(|&to| tokens(from, to) <= budget).max(1);
        let mut to = from + fits;
        if algorithm == Algorithm::Content && to < end {
            let least = rest.partition_point(|&to| tokens(from, to) * 4 < budget * 3);
            let window = from + 1 + least.min(fits - 1)..=to;
            let line = |&unit: &usize| digest(&[slice(unit, unit + 1).as_bytes()]);
            to = window.min_by_key(line).unwrap_or(to);
        }
        records.push(Record { name: name(slice(from, to)), tokens: tokens(from, to) + frame });
        from = to;
    }
    records
}

/// The pages of a tree, by their names; and their tokens.
fn pack(algorithm: Algorithm, files: &[(RepoPath, Rc<Vec<Record>>)]) -> Vec<(Digest, usize)> {
    let (mut pages, mut page, mut tokens) = (Vec::new(), Vec::<Digest>::new(), 0);
    let mut close = |page: &mut Vec<Digest>, tokens: &mut usize| {
        if !page.is_empty() {
            let names: Vec<&[u8]> = page.iter().map(Digest::as_slice).collect();
            pages.push((digest(&names), *tokens));
        }
        page.clear();
        *tokens = 0;
    };
    let mut directory = None;
    for (path, records) in files {
        let own = path.parent();
        if algorithm == Algorithm::Content && directory.as_ref() != Some(&own) {
            close(&mut page, &mut tokens);
        }
        directory = Some(own);
        for record in records.iter() {
            if tokens + record.tokens > TOKENS || page.len() == RECORDS {
                close(&mut page, &mut tokens);
            }
            page.push(record.name);
            tokens += record.tokens;
        }
    }
    close(&mut page, &mut tokens);
    pages
}

/// A repository, with what was cut already.
struct Source {
    repo: BareRepo,
    objects: Objects,
    cuts: BTreeMap<(Algorithm, RepoPath, String), Rc<Vec<Record>>>,
}

impl Source {
    /// The files of a directory and those below, those of a directory together.
    fn list(&self, tree: Oid, path: &RepoPath, files: &mut Vec<(RepoPath, Oid)>) -> Result<()> {
        let mut below = Vec::new();
        for named in self.objects.list(tree)? {
            let path = path.join(&RepoPath::new(named.name));
            if named.entry.is_directory() {
                below.push((path, named.entry.id));
            } else if named.entry.is_file() {
                files.push((path, named.entry.id));
            }
        }
        for (path, tree) in below {
            self.list(tree, &path, files)?;
        }
        Ok(())
    }

    fn pages(&mut self, algorithm: Algorithm, commit: &str) -> Result<Vec<(Digest, usize)>> {
        let tree = self.objects.tree_of(self.repo.resolve_commit(commit)?)?;
        let mut files = Vec::new();
        self.list(tree, &RepoPath::new(""), &mut files)?;
        if algorithm == Algorithm::Greedy {
            files.sort();
        }
        let mut cut_files = Vec::new();
        for (path, blob) in files {
            let key = (algorithm, path.clone(), blob.to_string());
            if !self.cuts.contains_key(&key) {
                let bytes = self.objects.blob(blob)?;
                let records = is_text(&bytes).then(|| cut(algorithm, &path, &bytes));
                self.cuts.insert(key.clone(), Rc::new(records.unwrap_or_default()));
            }
            let records = self.cuts.get(&key).map(Rc::clone).unwrap_or_default();
            cut_files.push((path, records));
        }
        Ok(pack(algorithm, &cut_files))
    }

    /// Compares the pages of two commits.
    fn compare(&mut self, before: &str, after: &str) -> Result<serde_json::Value> {
        let mut answer = serde_json::Map::new();
        for (algorithm, name) in [(Algorithm::Greedy, "greedy"), (Algorithm::Content, "content")] {
            let old: BTreeSet<Digest> =
                self.pages(algorithm, before)?.into_iter().map(|page| page.0).collect();
            let pages = self.pages(algorithm, after)?;
            let new = pages.iter().filter(|page| !old.contains(&page.0)).count();
            let tokens: usize = pages.iter().map(|page| page.1).sum();
            let about = serde_json::json!({"new": new, "pages": pages.len(), "tokens": tokens});
            answer.insert(name.to_owned(), about);
        }
        Ok(answer.into())
    }
}

fn compare_all(git_dir: &str, input: &str) -> Result<()> {
    let repo = BareRepo::open(Path::new(git_dir))?;
    let objects = repo.objects();
    let mut source = Source { repo, objects, cuts: BTreeMap::new() };
    for line in input.lines() {
        if let Some((before, after)) = line.split_once(' ') {
            println!("{}", source.compare(before, after)?);
            // A reader that is gone notices by itself.
            std::io::stdout().flush().ok();
        }
    }
    Ok(())
}

fn floor(directory: &str, names: &str) {
    let (mut files, mut size, mut tokens) = (0, 0, 0);
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let path = Path::new(directory).join(name);
        let is_file = std::fs::symlink_metadata(&path).is_ok_and(|about| about.is_file());
        let Some(bytes) = is_file.then(|| std::fs::read(&path).ok()).flatten() else {
            continue;
        };
        if is_text(&bytes) {
            files += 1;
            size += bytes.len();
            tokens += json_tokens(TOKENIZER, &file::decode(&bytes).1);
        }
    }
    println!("{}", serde_json::json!({"files": files, "bytes": size, "tokens": tokens}));
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut input = String::new();
    if std::io::stdin().read_to_string(&mut input).is_err() {
        eprintln!("the input is no text");
        return ExitCode::FAILURE;
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["floor", directory] => floor(directory, &input),
        ["pages", git_dir] => {
            if let Err(error) = compare_all(git_dir, &input) {
                eprintln!("{}", error.message());
                return ExitCode::FAILURE;
            }
        }
        _ => {
            eprintln!("usage: references (floor DIRECTORY | pages GIT_DIR)");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

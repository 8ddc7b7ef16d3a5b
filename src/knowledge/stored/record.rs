//! One version of one document: the file that describes it, and its chunks.

use serde::{Deserialize, Serialize};

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _};

/// The format that this version writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// The file that describes the document.
const SOURCE: &str = "source.json";

/// The file with its chunks, one in a line.
const CHUNKS: &str = "chunks.jsonl";

/// The maximum size of the description.
const MAX_SOURCE: u64 = 1 << 20;

/// More chunks, tokens or lines than any document has.
const MAX_COUNT: usize = 1 << 40;

/// The maximum size of the chunks.
const MAX_CHUNKS: u64 = 2 << 30;

/// The settings that decide where chunks begin and end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkSettings {
    /// The target size in tokens.
    pub target_tokens: usize,
    /// The tokens that two chunks share.
    pub overlap_tokens: usize,
    /// The name of the tokenizer.
    pub tokenizer: String,
}

/// The description of a document, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// The format of this description.
    pub format: u32,
    /// The name of the record: a function of the document, its content, its kind and its settings.
    pub record_id: String,
    /// The document, `repo:<path>`.
    pub source_uri: String,
    /// Its path.
    pub path: RepoPath,
    /// Its blob; of a large file the pointer.
    pub blob: Oid,
    /// The digest of its content: `sha256:<hex>` of a large file, else `git:<blob>`.
    pub document_hash: String,
    /// The commit at which it was ingested.
    pub commit: Oid,
    /// Its kind: the profile of its route, else by its format.
    pub data_type: String,
    /// The format in which it was read.
    pub detected_format: String,
    /// Name and version of the program that read it.
    pub extractor: String,
    /// The settings of its chunks.
    pub chunk_settings: ChunkSettings,
    /// When reading began, RFC 3339 UTC.
    pub started_at: String,
    /// When reading ended, RFC 3339 UTC.
    pub finished_at: String,
    /// Who ingested it, `name <email>`.
    pub by: String,
    /// The outcome: always `ingested`.
    pub status: String,
    /// The outcome as text.
    pub outcome: String,
    /// The number of its chunks.
    pub chunks: usize,
    /// The sum of their tokens.
    pub tokens: usize,
    /// The tree that holds the record; not stored.
    #[serde(skip)]
    pub tree: Option<Oid>,
}

/// A chunk of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeChunk {
    /// Its name within the document, which depends on its text and not on its position.
    pub part: String,
    /// The section in which it begins.
    pub section_path: String,
    /// The heading of that section.
    pub heading: Option<String>,
    /// The page on which it begins, from 1.
    pub page: Option<u32>,
    /// Its first line in the file, from 1; `None` where the text is not that of the file.
    pub start_line: Option<usize>,
    /// Its last line.
    pub end_line: Option<usize>,
    /// Its start in the text of the document, in bytes.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// Its tokens, as a JSON string.
    pub tokens: usize,
    /// Its text.
    pub text: String,
}

/// Returns the name of a document: `repo:` and its path, with `%`, control characters and bytes that are not
/// UTF-8 percent-encoded.
pub fn source_uri(path: &RepoPath) -> String {
    let mut uri = "repo:".to_owned();
    for chunk in path.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '%' || character.is_control() {
                let mut bytes = [0; 4];
                encode(&mut uri, character.encode_utf8(&mut bytes).as_bytes());
            } else {
                uri.push(character);
            }
        }
        encode(&mut uri, chunk.invalid());
    }
    uri
}

fn encode(text: &mut String, bytes: &[u8]) {
    use std::fmt::Write as _;
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(text, "%{byte:02X}").ok();
    }
}

/// Returns the name of a record.
pub fn record_id(
    source_uri: &str,
    blob: Oid,
    settings: &ChunkSettings,
    (data_type, format): (&str, &str),
) -> String {
    let ChunkSettings { target_tokens, overlap_tokens, tokenizer } = settings;
    let made_by = format!("{target_tokens}\n{overlap_tokens}\n{tokenizer}\n{data_type}\n{format}");
    format!("{}-{blob}-{}", digest(source_uri, 32), digest(&made_by, 16))
}

fn digest(text: &str, length: usize) -> String {
    let hex = blake3::hash(text.as_bytes()).to_hex();
    hex.chars().take(length).collect()
}

/// Returns the place of a record in the tree: its name below the first two digits of it.
pub fn key_of(record_id: &str) -> RepoPath {
    let folder = record_id.get(..2).unwrap_or("00");
    RepoPath::from(format!("{folder}/{record_id}").as_str())
}

impl SourceRecord {
    /// Returns the place of the record in the tree.
    pub fn key(&self) -> RepoPath {
        key_of(&self.record_id)
    }

    /// Writes the record as a tree that nothing points to yet.
    pub fn write(&self, repo: &Repo, chunks: &[KnowledgeChunk]) -> Result<Oid> {
        let cannot = || "cannot write a record of the knowledge base";
        let mut json = serde_json::to_vec_pretty(self).or_code(Code::Io, cannot)?;
        json.push(b'\n');
        let mut lines = Vec::new();
        for chunk in chunks {
            serde_json::to_writer(&mut lines, chunk).or_code(Code::Io, cannot)?;
            lines.push(b'\n');
        }
        let files = [(SOURCE, json), (CHUNKS, lines)].map(|(name, bytes)| {
            let file = TreeEntry::file(repo.write_blob(&bytes)?);
            Ok((RepoPath::from(name), file))
        });
        let written = files.into_iter().collect::<Result<Vec<_>>>()?;
        let edits = written.iter().map(|(name, file)| (name, Some(*file)));
        repo.edit_tree(repo.empty_tree(), edits)
    }

    /// Reads the description of a record; the inner error is the problem with it. Others may have written it:
    /// a record that is not what its name says is not used.
    pub fn read(
        repo: &Repo,
        key: &RepoPath,
        entry: &TreeEntry,
    ) -> Result<std::result::Result<SourceRecord, String>> {
        if !entry.is_directory() {
            return Ok(Err("it is not a directory".to_owned()));
        }
        let bytes = match file_in(repo, entry.id, SOURCE, MAX_SOURCE)? {
            Ok(bytes) => bytes,
            Err(problem) => return Ok(Err(problem)),
        };
        let record = parse(&bytes).and_then(|record| {
            let is_itself = record.key() == *key
                && record.record_id == record.own_id()
                && record.source_uri == source_uri(&record.path)
                && record.chunks < MAX_COUNT
                && record.tokens < MAX_COUNT;
            if is_itself && record.path.is_safe() {
                Ok(SourceRecord { tree: Some(entry.id), ..record })
            } else {
                Err("it is not the record that its name stands for".to_owned())
            }
        });
        Ok(record)
    }

    fn own_id(&self) -> String {
        let made_of = (self.data_type.as_str(), self.detected_format.as_str());
        record_id(&self.source_uri, self.blob, &self.chunk_settings, made_of)
    }

    /// Returns the file with the chunks; `None` if the record has none.
    pub fn chunk_file(&self, repo: &Repo) -> Result<Option<Oid>> {
        let tree = self.tree.unwrap_or_else(|| repo.empty_tree());
        let leaf = repo.leaf_in(tree, &RepoPath::from(CHUNKS))?;
        Ok(leaf.filter(TreeEntry::is_plain_file).map(|leaf| leaf.id))
    }

    /// Returns `true` if the chunks can be read, and are as many as the description says.
    pub fn is_whole(&self, repo: &Repo) -> bool {
        let chunks = self.chunks(repo);
        chunks.is_ok_and(|chunks| chunks.len() == self.chunks)
    }

    /// Reads the chunks, in the order of the document.
    pub fn chunks(&self, repo: &Repo) -> Result<Vec<KnowledgeChunk>> {
        let broken = |problem: String| {
            let message = format!(
                "cannot read the chunks of '{}' in the knowledge base: {problem}",
                self.source_uri
            );
            Error::new(Code::RepositoryBroken, message)
        };
        let tree = self.tree.unwrap_or_else(|| repo.empty_tree());
        let bytes = file_in(repo, tree, CHUNKS, MAX_CHUNKS)?.map_err(broken)?;
        parse_chunks(&bytes).map_err(broken)
    }
}

/// Reads the chunks of a record out of their file.
pub fn parse_chunks(bytes: &[u8]) -> std::result::Result<Vec<KnowledgeChunk>, String> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let chunks: Vec<KnowledgeChunk> = lines
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).map_err(|error| error.to_string()))
        .collect::<std::result::Result<_, _>>()?;
    let is_sound = |chunk: &KnowledgeChunk| {
        let lines = chunk.start_line.unwrap_or(1)..=chunk.end_line.unwrap_or(usize::MAX);
        chunk.start <= chunk.end && !lines.is_empty() && *lines.start() < MAX_COUNT
    };
    if chunks.iter().all(is_sound) {
        Ok(chunks)
    } else {
        Err("a chunk ends before it begins".to_owned())
    }
}

fn parse(bytes: &[u8]) -> std::result::Result<SourceRecord, String> {
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    if format > Some(u64::from(FORMAT)) {
        return Err("it was written by a newer git-colony".to_owned());
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn file_in(
    repo: &Repo,
    tree: Oid,
    name: &str,
    max: u64,
) -> Result<std::result::Result<Vec<u8>, String>> {
    let leaf = repo.leaf_in(tree, &RepoPath::from(name))?;
    let Some(leaf) = leaf.filter(TreeEntry::is_plain_file) else {
        return Ok(Err(format!("it has no file '{name}'")));
    };
    if repo.object_size(leaf.id).is_some_and(|size| size > max) {
        return Ok(Err(format!("'{name}' is too large")));
    }
    repo.read_blob(leaf.id).map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn paths_that_differ_have_names_that_differ() {
        let paths: [&[u8]; 6] = [b"a", b"\xff", b"%FF", b"a\nb", b"a%0Ab", "ä".as_bytes()];
        let uris: BTreeSet<String> = paths.map(|path| source_uri(&path.into())).into();
        assert_eq!(uris.len(), paths.len());
        assert_eq!(source_uri(&"lit/a b.md".into()), "repo:lit/a b.md");
        assert_eq!(source_uri(&b"x\xff\n%"[..].into()), "repo:x%FF%0A%25");
    }
}

//! A record: the unit of a page, whose tokens are the sum over its records: text and frame.
//!
//! For a model it is one JSON object; in the program, a stretch of a blob.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::git::Oid;
use crate::model::RepoPath;
use crate::text::count::json_string;
use crate::text::tokenizer::Tokenizer;

use super::file::Encoding;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The file, from the root of the repository.
    pub path: RepoPath,
    /// The part of the file, by a digest of its text; `None` for a whole file.
    pub part: Option<String>,
    /// The blob.
    pub blob: Oid,
    /// The start of the stretch, in bytes of the blob.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// Its tokens: those of its text as a JSON string and those of the frame.
    pub tokens: u32,
    /// How its bytes are decoded.
    pub kind: RecordKind,
}

/// How the bytes of a record are decoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// As text.
    Text(Encoding),
    /// As a chunk of the text of a document; `start` and `end` are bytes of that text.
    Chunk {
        /// The section in which it begins.
        section_path: String,
        /// The heading of that section.
        heading: Option<String>,
        /// The page on which it begins, from 1.
        page: Option<u32>,
        /// The number of its first bytes that are also in the previous chunk.
        overlap_bytes: u64,
    },
    /// Not decoded: the record only states that the file exists.
    Binary {
        /// Whether it is executable.
        executable: bool,
    },
}

/// The cost of the end of a frame, `}`.
const CLOSING: usize = 1;

/// Returns the text before the content of a record.
pub fn frame(path: &RepoPath, part: Option<&str>) -> String {
    let part = part.map_or_else(|| "null".to_owned(), json_string);
    format!("{{\"path\":{},\"part\":{part},\"text\":", json_string(&path.to_string()))
}

/// Counts the tokens of the frame.
pub fn frame_tokens(tokenizer: Tokenizer, path: &RepoPath, part: Option<&str>) -> usize {
    tokenizer.count(&frame(path, part)) + CLOSING
}

/// Returns the maximum cost of the frame of any part of a file, rounded up so that files with names
/// of similar length are cut alike.
pub fn frame_bound(tokenizer: Tokenizer, path: &RepoPath) -> usize {
    // The name of a part has eight hex digits, and a number if it occurs more than once.
    let named = frame_tokens(tokenizer, path, Some(""));
    (named + 12).next_multiple_of(32)
}

impl Record {
    /// Returns the JSON object for a model, with the text of the stretch.
    pub fn value(&self, text: &str) -> Value {
        match &self.kind {
            RecordKind::Text(_) | RecordKind::Chunk { .. } => {
                json!({"path": self.path.to_string(), "part": self.part, "text": text})
            }
            RecordKind::Binary { executable } => json!({
                "path": self.path.to_string(),
                "size": self.end,
                "mode": if *executable { "100755" } else { "100644" },
                "media_type": media_type(&self.path),
                "blob": self.blob.to_string(),
            }),
        }
    }

    /// Adds everything that distinguishes it from other records of a scope.
    pub fn identify(&self, hasher: &mut blake3::Hasher) {
        let part = self.part.as_deref().unwrap_or_default();
        hasher.update(&(self.path.as_bytes().len() as u64).to_le_bytes());
        hasher.update(self.path.as_bytes());
        hasher.update(part.as_bytes());
        hasher.update(b"\0");
        if self.part.is_none() {
            hasher.update(self.blob.to_string().as_bytes());
        }
        if matches!(self.kind, RecordKind::Binary { executable: true }) {
            hasher.update(b"x");
        }
        hasher.update(b"\0");
    }
}

/// Returns the media type of a file by its extension, as far as it matters to a reader.
pub fn media_type(path: &RepoPath) -> &'static str {
    let name = path.name().to_ascii_lowercase();
    let extension = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    match extension {
        b"pdf" => "application/pdf",
        b"png" => "image/png",
        b"jpg" | b"jpeg" => "image/jpeg",
        b"gif" => "image/gif",
        b"webp" => "image/webp",
        b"svg" => "image/svg+xml",
        b"ico" => "image/x-icon",
        b"tif" | b"tiff" => "image/tiff",
        b"mp3" => "audio/mpeg",
        b"wav" => "audio/wav",
        b"ogg" => "audio/ogg",
        b"mp4" => "video/mp4",
        b"webm" => "video/webm",
        b"mov" => "video/quicktime",
        b"zip" => "application/zip",
        b"gz" | b"tgz" => "application/gzip",
        b"xz" => "application/x-xz",
        b"zst" => "application/zstd",
        b"tar" => "application/x-tar",
        b"7z" => "application/x-7z-compressed",
        b"ttf" => "font/ttf",
        b"woff" => "font/woff",
        b"woff2" => "font/woff2",
        b"wasm" => "application/wasm",
        b"stl" => "model/stl",
        b"step" | b"stp" => "model/step",
        b"gltf" | b"glb" => "model/gltf-binary",
        b"docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        b"xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        b"pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        b"sqlite" | b"db" => "application/vnd.sqlite3",
        _ => "application/octet-stream",
    }
}

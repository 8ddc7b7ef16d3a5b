//! The store of git-lfs that a [`super::git_server::GitServer`] has: objects up and down.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::git_server::Request;

/// The head and the body of an answer.
pub(crate) type Answer = (String, Vec<u8>);

/// Objects in files named by their oid.
pub(crate) struct LargeFileStore {
    folder: PathBuf,
}

impl LargeFileStore {
    pub(crate) fn new(folder: PathBuf) -> LargeFileStore {
        LargeFileStore { folder }
    }

    /// Answers a request that belongs to git-lfs.
    pub(crate) fn respond(&self, request: &Request, base: &str) -> Option<Answer> {
        if let Some(oid) = request.path.strip_prefix("/lfs/") {
            let place = self.folder.join("lfs").join(oid);
            if request.method == "PUT" {
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                fs::write(place, &request.body).unwrap();
                return Some(("200 OK".to_owned(), Vec::new()));
            }
            return Some(("200 OK".to_owned(), fs::read(place).unwrap()));
        }
        let (_, api) = request.path.split_once("/info/lfs/")?;
        match api {
            "objects/batch" => Some(self.batch(request, base)),
            // Nobody has locked a file: git-lfs asks before a push.
            "locks/verify" => Some(answer(200, &json!({"ours": [], "theirs": []}))),
            _ => None,
        }
    }

    /// Says where objects are, or where they go.
    fn batch(&self, request: &Request, base: &str) -> Answer {
        let wanted: Value = serde_json::from_slice(&request.body).unwrap();
        let upload = wanted["operation"] == "upload";
        let objects = wanted["objects"].as_array().unwrap().iter().map(|object| {
            let oid = object["oid"].as_str().unwrap();
            let action = if upload { "upload" } else { "download" };
            let is_here = self.folder.join("lfs").join(oid).exists();
            let mut told = json!({"oid": oid, "size": object["size"]});
            if !(upload && is_here) {
                told["actions"] = json!({action: {"href": format!("{base}lfs/{oid}")}});
            }
            told
        });
        let objects: Vec<_> = objects.collect();
        answer(200, &json!({"transfer": "basic", "objects": objects}))
    }
}

fn head(status: u16) -> String {
    format!("{status} Said\r\nContent-Type: application/vnd.git-lfs+json")
}

fn answer(status: u16, body: &Value) -> Answer {
    (head(status), body.to_string().into_bytes())
}

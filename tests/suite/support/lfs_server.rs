//! The store of git-lfs that a [`super::git_server::GitServer`] has: objects up and down, and locks.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::git_server::Request;

/// The head and the body of an answer.
pub(crate) type Answer = (String, Vec<u8>);

/// Objects in files named by their oid, and who has locked what.
pub(crate) struct LargeFileStore {
    folder: PathBuf,
    /// Whom the server knows: the user of its login.
    user: String,
    locks: Mutex<Locks>,
}

/// What the server says of locks.
pub(crate) enum Locks {
    /// These, and lets its user lock and unlock.
    Held(Vec<Value>),
    /// This, whatever it is asked.
    Said(u16, String),
    /// One page after the other, without end.
    WithoutEnd,
}

impl LargeFileStore {
    pub(crate) fn new(folder: PathBuf, user: &str) -> LargeFileStore {
        LargeFileStore { folder, user: user.to_owned(), locks: Mutex::new(Locks::Held(Vec::new())) }
    }

    /// Has somebody lock a file; returns the id of the lock.
    pub(crate) fn lock(&self, owner: &str, path: &str) -> String {
        let mut locks = self.locks.lock().unwrap();
        let Locks::Held(held) = &mut *locks else {
            panic!("this server keeps no locks");
        };
        let id = format!("{}", 100 + held.len());
        held.push(json!({
            "id": id, "path": path, "locked_at": "2026-01-02T03:00:00Z", "owner": {"name": owner},
        }));
        id
    }

    /// Has the server say something else of locks from now on.
    pub(crate) fn set(&self, locks: Locks) {
        *self.locks.lock().unwrap() = locks;
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
            _ if api == "locks" || api.starts_with("locks/") => Some(self.locks(request, api)),
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

    fn locks(&self, request: &Request, api: &str) -> Answer {
        let said: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match &mut *self.locks.lock().unwrap() {
            Locks::Said(status, text) => (head(*status), text.clone().into_bytes()),
            Locks::WithoutEnd => {
                answer(200, &json!({"ours": [], "theirs": [], "next_cursor": "more"}))
            }
            Locks::Held(held) => self.held(held, api, &said),
        }
    }

    fn held(&self, held: &mut Vec<Value>, api: &str, said: &Value) -> Answer {
        let is_own = |lock: &Value| lock["owner"]["name"] == self.user.as_str();
        match api {
            "locks/verify" => {
                let (ours, theirs): (Vec<Value>, Vec<Value>) =
                    held.iter().cloned().partition(is_own);
                answer(200, &json!({"ours": ours, "theirs": theirs}))
            }
            "locks" if said["path"].is_string() => {
                let lock = json!({
                    "id": format!("{}", 100 + held.len()), "path": said["path"],
                    "locked_at": "2026-01-02T03:00:00Z", "owner": {"name": self.user},
                });
                held.push(lock.clone());
                answer(201, &json!({"lock": lock}))
            }
            "locks" => answer(200, &json!({"locks": held})),
            _ => {
                let id = api.split('/').nth(1).unwrap();
                let at = held.iter().position(|lock| lock["id"] == id).unwrap();
                answer(200, &json!({"lock": held.remove(at)}))
            }
        }
    }
}

fn head(status: u16) -> String {
    format!("{status} Said\r\nContent-Type: application/vnd.git-lfs+json")
}

fn answer(status: u16, body: &Value) -> Answer {
    (head(status), body.to_string().into_bytes())
}

//! Commits that git reads and gix refuses, such as one whose author line has no `>`: every reader of a repository
//! gets them in the form in which git understands them.
//!
//! The tree, the parents, the encoding and the message stay as they are. A commit that git refuses as well (no tree,
//! a parent that is not an id) is left alone. Nothing is written, and git itself always sees the real object.

use std::sync::Arc;

use gix::bstr::ByteSlice as _;
use gix::hash;
use gix::objs::{CommitRef, Kind};
use gix::odb::pack::Find as _;
use gix::odb::pack::cache::Object as Cached;
use gix::odb::pack::cache::lru::StaticLinkedList;
use gix::odb::pack::cache::object::MemoryCappedHashmap;

/// The maximum size of the cached objects of one repository.
const CACHE_BYTES: usize = 8 << 20;

/// Has every reader of `repo` see such commits as git understands them, and caches objects.
pub(in crate::git) fn understand(repo: &mut gix::Repository) {
    let store = repo.objects.store();
    repo.objects.set_object_cache(move || {
        let packs = || Box::new(StaticLinkedList::<64>::default()) as Box<_>;
        Box::new(Reader {
            store: store.to_cache_arc().with_pack_cache(packs),
            cache: MemoryCappedHashmap::new(CACHE_BYTES),
        })
    });
}

/// Reads an object where gix looks for a cached one.
struct Reader {
    store: gix::odb::Cache<gix::odb::store::Handle<Arc<gix::odb::Store>>>,
    cache: MemoryCappedHashmap,
}

impl Cached for Reader {
    fn put(&mut self, id: gix::ObjectId, kind: Kind, data: &[u8]) {
        self.cache.put(id, kind, data);
    }

    fn get(&mut self, id: &gix::ObjectId, out: &mut Vec<u8>) -> Option<Kind> {
        if let Some(kind) = self.cache.get(id, out) {
            return Some(kind);
        }
        // gix reads an object that is not found here itself, and reports why it cannot.
        let (object, _) = self.store.try_find(id, out).ok()??;
        let kind = object.kind;
        if kind == Kind::Commit
            && let Some(understood) = understood(out, id.kind())
        {
            *out = understood;
        }
        self.cache.put(*id, kind, out);
        Some(kind)
    }
}

/// Returns the well-formed commit that git understands `data` as; `None` if it is well-formed, or not a commit for
/// git either.
fn understood(data: &[u8], hash: hash::Kind) -> Option<Vec<u8>> {
    if CommitRef::from_bytes(data, hash).is_ok() {
        return None;
    }
    let (head, message) = data.split_once_str(b"\n\n").unwrap_or((data, b""));
    let mut lines = head.split(|&byte| byte == b'\n').peekable();
    let mut commit = Vec::with_capacity(data.len());
    let mut keep = |line: &[u8], name: &[u8]| {
        let id = line.strip_prefix(name)?;
        gix::ObjectId::from_hex(id).ok().filter(|id| id.kind() == hash)?;
        commit.extend_from_slice(line);
        commit.push(b'\n');
        Some(())
    };
    keep(lines.next()?, b"tree ")?;
    while let Some(parent) = lines.next_if(|line| line.starts_with(b"parent ")) {
        keep(parent, b"parent ")?;
    }
    let rest: Vec<_> = lines.collect();
    let value = |name: &[u8]| rest.iter().find_map(|line| line.strip_prefix(name));
    for name in ["author ", "committer "] {
        commit.extend_from_slice(name.as_bytes());
        commit.extend(person(value(name.as_bytes()).unwrap_or_default()));
        commit.push(b'\n');
    }
    if let Some(encoding) = value(b"encoding ") {
        commit.extend([b"encoding ", encoding, b"\n"].concat());
    }
    commit.push(b'\n');
    commit.extend_from_slice(message);
    Some(commit)
}

/// Rewrites a line with a name, an address and a date as git splits it. Parts that git does not find are empty, and
/// the date is 0.
fn person(line: &[u8]) -> Vec<u8> {
    let split = || {
        let (name, rest) = line.split_once_str(b"<")?;
        let (mail, _) = rest.split_once_str(b">")?;
        let (_, date) = line.rsplit_once_str(b">")?;
        Some((name.trim_end(), mail, date.trim_start()))
    };
    let (name, mail, date) = split().unwrap_or_default();
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (seconds, zone) = date.split_at(digits(date));
    let zone = zone.trim_start();
    let signed = zone.strip_prefix(b"+").or_else(|| zone.strip_prefix(b"-"));
    let zone = signed.map(digits).filter(|count| *count == 4).and_then(|count| zone.get(..=count));
    let (seconds, zone) = match (seconds, zone) {
        ([], _) => (&b"0"[..], &b"+0000"[..]),
        (seconds, zone) => (seconds, zone.unwrap_or(b"+0000")),
    };
    let plain = |part: &[u8]| part.replace("<", "").replace(">", "");
    [&*plain(name), b" <", &*plain(mail), b"> ", seconds, b" ", zone].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_split_as_git_splits_them() {
        let written = |line: &str| String::from_utf8(person(line.as_bytes())).unwrap();
        assert_eq!(written("A B <a@b 1 +0000"), " <> 0 +0000");
        assert_eq!(written("A B <a@b>"), "A B <a@b> 0 +0000");
        assert_eq!(written("A B <a@b> 12"), "A B <a@b> 12 +0000");
        assert_eq!(written("A B<a@b>12 -0130"), "A B <a@b> 12 -0130");
        assert_eq!(written("<a@b> x> 7 +0100 more"), " <a@b> 7 +0100");
        assert_eq!(written(""), " <> 0 +0000");
    }
}

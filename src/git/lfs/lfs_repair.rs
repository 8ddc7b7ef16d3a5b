//! Completes the commits that git-lfs rewrote: removes signatures that the rewrite made invalid,
//! keeps every line of `.gitattributes` and its exclusions, and removes git-colony's lines for
//! files that stay in git.
//!
//! A commit that needs none of this, and has no such ancestor, keeps the id that git-lfs gave it.
//! One that equals its original is not rewritten at all, and keeps its signature. All other headers
//! stay byte for byte, also `mergetag`: its signature covers only its own text.

use std::collections::{HashMap, HashSet};

use gix::objs::{Kind, Write as _};

use crate::git::attributes::attribute_lines::{FilterLine, filter_lines, without_carriage_return};
use crate::git::attributes::attribute_patterns::AttributePatterns;
use crate::git::{BareRepo, Oid};
use crate::model::{Code, Error, Result, ResultExt as _, World};

use super::exempt_lines;

/// The file into which git-lfs writes its patterns, as a tree entry.
const FILES: [&[u8]; 2] = [b"100644 .gitattributes\0", b"100755 .gitattributes\0"];

/// The headers of a signature.
const SIGNATURES: [&[u8]; 2] = [b"gpgsig ", b"gpgsig-sha256 "];

/// The end of a line that git-lfs adds for excluded files.
const EXCLUDED: &[u8] = b" !text -filter -merge -diff";

/// Returns the final commits for a map of rewritten ones. `lines` are the attributes lines that
/// exclude files.
pub(in crate::git) fn mend(
    world: &World,
    repo: &BareRepo,
    map: &HashMap<Oid, Oid>,
    lines: &[String],
) -> Result<HashMap<Oid, Oid>> {
    let mut mender = Mender {
        repo: repo.inner(),
        map,
        lines,
        attributes: HashMap::new(),
        with_exempt: HashMap::new(),
        done: HashMap::with_capacity(map.len()),
    };
    for old in map.keys() {
        mender.mend_history(world, *old)?;
    }
    let mut done = mender.done;
    done.retain(|old, new| old != new);
    Ok(done)
}

struct Mender<'a> {
    repo: &'a gix::Repository,
    map: &'a HashMap<Oid, Oid>,
    lines: &'a [String],
    /// The result for each attributes file, by its original and its rewritten version.
    attributes: HashMap<(Option<Oid>, Oid), Oid>,
    /// Whether attributes files contain git-colony's lines.
    with_exempt: HashMap<Oid, bool>,
    /// The result for each commit.
    done: HashMap<Oid, Oid>,
}

impl Mender<'_> {
    /// Repairs a commit and its ancestors, oldest first.
    fn mend_history(&mut self, world: &World, tip: Oid) -> Result<()> {
        let mut open = vec![(tip, false)];
        while let Some((old, are_parents_done)) = open.pop() {
            if self.done.contains_key(&old) {
                continue;
            }
            let Some(&new) = self.map.get(&old) else {
                continue;
            };
            world.interrupt.check()?;
            let raw = self.read(old, Kind::Commit)?;
            let original = RawCommit::read(&raw, old)?;
            if are_parents_done {
                let mended = self.mend_commit(old, &original, new)?;
                self.done.insert(old, mended);
            } else {
                open.push((old, true));
                open.extend(original.parents.iter().map(|parent| (*parent, false)));
            }
        }
        Ok(())
    }

    fn mend_commit(&mut self, old: Oid, original: &RawCommit<'_>, new: Oid) -> Result<Oid> {
        let raw = self.read(new, Kind::Commit)?;
        let made = RawCommit::read(&raw, new)?;
        let became = |parent: &Oid| self.done.get(parent).copied().unwrap_or(*parent);
        let parents: Vec<Oid> = original.parents.iter().map(became).collect();
        let tree = self.mend_tree(original.tree, made.tree)?;
        if tree == original.tree && parents == original.parents {
            return Ok(old);
        }
        let rest = made.without_signature();
        if tree == made.tree && parents == made.parents && rest.len() == made.rest.len() {
            return Ok(new);
        }
        let mut bytes = format!("tree {tree}\n").into_bytes();
        for parent in parents {
            bytes.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        bytes.extend_from_slice(&rest);
        self.write(Kind::Commit, &bytes)
    }

    fn mend_tree(&mut self, original: Oid, made: Oid) -> Result<Oid> {
        let mut bytes = self.read(made, Kind::Tree)?;
        let Some((place, now)) = self.entry(&bytes)? else {
            return Ok(made);
        };
        // In a commit that git-lfs did not touch, only git-colony's lines are removed.
        if original == made && !self.has_exempt(now)? {
            return Ok(made);
        }
        let before = self.read(original, Kind::Tree)?;
        let before = self.entry(&before)?.map(|(_, id)| id);
        let mended = self.mend_attributes(before, now)?;
        if mended == now {
            return Ok(made);
        }
        if let Some(id) = bytes.get_mut(place..place + mended.0.as_bytes().len()) {
            id.copy_from_slice(mended.0.as_bytes());
        }
        self.write(Kind::Tree, &bytes)
    }

    /// Finds the attributes file in a tree: the offset of its id, and the id.
    fn entry(&self, tree: &[u8]) -> Result<Option<(usize, Oid)>> {
        let broken = || Error::new(Code::RepositoryBroken, "cannot read a tree");
        let id_len = self.repo.object_hash().len_in_bytes();
        let mut at = 0;
        while let Some(rest) = tree.get(at..).filter(|rest| !rest.is_empty()) {
            let end = rest.iter().position(|&byte| byte == 0);
            let (head, after) = rest.split_at(end.ok_or_else(broken)? + 1);
            let id = after.get(..id_len).ok_or_else(broken)?;
            if FILES.contains(&head) {
                let id = gix::ObjectId::from_bytes_or_panic(id);
                return Ok(Some((at + head.len(), id.into())));
            }
            at += head.len() + id_len;
        }
        Ok(None)
    }

    fn has_exempt(&mut self, attributes: Oid) -> Result<bool> {
        if let Some(known) = self.with_exempt.get(&attributes) {
            return Ok(*known);
        }
        let bytes = self.read(attributes, Kind::Blob)?;
        let has = exempt_lines::take_apart(&bytes).exempt.is_some();
        self.with_exempt.insert(attributes, has);
        Ok(has)
    }

    fn mend_attributes(&mut self, before: Option<Oid>, now: Oid) -> Result<Oid> {
        if let Some(known) = self.attributes.get(&(before, now)) {
            return Ok(*known);
        }
        let original = match before {
            Some(before) => self.read(before, Kind::Blob)?,
            None => Vec::new(),
        };
        let made = self.read(now, Kind::Blob)?;
        let mended = match mended_attributes(&original, &made, self.lines)? {
            None => now,
            Some(bytes) if bytes == original => before.unwrap_or(now),
            Some(bytes) => self.write(Kind::Blob, &bytes)?,
        };
        self.attributes.insert((before, now), mended);
        Ok(mended)
    }

    fn read(&self, id: Oid, kind: Kind) -> Result<Vec<u8>> {
        let cannot = || format!("cannot read {kind} {id}");
        if kind == Kind::Tree && id.0.is_empty_tree() {
            return Ok(Vec::new());
        }
        let object = self.repo.find_object(id.0).or_code(Code::ObjectMissing, cannot)?;
        if object.kind != kind {
            return Err(Error::new(Code::RepositoryBroken, cannot()));
        }
        Ok(object.detach().data)
    }

    fn write(&self, kind: Kind, bytes: &[u8]) -> Result<Oid> {
        let written = self
            .repo
            .objects
            .write_buf(kind, bytes)
            .or_code(Code::Io, || format!("cannot write a {kind}"))?;
        Ok(Oid(written))
    }
}

/// A commit as bytes.
struct RawCommit<'a> {
    tree: Oid,
    parents: Vec<Oid>,
    /// Everything from the author line on.
    rest: &'a [u8],
}

impl<'a> RawCommit<'a> {
    fn read(raw: &'a [u8], id: Oid) -> Result<RawCommit<'a>> {
        let broken = || Error::new(Code::RepositoryBroken, format!("cannot read commit {id}"));
        let (mut tree, mut parents, mut rest) = (None, Vec::new(), raw);
        loop {
            let end = rest.iter().position(|&byte| byte == b'\n');
            let (line, after) = rest.split_at(end.ok_or_else(broken)? + 1);
            let id = |name: &[u8]| {
                let hex = line.strip_prefix(name)?.strip_suffix(b"\n")?;
                Oid::parse(std::str::from_utf8(hex).ok()?)
            };
            if let Some(id) = id(b"tree ") {
                tree = Some(id);
            } else if let Some(id) = id(b"parent ") {
                parents.push(id);
            } else {
                break;
            }
            rest = after;
        }
        Ok(RawCommit { tree: tree.ok_or_else(broken)?, parents, rest })
    }

    /// Returns everything from the author line on, without the signature.
    fn without_signature(&self) -> Vec<u8> {
        let mut kept = Vec::with_capacity(self.rest.len());
        let (mut is_header, mut is_signature) = (true, false);
        for line in self.rest.split_inclusive(|&byte| byte == b'\n') {
            is_header &= line != b"\n";
            // A continuation line begins with a space.
            if is_header && !line.starts_with(b" ") {
                is_signature = SIGNATURES.iter().any(|name| line.starts_with(name));
            }
            if !(is_header && is_signature) {
                kept.extend_from_slice(line);
            }
        }
        kept
    }
}

/// Returns the attributes file to write: the original, the lines that git-lfs added for its files,
/// and the excluding lines that are not in effect yet; without git-colony's lines. `None` if
/// git-lfs's version is right.
fn mended_attributes(original: &[u8], made: &[u8], lines: &[String]) -> Result<Option<Vec<u8>>> {
    let exempt_lines::Parts { own: kept, exempt } = exempt_lines::take_apart(original);
    let mut seen = HashSet::new();
    let mut drops = false;
    for line in lines_of(original) {
        let is_comment = line.trim_ascii().is_empty() || line.starts_with(b"#");
        drops |= !seen.insert(line) && !is_comment;
    }
    if lines.is_empty() && !drops && exempt.is_none() {
        return Ok(None);
    }
    let added: Vec<&[u8]> =
        lines_of(made).filter(|line| !seen.contains(line) && !line.ends_with(EXCLUDED)).collect();
    let mut whole = kept.clone();
    let mut append = |line: &[u8]| {
        if !whole.is_empty() && !whole.ends_with(b"\n") {
            whole.push(b'\n');
        }
        whole.extend_from_slice(line);
        whole.push(b'\n');
    };
    for line in &added {
        append(line);
    }
    for line in lines {
        if !added.is_empty() || !is_in_force(&kept, line)? {
            append(line.as_bytes());
        }
    }
    Ok(Some(whole))
}

/// Returns `true` if an attributes file already excludes what a line excludes.
fn is_in_force(attributes: &[u8], line: &str) -> Result<bool> {
    let Some(FilterLine { pattern: wanted, .. }) = filter_lines(line.as_bytes(), "lfs").pop()
    else {
        // A line without attributes has no effect.
        return Ok(true);
    };
    let said = filter_lines(attributes, "lfs");
    let last = said.iter().rposition(|filter_line| filter_line.pattern == wanted);
    let Some((last, after)) = last.and_then(|at| said.get(at..)?.split_first()) else {
        return Ok(false);
    };
    let given: Vec<String> = after
        .iter()
        .filter(|filter_line| filter_line.gives)
        .map(|filter_line| filter_line.pattern.clone())
        .collect();
    let mut given = AttributePatterns::new(&given, &[])?;
    Ok(!last.gives && !given.give_all_of(&wanted))
}

/// Lists lines as git-lfs reads them.
fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let lines = (!text.is_empty()).then(|| text.split(|&byte| byte == b'\n'));
    lines.into_iter().flatten().map(without_carriage_return)
}

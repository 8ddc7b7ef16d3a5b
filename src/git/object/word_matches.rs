//! The files of a commit whose lines have words, by `git grep`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::git::process::Git;
use crate::git::{Oid, Repo};
use crate::model::{RepoPath, Result, World};

/// What a search may take. One that takes more ends, and what it has found counts.
#[derive(Clone, Copy, Debug)]
pub struct MatchLimits {
    /// Wall-clock time.
    pub time: Duration,
    /// The output, in bytes.
    pub output_bytes: u64,
    /// The first lines that match of each file.
    pub lines_of_file: usize,
}

impl Repo {
    /// Returns the words, in any case, that the text files of a commit have, by their numbers. Nothing is fetched, and a
    /// search that fails has found what it has printed.
    pub fn files_with_words(
        &self,
        world: &World,
        commit: Oid,
        words: &[&str],
        limits: MatchLimits,
    ) -> Result<BTreeMap<RepoPath, BTreeSet<usize>>> {
        if words.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut git = Git::new(world);
        git.current_dir(self.workdir()).env("GIT_NO_LAZY_FETCH", "1");
        git.args(["grep", "-I", "-i", "-o", "-F", "-z", "--full-name", "--no-color"]);
        git.args(["--no-line-number", "--no-column", "--no-heading", "--no-break"]);
        git.args(["--no-recurse-submodules", "--no-textconv", "-m"]);
        git.arg(limits.lines_of_file.to_string());
        for word in words {
            git.args(["-e", word]);
        }
        git.args([commit.to_string().as_str(), "--"]);
        git.limit_time(limits.time).limit_output(limits.output_bytes);
        let output = git.run()?;
        Ok(parse(&output.stdout, commit, words))
    }
}

fn parse(output: &[u8], commit: Oid, words: &[&str]) -> BTreeMap<RepoPath, BTreeSet<usize>> {
    let prefix = format!("{commit}:");
    let mut matches: BTreeMap<RepoPath, BTreeSet<usize>> = BTreeMap::new();
    let mut rest = output;
    while let Some(end) = rest.iter().position(|&byte| byte == 0) {
        let (path, after) = rest.split_at(end);
        let after = after.get(1..).unwrap_or_default();
        // A line without its end was cut off.
        let Some(length) = after.iter().position(|&byte| byte == b'\n') else {
            break;
        };
        let (text, next) = after.split_at(length);
        rest = next.get(1..).unwrap_or_default();
        let Some(path) = path.strip_prefix(prefix.as_bytes()) else {
            continue;
        };
        let text = String::from_utf8_lossy(text).to_lowercase();
        let had = words.iter().enumerate().filter(|(_, word)| text.contains(**word));
        matches.entry(RepoPath::new(path)).or_default().extend(had.map(|(number, _)| number));
    }
    matches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_names_a_file_and_what_it_has() {
        let hex = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let commit = Oid::parse(hex).unwrap();
        let output = format!("{hex}:a\nb\0Undo\n{hex}:c\0undone\n{hex}:c\0redo\n{hex}:d\0un");
        let matches = parse(output.as_bytes(), commit, &["undo", "redo"]);
        let words_of = |path: &str| matches.get(&RepoPath::from(path)).cloned();
        assert_eq!(words_of("a\nb"), Some(BTreeSet::from([0])));
        assert_eq!(words_of("c"), Some(BTreeSet::from([0, 1])));
        assert_eq!(matches.len(), 2);
    }
}

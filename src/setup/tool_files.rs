//! The files that a new tool gets beside those of its template, or in place of them.
//!
//! Their texts are taken as they are. Their paths are checked here, before anything is read or written.

use std::collections::BTreeMap;

use crate::git::worktree::safe_path;
use crate::model::{Error, RepoPath, Result};

use super::tool_variables::refused;

const MAX_FILES: usize = 500;
/// As the records of git-colony in the working tree.
const MAX_BYTES: usize = 1 << 20;
const MAX_TOTAL_BYTES: usize = 16 << 20;

/// Files of a tool, by their paths below its directory.
#[derive(Clone, Debug, Default)]
pub struct ToolFiles(BTreeMap<RepoPath, String>);

impl ToolFiles {
    /// Checks files that were given as `PATH=TEXT`; the first `=` ends the path.
    pub fn new(assignments: &[String]) -> Result<ToolFiles> {
        let mut files = BTreeMap::new();
        for assignment in assignments {
            let Some((path, text)) = assignment.split_once('=') else {
                return Err(file_refused(assignment, "it is not PATH=TEXT"));
            };
            if let Some(why) = safe_path::refusal(path) {
                return Err(file_refused(path, &format!("its path {why}")));
            }
            if text.len() > MAX_BYTES {
                let length = text.len();
                let why = format!("its text has {length} bytes, expected at most {MAX_BYTES}");
                return Err(file_refused(path, &why));
            }
            if files.insert(path.into(), text.to_owned()).is_some() {
                return Err(file_refused(path, "it is given twice"));
            }
        }
        refuse_too_many(&files)?;
        let files = ToolFiles(files);
        files.over(Vec::new())?;
        Ok(files)
    }

    /// Returns the files of a template, by paths below the directory, with these added or in their place; sorted.
    pub fn over(&self, template: Vec<(RepoPath, String)>) -> Result<Vec<(RepoPath, String)>> {
        let mut files: BTreeMap<RepoPath, String> = template.into_iter().collect();
        let given = self.0.iter();
        files.extend(given.map(|(path, text)| (path.clone(), text.clone())));
        let mut folded = BTreeMap::new();
        for path in files.keys() {
            if let Some(other) = folded.insert(fold(path), path) {
                let why = format!("'{other}' differs from it only in case");
                return Err(file_refused(&path.to_string(), &why));
            }
        }
        for path in files.keys() {
            for directory in path.ancestors() {
                if let Some(file) = folded.get(&fold(&directory)) {
                    let why = format!("'{path}' needs it as a directory");
                    return Err(file_refused(&file.to_string(), &why));
                }
            }
        }
        Ok(files.into_iter().collect())
    }
}

/// Returns the form in which two paths are equal on file systems that ignore case.
fn fold(path: &RepoPath) -> String {
    path.to_string().to_lowercase()
}

fn refuse_too_many(files: &BTreeMap<RepoPath, String>) -> Result<()> {
    let bytes: usize = files.values().map(String::len).sum();
    if files.len() <= MAX_FILES && bytes <= MAX_TOTAL_BYTES {
        return Ok(());
    }
    let message = format!(
        "cannot create a tool with {} files of {bytes} bytes, expected at most {MAX_FILES} files and {MAX_TOTAL_BYTES} bytes",
        files.len()
    );
    Err(refused(message, "--file", ""))
}

fn file_refused(path: &str, why: &str) -> Error {
    refused(format!("cannot create the file '{path}' of a tool: {why}"), "--file", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(assignments: &[&str]) -> Result<ToolFiles> {
        let owned: Vec<String> = assignments.iter().map(|&text| text.to_owned()).collect();
        ToolFiles::new(&owned)
    }

    #[test]
    fn paths_that_lead_elsewhere_or_clash_are_refused() {
        for bad in [
            &["/etc/x=a"][..],
            &["../x=a"],
            &["a/../../x=a"],
            &[".git/config=a"],
            &["a/.GIT=a"],
            &["git~1=a"],
            &["=a"],
            &["no text"],
            &["a=1", "a=2"],
            &["a=1", "a/b=2"],
            &["a=1", "A=2"],
            &["A=1", "a/b=2"],
        ] {
            let refused = files(bad).unwrap_err();
            assert_eq!(refused.code(), crate::model::Code::InvalidValue, "{bad:?}");
        }
        files(&["a/b=1", "a/c==", "empty="]).unwrap();
    }

    #[test]
    fn a_text_has_a_limit() {
        let long = format!("a={}", "x".repeat(MAX_BYTES + 1));
        files(&[&long]).unwrap_err();
        files(&[&long[..long.len() - 1]]).unwrap();
    }

    #[test]
    fn a_given_file_replaces_one_of_the_template() {
        let template = vec![("a".into(), "t".to_owned()), ("b".into(), "t".to_owned())];
        let all: Vec<_> = files(&["b=mine", "c=new"])
            .unwrap()
            .over(template)
            .unwrap()
            .iter()
            .map(|(path, text)| format!("{path}={text}"))
            .collect();
        assert_eq!(all, ["a=t", "b=mine", "c=new"]);
    }
}

//! Which files of a project a view (strategize, execute, apply) may see, and how many bytes of them.

use crate::model::{Code, Error, RepoPath, Result};
use crate::source::globs::{GlobVerdict, Globs};
use crate::store::settings::projects::{ContextView, Project};

/// The files that a view sees.
pub(super) struct ViewFilter {
    include: Option<Globs>,
    exclude: Globs,
    max_file_size: u64,
    /// Maximum bytes of all files of the project.
    pub(super) max_total_size: u64,
    /// Maximum number of files of the project.
    pub(super) max_files: u64,
}

impl ViewFilter {
    /// Reads the policy of a view, with everything that it inherits.
    pub(super) fn of(project: &Project, view: ContextView) -> Result<ViewFilter> {
        let policy = project.policy(view);
        let parse = |globs: &[String]| {
            Globs::parse(globs).map_err(|fault| {
                let glob = globs.get(fault.index).map_or("", String::as_str);
                let message = format!(
                    "cannot use the views of the project '{}': '{}' {}",
                    project.name,
                    glob.escape_debug(),
                    fault.message
                );
                Error::new(Code::ProjectsInvalid, message)
            })
        };
        Ok(ViewFilter {
            include: policy.include.as_deref().map(parse).transpose()?,
            exclude: parse(policy.exclude.as_deref().unwrap_or_default())?,
            max_file_size: policy.max_file_size.unwrap_or(u64::MAX),
            max_total_size: policy.max_total_size.unwrap_or(u64::MAX),
            max_files: policy.max_files.unwrap_or(u64::MAX),
        })
    }

    /// Returns `true` if the view sees a file of this size.
    pub(super) fn has(&self, path: &RepoPath, bytes: u64) -> bool {
        let matches = |globs: &Globs| globs.verdict(path) == GlobVerdict::In;
        self.include.as_ref().is_none_or(matches)
            && !matches(&self.exclude)
            && bytes <= self.max_file_size
    }
}

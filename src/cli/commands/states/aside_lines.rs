//! Lines about the files that a command moves aside.

use crate::cli::Run;
use crate::model::RepoPath;
use crate::store::operation::LateFile;

/// Returns a line for each ignored file that is in the way, with the reason why it is kept, and for each file that was
/// written while the command ran.
pub(in crate::cli) fn of(
    run: Run,
    ignored: &[RepoPath],
    why: &str,
    late: &[LateFile],
) -> Vec<String> {
    let aside = match run {
        Run::Dry => "would move aside",
        Run::ForReal => "moved aside",
    };
    let kept = ignored.iter().map(|path| format!("{aside}, {why}: {path}"));
    kept.chain(late.iter().map(LateFile::sentence)).collect()
}

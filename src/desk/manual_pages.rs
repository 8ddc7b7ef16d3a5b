//! Putting the manual where `man`, and so `git colony --help`, finds it.
//!
//! cargo installs programs only. `man` looks in `PREFIX/share/man` for each `PREFIX/bin` on the path, so the pages go
//! there; nothing is written unless the user asks for it, and only pages of ours are replaced.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::plain_file;
use crate::model::{Code, Error, Result, World};
use crate::store::files::atomic;

/// A page to be written.
pub struct ManualPage {
    /// The name of its file, as in `git-colony-restore.1`.
    pub file: String,
    /// Its content.
    pub text: String,
}

/// What was written.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ManualReport {
    /// The folder of the pages.
    pub folder: PathBuf,
    /// The names of the pages.
    pub files: Vec<String>,
    /// How many.
    pub count: usize,
    /// True when nothing was written because a dry run was asked for.
    pub dry_run: bool,
}

/// Writes the pages below `to`, or below the prefix of the program.
pub fn install(
    world: &World,
    to: Option<&Path>,
    pages: &[ManualPage],
    dry_run: bool,
) -> Result<ManualReport> {
    let root = match to {
        Some(to) => world.absolute(to),
        None => beside(&world.program)?,
    };
    let folder = root.join("man1");
    for page in pages {
        refuse_other(&folder.join(&page.file))?;
    }
    if !dry_run {
        atomic::make_directory(&folder)?;
        for page in pages {
            atomic::write_durably(&folder.join(&page.file), page.text.as_bytes())?;
        }
    }
    Ok(ManualReport {
        folder,
        files: pages.iter().map(|page| page.file.clone()).collect(),
        count: pages.len(),
        dry_run,
    })
}

fn beside(program: &Path) -> Result<PathBuf> {
    let bin = program.parent().filter(|bin| bin.ends_with("bin"));
    let prefix = bin.and_then(Path::parent).ok_or_else(|| {
        let message = format!(
            "cannot tell where the manual belongs: the program is '{}', not in a folder 'bin'",
            program.display()
        );
        Error::new(Code::InvalidValue, message)
            .hint("git colony help --install --to ~/.local/share/man")
    })?;
    Ok(prefix.join("share/man"))
}

/// Refuses to replace a file that is not a page of ours.
fn refuse_other(path: &Path) -> Result<()> {
    let is_ours = match plain_file::read(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => true,
        Err(_) => false,
        Ok(bytes) => String::from_utf8_lossy(&bytes).contains("git\\-colony manual"),
    };
    if is_ours {
        return Ok(());
    }
    let message = format!("'{}' is not a page of git-colony", path.display());
    Err(Error::new(Code::PathInTheWay, message)
        .detail("path", path.display().to_string())
        .hint("git colony help --install --to ~/.local/share/man"))
}

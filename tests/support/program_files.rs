//! Files that a test writes and that a process then runs.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Writes a program of mode 755, and makes the folders above it.
///
/// A test beside this one may start a process while the file is open for writing. That has the file open, too, until
/// it runs its own program, and until then nothing can run ours (ETXTBSY). So the file is locked while it is open: a
/// lock lasts until the last copy of what holds it is closed, and the second lock waits for that.
pub(crate) fn write_program(path: &Path, text: impl AsRef<[u8]>) {
    let write = || -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let mut file = File::create(path)?;
        file.lock()?;
        file.write_all(text.as_ref())?;
        file.set_permissions(Permissions::from_mode(0o755))?;
        drop(file);
        File::open(path)?.lock_shared()
    };
    write().expect("a test can write and lock files");
}

//! Where other file systems are mounted, as far as the system shows it (Linux, in `/proc`).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Finds a mount point at a folder or below it.
pub fn first_in(folder: &Path) -> Option<PathBuf> {
    points().into_iter().find(|point| point.starts_with(folder))
}

/// Returns `true` if nothing can be renamed from one folder into another: they are on two file systems, or below two mount
/// points of one. A folder that is not there yet counts as the one that it will be made in.
pub fn are_apart(folder: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.ancestors().find_map(|above| above.canonicalize().ok());
    let Some((folder, other)) = real(folder).zip(real(other)) else {
        return false;
    };
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    let points = points();
    let mount = |path: &Path| {
        let around = points.iter().filter(|point| path.starts_with(point));
        around.max_by_key(|point| point.components().count())
    };
    device(&folder) != device(&other) || mount(&folder) != mount(&other)
}

fn points() -> Vec<PathBuf> {
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let lines = table.split(|byte| *byte == b'\n');
    lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4).map(unescaped)).collect()
}

/// Reads a path in which blanks, tabs, newlines and backslashes are three octal digits behind a backslash.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = (*first == b'\\').then(|| after.get(..3)).flatten();
        let number = digits.and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        bytes.push(number.unwrap_or(*first));
        rest = if number.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_blanks_is_read() {
        assert_eq!(unescaped(br"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescaped(br"/plain\"), Path::new(r"/plain\"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_mounted_below_is_found() {
        assert_eq!(first_in(Path::new("/proc")), Some(PathBuf::from("/proc")));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(first_in(folder.path()), None);
        assert!(are_apart(folder.path(), Path::new("/proc/self")));
        assert!(!are_apart(folder.path(), &folder.path().join("not/there")));
    }
}

//! The size of a folder with everything in it.

use std::path::Path;

/// Returns the size in bytes of a file, or of the files below a folder, without following symlinks; `None` for
/// more than `max_entries` files and folders. What cannot be read counts as empty.
pub fn below(path: &Path, max_entries: usize) -> Option<u64> {
    let (mut open, mut entries, mut bytes) = (vec![path.to_owned()], 0, 0);
    while let Some(path) = open.pop() {
        let Ok(metadata) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        entries += 1;
        if entries > max_entries {
            return None;
        }
        if metadata.is_dir() {
            let children = std::fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(children.map(|entry| entry.path()));
        } else {
            bytes += metadata.len();
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_as_large_as_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::create_dir(path.join("a")).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test writes a file itself")]
        std::fs::write(path.join("a/b"), "12345").unwrap();
        std::os::unix::fs::symlink("/", path.join("a/root")).unwrap();
        assert_eq!(below(path, 4), Some(5 + 1));
        assert_eq!(below(path, 3), None);
        assert_eq!(below(&path.join("a/b"), 1), Some(5));
        assert_eq!(below(&path.join("missing"), 0), Some(0));
    }
}

//! The files of the page: one table, with the type of each. A path that is not in it does not exist.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use axum::body::Bytes;

use crate::model::World;

/// The page itself.
pub(super) const INDEX: &str = "index.html";

/// A file of the page.
#[derive(Clone, Debug)]
pub(super) struct WebFile {
    /// Its type.
    pub(super) kind: &'static str,
    /// Its bytes.
    pub(super) bytes: Bytes,
    /// The digest of its bytes.
    pub(super) tag: String,
}

macro_rules! files {
    ($($path:literal,)*) => {
        &[$(($path, include_bytes!(concat!("web/", $path)))),*]
    };
}

/// Every file, by its path from the root of the server.
const FILES: &[(&str, &[u8])] = files![
    "api.js",
    "app.js",
    "dialogs.js",
    "diff.js",
    "icon.svg",
    "index.html",
    "live.js",
    "pages/design.js",
    "pages/fleet.js",
    "pages/landing.js",
    "pages/login.js",
    "pages/search.js",
    "pages/timeline.js",
    "pages/trains.js",
    "pages/vcm.js",
    "pages/watches.js",
    "parts.js",
    "routes.js",
    "store.js",
    "style.css",
    "treemap.js",
    "undo.js",
    "vendor/LICENSES",
    "vendor/htm.module.js",
    "vendor/preact.mjs",
    "words.js",
];

/// The variable that names a folder with other files, in builds with debug assertions.
const OTHER_FILES: &str = "COLONY_TEST_DASHBOARD_WEB";

/// The digests, made when the first page is asked for.
static TAGS: LazyLock<Vec<String>> =
    LazyLock::new(|| FILES.iter().map(|(_, bytes)| tag(bytes)).collect());

/// Returns the type of a file by the end of its name.
fn kind(path: &str) -> &'static str {
    let ends = |end: &str| Path::new(path).extension().is_some_and(|own| own == end);
    if ends("html") {
        "text/html; charset=utf-8"
    } else if ends("js") || ends("mjs") {
        "text/javascript; charset=utf-8"
    } else if ends("css") {
        "text/css; charset=utf-8"
    } else if ends("svg") {
        "image/svg+xml"
    } else {
        "text/plain; charset=utf-8"
    }
}

fn tag(bytes: &[u8]) -> String {
    let digest = blake3::hash(bytes).to_string();
    format!("\"{}\"", digest.get(..16).unwrap_or_default())
}

/// Where the files are.
#[derive(Clone, Debug, Default)]
pub(super) struct WebFiles {
    /// A folder in place of the table.
    folder: Option<PathBuf>,
}

impl WebFiles {
    pub(super) fn of(world: &World) -> WebFiles {
        let named = world.variable(OTHER_FILES).filter(|_| cfg!(debug_assertions));
        WebFiles { folder: named.map(Into::into) }
    }

    /// Returns `true` if there is such a file.
    pub(super) fn has(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    /// Returns a file by its path, which begins with a slash or not.
    pub(super) fn find(&self, path: &str) -> Option<WebFile> {
        let path = path.strip_prefix('/').unwrap_or(path);
        if let Some(folder) = &self.folder {
            let is_plain = path.split('/').all(|part| !part.is_empty() && part != "..");
            let bytes = is_plain.then(|| std::fs::read(folder.join(path)).ok()).flatten()?;
            return Some(WebFile { kind: kind(path), tag: tag(&bytes), bytes: bytes.into() });
        }
        let at = FILES.iter().position(|(own, _)| *own == path)?;
        let (_, bytes) = FILES.get(at)?;
        let tag = TAGS.get(at).cloned().unwrap_or_default();
        Some(WebFile { kind: kind(path), tag, bytes: Bytes::from_static(bytes) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Files of the folder that no browser asks for.
    const NOT_SERVED: [&str; 2] = ["vendor/package-lock.json", "vendor/package.json"];

    fn list(folder: &Path, below: &str, files: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{below}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                list(&entry.path(), &format!("{path}/"), files);
            } else {
                files.insert(path);
            }
        }
    }

    #[test]
    fn the_table_has_every_file_of_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/dashboard/web");
        let mut files = BTreeSet::new();
        list(&folder, "", &mut files);
        for name in NOT_SERVED {
            assert!(files.remove(name), "{name}");
        }
        let known: BTreeSet<_> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(known, files);
        let files = WebFiles::default();
        assert!(files.has("/app.js") && files.has("/index.html"));
        for path in ["/", "/../Cargo.toml", "/app.js/", "//app.js", "/vendor", "/app%2ejs"] {
            assert!(!files.has(path), "{path}");
        }
    }
}

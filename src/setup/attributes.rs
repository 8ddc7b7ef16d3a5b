//! The `.gitattributes` of a new repository: which formats go to git-lfs (`FORMATS`), records merge by our rules.
//! Patterns name formats, never directories.

use crate::git::attributes::names_filter;
use crate::git::lfs::exempt_lines::ExemptLines;
use crate::model::Result;

/// The formats that git-lfs stores, in the groups of the file.
const FORMATS: [(&str, &[&str]); 7] = [
    ("Documents", &["pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub"]),
    ("Archives", &["zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz", "7z", "gz", "bz2", "xz"]),
    (
        "Scientific data",
        &["h5", "hdf5", "nc", "npy", "npz", "parquet", "feather", "arrow", "zarr", "mat"],
    ),
    ("Images", &["png", "jpg", "jpeg", "tiff", "tif", "gif", "bmp", "psd", "webp", "heic"]),
    (
        "CAD and 3D",
        &["step", "stp", "iges", "igs", "stl", "dwg", "dxf", "3mf", "obj", "fbx", "glb", "gltf"],
    ),
    ("Model weights", &["onnx", "safetensors", "ckpt", "pt", "pth", "bin"]),
    ("Audio and video", &["mp3", "wav", "flac", "mp4", "mov", "mkv", "webm"]),
];

/// Records with our merge rules. Git merges them as text where the driver is not configured.
pub const MERGE_LINES: &[&str] = &[
    "*.kg.json merge=colony-kg",
    "design/decisions/**/*.json merge=colony-decisions",
    "**/budgets/*.yaml merge=colony-budget",
    "**/budgets/*.yml merge=colony-budget",
    "**/page_graph.parquet merge=colony-page-graph",
    ".colony/*.json merge=colony-config",
    ".colony/*.yaml merge=colony-config",
];

/// Which lines the file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Merge rules and git-lfs.
    WithLfs,
    /// Merge rules alone.
    MergeOnly,
}

/// Returns the endings of the files that git-lfs stores.
pub fn endings() -> Vec<String> {
    let formats = FORMATS.iter().flat_map(|(_, formats)| formats.iter());
    formats.map(|format| format!(".{format}")).collect()
}

/// Returns the file without exemptions.
pub fn template(lines: Lines) -> String {
    text_of(lines, &ExemptLines::default())
}

/// Returns the file; exemptions come last.
pub fn file(lines: Lines, exempt: &ExemptLines) -> Result<Vec<u8>> {
    let mut bytes = text_of(lines, exempt).into_bytes();
    let without_lfs = text_of(Lines::MergeOnly, exempt);
    add_exempt(&mut bytes, exempt, without_lfs.as_bytes())?;
    Ok(bytes)
}

/// Returns the lines of git-lfs to add at the end of another's file.
pub fn lines_to_add(exempt: &ExemptLines, theirs: &[u8]) -> Result<Vec<String>> {
    let all = text_of(Lines::WithLfs, exempt);
    let wanted = all.lines().filter(|line| gives_to_lfs(line));
    let mut bytes: Vec<u8> = wanted.flat_map(|line| [line, "\n"].concat().into_bytes()).collect();
    add_exempt(&mut bytes, exempt, theirs)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().map(str::to_owned).collect())
}

fn add_exempt(bytes: &mut Vec<u8>, exempt: &ExemptLines, above: &[u8]) -> Result<()> {
    if !exempt.is_empty() {
        bytes.push(b'\n');
        bytes.extend_from_slice(&exempt.block(above)?);
    }
    Ok(())
}

/// Returns the line that gives the files of a pattern to git-lfs.
pub fn lfs_line(pattern: &str) -> String {
    format!("{pattern} filter=lfs diff=lfs merge=lfs -text")
}

fn text_of(lines: Lines, exempt: &ExemptLines) -> String {
    let mut text =
        String::from("# Written by 'git colony init'; edit it freely: it keeps what was edited.\n");
    if lines == Lines::WithLfs {
        text.push_str(
            "\n# Large formats are kept by git-lfs, wherever they are in the tree.\n\
             # It affects commits from now on; files that were committed before stay as they are.\n",
        );
        for (group, formats) in FORMATS {
            let lines: Vec<String> = formats
                .iter()
                .map(|format| lfs_line(&format!("*.{format}")))
                .filter(|line| !exempt.left_out.contains(line))
                .collect();
            if !lines.is_empty() {
                text.extend(["\n# ", group, "\n", &lines.join("\n"), "\n"]);
            }
        }
    }
    text.push_str(
        "\n# Records of the colony merge by their meaning where git-colony is installed.\n",
    );
    for line in MERGE_LINES {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Returns `true` if a line of the text gives files to git-lfs.
pub fn gives_to_lfs(text: &str) -> bool {
    names_filter(text, "lfs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_63_formats_and_each_is_written_once() {
        let text = template(Lines::WithLfs);
        let lines: Vec<_> = text.lines().filter(|line| line.contains("filter=lfs")).collect();
        let mut unique = lines.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!((lines.len(), unique.len()), (63, 63));
    }
}

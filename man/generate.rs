//! Writes the manual, and the tables of the documents that are made from what the program knows: `cargo run
//! --example manual` after the help of a command, a setting or an error code has changed.

#![expect(clippy::disallowed_methods, reason = "this is a tool of the developers")]

fn main() -> std::io::Result<()> {
    let package = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = package.join("man");
    for entry in std::fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "1") {
            std::fs::remove_file(path)?;
        }
    }
    for page in git_colony::testing::manual::pages() {
        std::fs::write(directory.join(page.file), page.text)?;
    }
    for table in git_colony::testing::reference::tables() {
        let file = package.join(table.file);
        let filled = table.fill(&std::fs::read_to_string(&file)?);
        let filled =
            filled.ok_or_else(|| std::io::Error::other("a document has lost its marks"))?;
        std::fs::write(file, filled)?;
    }
    Ok(())
}

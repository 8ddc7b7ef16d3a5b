//! Writes the manual: `cargo run --example manual` after the help of a command has changed.

#![expect(
    clippy::disallowed_methods,
    reason = "this is a tool of the developers"
)]

fn main() -> std::io::Result<()> {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    for entry in std::fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "1") {
            std::fs::remove_file(path)?;
        }
    }
    for page in git_colony::cli::manual::pages() {
        std::fs::write(directory.join(page.file), page.text)?;
    }
    Ok(())
}

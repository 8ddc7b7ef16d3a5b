//! Reading what a command says while it says it.

/// Is told what a command says, in any pieces.
pub(super) type Listener = Box<dyn FnMut(&[u8]) + Send>;

/// Reads a pipe to its end, and passes on what comes.
pub(super) fn read_aloud(
    pipe: &mut impl std::io::Read,
    all: &mut Vec<u8>,
    mut listener: Option<&mut Listener>,
) -> std::io::Result<()> {
    let mut part = [0; 4096];
    loop {
        let count = match pipe.read(&mut part) {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        let Some(read) = part.get(..count).filter(|read| !read.is_empty()) else {
            return Ok(());
        };
        if let Some(listener) = &mut listener {
            listener(read);
        }
        all.extend_from_slice(read);
    }
}

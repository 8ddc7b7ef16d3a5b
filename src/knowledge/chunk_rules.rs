//! What a map says of the documents of the knowledge base: their routes, and the sizes of their chunks.

use crate::map_rows::Rows;
use crate::model::{RepoPath, Result};
use crate::repo_map::resolved::RowPlace;
use crate::repo_map::routing::Routing;
use crate::repo_map::row::SourceKind;
use crate::source::selection::Selection;
use crate::store::Session;
use crate::text::chunk::ChunkSize;

/// What a map says.
pub(crate) struct Rules {
    /// Its routing rows.
    pub(super) routing: Routing,
    /// The files of its rows of literature, and the sizes of their chunks.
    prose: Vec<(Selection, ChunkSize)>,
    /// The size elsewhere.
    usual: ChunkSize,
}

impl Rules {
    /// Reads a map whose rows are resolved.
    pub(crate) fn of(session: &Session, rows: &Rows) -> Result<Rules> {
        let resolved = rows.outcomes.iter().filter_map(|outcome| outcome.resolved.as_ref().ok());
        let literature = resolved
            .filter(|row| row.kind == SourceKind::Literature && row.place == RowPlace::This);
        // A row whose pages have no room for prose is reported where it is mapped.
        let prose = literature.filter_map(|row| {
            let size = row.chunk_size().ok()?;
            Some((row.selection.clone(), size))
        });
        let settings = &session.settings.map;
        let target = settings.chunk_target_tokens as usize;
        let overlap = (settings.chunk_overlap_tokens as usize).min(target / 2);
        Ok(Rules {
            routing: Routing::of(&rows.map)?,
            prose: prose.collect(),
            usual: ChunkSize::new(target, overlap).unwrap_or_default(),
        })
    }

    /// Returns the size of the chunks of a document: that of the first row of literature that has it, so that both
    /// cut it alike.
    pub(super) fn chunk_size(&self, path: &RepoPath) -> ChunkSize {
        let covers = |selection: &Selection| {
            let below = path.below(&selection.start_dir);
            below.is_some_and(|below| selection.takes(&RepoPath::new(below)))
        };
        let mut rows = self.prose.iter();
        let row = rows.find(|(selection, _)| covers(selection));
        row.map_or(self.usual, |(_, size)| *size)
    }
}

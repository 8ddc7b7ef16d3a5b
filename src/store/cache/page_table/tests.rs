//! A page table that several processes use.

use super::*;

fn directory(path: &str, pages: u64) -> DirectoryRow {
    DirectoryRow {
        path: RepoPath::from(path),
        parent: None,
        tree: "tree".to_owned(),
        rules: Vec::new(),
        page_ids: Vec::new(),
        packed: Vec::new(),
        left_out: None,
        totals: Totals { pages, records: pages, tokens: 10 * pages },
    }
}

/// Maps one more directory of the scope.
fn map(table: &mut PageTable, before: Option<&ScopeRow>, directory: DirectoryRow) -> ScopeRow {
    let mapped = Mapped {
        worktree: "main",
        scope: "code",
        recipe: b"recipe",
        revision: "revision",
        follows: None,
        place: None,
    };
    let changes = Changes { packed: vec![directory], ..Changes::default() };
    table.write(before, &mapped, &changes).unwrap().unwrap()
}

#[test]
fn a_scope_that_another_process_maps_or_deletes_adds_up() {
    let mut table = PageTable::in_memory().unwrap();
    let first = map(&mut table, None, directory("a", 1));
    let second = map(&mut table, Some(&first), directory("b", 2));
    assert_eq!((first.totals.pages, second.totals.pages), (1, 3));
    assert!(table.adds_up(&first).unwrap());
    let lost = table.database.transaction(|connection| {
        connection.execute("DELETE FROM directories WHERE pages = 2", [])?;
        Ok(())
    });
    lost.unwrap();
    assert!(!table.adds_up(&second).unwrap());
    assert!(table.forget("main", "code").unwrap());
    assert!(table.adds_up(&second).unwrap());
}

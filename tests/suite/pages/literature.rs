//! Literature: documents of blobs and of git-lfs, in chunks; whatever they are, one outcome each.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use git_colony::testing::{
    ChunkRecord, ChunkSize, Extractor, Fetch, Flags, LfsObjects, Library, Literature, ObjectWrites,
    Oid, Pointer, ReadFault, RepoPath, Session, Tokenizer, UserCache, UserCacheKind, World,
    hydrate, user_cache,
};

use crate::support::{Sandbox, eventually, is_running, write_program};

/// Makes a PDF without compression: a page for each text, all in one font.
pub(crate) fn pdf(pages: &[&str], trailer: &str) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len()).map(|n| format!("{} 0 R", 4 + 2 * n)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (number, text) in pages.iter().enumerate() {
        let contents = 5 + 2 * number;
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {contents} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>"
        ));
        let stream = if text.is_empty() {
            String::new()
        } else {
            format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET")
        };
        objects.push(format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut places = String::new();
    for (number, object) in objects.iter().enumerate() {
        writeln!(places, "{:010} 00000 n ", file.len()).unwrap();
        writeln!(file, "{} 0 obj\n{object}\nendobj", number + 1).unwrap();
    }
    let (start, size) = (file.len(), objects.len() + 1);
    write!(
        file,
        "xref\n0 {size}\n0000000000 65535 f \n{places}\
         trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    )
    .unwrap();
    file.into_bytes()
}

/// A document that no empty password opens.
fn encrypted() -> Vec<u8> {
    let key = "ab".repeat(32);
    let id = "cd".repeat(16);
    let trailer = format!(
        "/Encrypt << /Filter /Standard /V 1 /R 2 /O <{key}> /U <{key}> /P -4 >> /ID [<{id}> <{id}>]"
    );
    pdf(&["A secret."], &trailer)
}

/// The world without our own extractor beside the program: what is on the PATH counts.
fn with_path(sandbox: &Sandbox, path: Option<&Path>) -> World {
    let mut world = sandbox.world();
    world.program = PathBuf::from("/nonexistent/git-colony");
    if let Some(path) = path {
        let inherited = world.variables.get(OsStr::new("PATH")).cloned();
        let mut all = path.as_os_str().to_owned();
        all.push(":");
        all.push(inherited.unwrap_or_default());
        world.variables.insert("PATH".into(), all);
    }
    world
}

/// Puts a `pdftotext` of these lines of shell into a folder of its own.
fn fake(sandbox: &Sandbox, version: &str, lines: &str) -> PathBuf {
    let folder = sandbox.outside().join("fake");
    let program = folder.join("pdftotext");
    let head = format!(
        "#!/bin/sh\nif [ \"$1\" = -v ]; then echo 'pdftotext version {version}' >&2; exit; fi\n"
    );
    write_program(&program, format!("{head}{lines}\n"));
    folder
}

fn pages(world: &World, bytes: Vec<u8>) -> Result<Vec<String>, ReadFault> {
    let extractor = Extractor::find(world).unwrap().unwrap();
    extractor.within_seconds(20).pages(world, bytes).unwrap()
}

type Outcome = Result<Vec<ChunkRecord>, ReadFault>;

fn read_with(world: &World, path: &str, fetch: Option<Fetch<'_>>) -> Outcome {
    let session = Session::open(world.clone(), &Flags::default(), ObjectWrites::Durable).unwrap();
    let commit = session.repo.resolve_commit("HEAD").unwrap();
    let tree = session.repo.tree_of(Some(commit)).unwrap();
    let path = RepoPath::new(path);
    let blob = session.repo.leaf_in(tree, &path).unwrap().unwrap().id;
    let literature = Literature::new(world, ChunkSize::default(), Tokenizer::O200k);
    let objects = session.repo.objects();
    let library = Library {
        objects: &objects,
        large_files: LfsObjects::of(&session.repo),
        is_dry: !session.repo.keeps_objects(),
    };
    let outcome = literature.read(&library, &path, blob, fetch);
    outcome.unwrap().unwrap()
}

fn read(world: &World, path: &str) -> Outcome {
    read_with(world, path, None)
}

fn committed(files: &[(&str, &[u8])]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, bytes) in files {
        sandbox.write(path, bytes);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "literature"]);
    sandbox
}

#[test]
fn the_pages_of_a_pdf_keep_their_numbers() {
    let bytes = pdf(&["The first page.", "", "The third page."], "");
    let sandbox = committed(&[("lit/Paper.PDF", &bytes)]);
    let records = read(&with_path(&sandbox, None), "lit/Paper.PDF").unwrap();
    let found: Vec<_> = records
        .iter()
        .map(|record| (record.page, record.section_path.as_str(), record.text.as_str()))
        .collect();
    assert_eq!(found, [(Some(1), "1", "The first page."), (Some(3), "3", "The third page.")]);
    assert!(records[1].part.starts_with("p3#"), "{}", records[1].part);
}

#[test]
fn what_is_no_readable_pdf_is_named() {
    let sandbox = Sandbox::new();
    let world = with_path(&sandbox, None);
    let whole = pdf(&["Some text."], "");
    assert_eq!(pages(&world, whole.clone()), Ok(vec!["Some text.\n\n".to_owned()]));
    assert_eq!(pages(&world, encrypted()), Err(ReadFault::Encrypted));
    for bytes in [&whole[..40], b"hello", b"", b"%PDF-1.4\n"] {
        let fault = pages(&world, bytes.to_vec()).unwrap_err();
        assert_eq!(fault.code(), "broken", "{fault}");
    }
    let sandbox = committed(&[("scan.pdf", &pdf(&["", ""], ""))]);
    let fault = read(&with_path(&sandbox, None), "scan.pdf").unwrap_err();
    assert_eq!(fault, ReadFault::Scanned);
}

#[test]
fn a_pdf_without_an_extractor_is_named_and_other_files_are_read() {
    let sandbox = committed(&[("a.pdf", &pdf(&["Text."], "")), ("a.txt", b"Text.\n")]);
    let mut world = with_path(&sandbox, None);
    world.variables.insert("PATH".into(), "/nonexistent:relative".into());
    assert_eq!(read(&world, "a.pdf"), Err(ReadFault::ExtractorMissing));
    assert_eq!(read(&world, "a.txt").unwrap().len(), 1);
}

#[test]
fn a_folder_of_documents_without_end_takes_no_minute_for_each() {
    let sandbox = Sandbox::new();
    let world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", "sleep 1000")));
    let extractor = Extractor::find(&world).unwrap().unwrap();
    let fault = extractor.with_less_time(9).pages(&world, pdf(&["x"], ""));
    assert_eq!(fault.unwrap(), Err(ReadFault::TimedOut { seconds: 2 }));
    let impatient = extractor.within_seconds(1).with_less_time(40);
    let fault = impatient.pages(&world, pdf(&["x"], "")).unwrap();
    assert_eq!(fault, Err(ReadFault::TimedOut { seconds: 1 }));
}

#[test]
fn an_extractor_that_never_ends_is_ended_with_all_it_started() {
    let sandbox = Sandbox::new();
    let note = sandbox.outside().join("pid");
    let lines = format!("sleep 1000 & echo $! > '{}'; wait", note.display());
    let world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", &lines)));
    let extractor = Extractor::find(&world).unwrap().unwrap().within_seconds(3);
    let fault = extractor.pages(&world, pdf(&["x"], "")).unwrap();
    assert_eq!(fault, Err(ReadFault::TimedOut { seconds: 3 }));
    let pid = fs::read_to_string(note).unwrap().trim().parse().unwrap();
    eventually("what the extractor has started ends", || !is_running(pid));
}

#[test]
fn an_extractor_has_limits_of_memory_and_output() {
    let sandbox = Sandbox::new();
    let python = |size: &str| format!("exec python3 -c 'x = bytearray({size}); print(\"fits\")'");
    let world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", &python("1 << 20"))));
    assert_eq!(pages(&world, pdf(&["x"], "")), Ok(vec!["fits\n".to_owned()]));
    let world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", &python("8 << 30"))));
    let fault = pages(&world, pdf(&["x"], "")).unwrap_err();
    assert_eq!(fault.code(), "broken", "{fault}");
    let world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", "exec yes")));
    let fault = pages(&world, pdf(&["x"], "")).unwrap_err();
    assert_eq!(fault.code(), "too_large", "{fault}");
}

#[test]
fn an_extractor_that_crashes_is_a_broken_document() {
    let sandbox = Sandbox::new();
    for (lines, said) in [
        ("kill -SEGV $$", "pdftotext-1.0 crashed"),
        ("echo 'cannot \u{1b}[31mread' >&2; exit 1", "cannot [31mread"),
        ("exit 7", "pdftotext-1.0 exited with 7"),
    ] {
        let world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", lines)));
        let reason = said.to_owned();
        assert_eq!(
            pages(&world, pdf(&["x"], "")),
            Err(ReadFault::Broken { reason, passing: false })
        );
    }
}

#[test]
fn an_extractor_sees_the_document_and_nothing_of_ours() {
    let sandbox = Sandbox::new();
    let lines = "cat > /dev/null; env; pwd";
    let mut world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", lines)));
    world.variables.insert("GITHUB_TOKEN".into(), "ghp_secret".into());
    let seen = pages(&world, pdf(&["x"], "")).unwrap().concat();
    assert!(seen.contains("LANG=C.UTF-8") && seen.ends_with("\n/\n"), "{seen}");
    for name in ["GITHUB_TOKEN", "HOME", "GIT_"] {
        assert!(!seen.contains(name), "{seen}");
    }
}

#[test]
fn our_own_extractor_beside_the_program_comes_first() {
    let sandbox = Sandbox::new();
    let folder = fake(&sandbox, "1.0", "echo poppler");
    let own = folder.join("git-colony-extract");
    let own_lines = |lines: &str| {
        let head = "#!/bin/sh\nif [ \"$1\" = --version ]; then echo pdf_oxide 0.3.78; exit; fi\n";
        write_program(&own, format!("{head}{lines}\n"));
    };
    let mut world = with_path(&sandbox, Some(&folder));
    world.program = folder.join("git-colony");
    own_lines("printf 'one\\ftwo\\f'");
    let extractor = Extractor::find(&world).unwrap().unwrap();
    assert_eq!(extractor.id(), "pdf_oxide-0.3.78");
    let two = vec!["one".to_owned(), "two".to_owned()];
    assert_eq!(pages(&world, pdf(&["x"], "")), Ok(two));
    own_lines("exit 3");
    assert_eq!(pages(&world, pdf(&["x"], "")), Err(ReadFault::Encrypted));
    own_lines("echo \"thread 'main' panicked at x.rs\" >&2; exit 101");
    assert_eq!(pages(&world, pdf(&["x"], "")).unwrap_err().code(), "broken");
    // One that does not start is none.
    fs::write(&own, "").unwrap();
    assert_eq!(Extractor::find(&world).unwrap().unwrap().id(), "pdftotext-1.0");
}

/// Needs the program itself: `cargo test --features pdf`.
#[cfg(feature = "pdf")]
#[test]
fn our_own_extractor_names_what_poppler_names() {
    let sandbox = Sandbox::new();
    let mut world = sandbox.world();
    world.program = env!("CARGO_BIN_EXE_git-colony-extract").into();
    let whole = pdf(&["The first page.", "", "The third page."], "");
    let found = pages(&world, whole.clone()).unwrap();
    let trimmed: Vec<&str> = found.iter().map(|page| page.trim()).collect();
    assert_eq!(trimmed, ["The first page.", "", "The third page."]);
    assert_eq!(pages(&world, encrypted()), Err(ReadFault::Encrypted));
    for bytes in [&whole[..40], b"hello", b"", b"%PDF-1.4\n"] {
        let fault = pages(&world, bytes.to_vec()).unwrap_err();
        assert_eq!(fault.code(), "broken", "{fault}");
    }
}

#[test]
fn text_is_taken_out_once_by_each_version() {
    let sandbox = committed(&[("a.pdf", &pdf(&["x"], ""))]);
    let count = sandbox.outside().join("count");
    let lines = format!("cat > /dev/null; echo x >> '{}'; echo text", count.display());
    let runs = || fs::read_to_string(&count).unwrap_or_default().lines().count();
    let world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", &lines)));
    let first = read(&world, "a.pdf").unwrap();
    assert_eq!(read(&world, "a.pdf").unwrap(), first);
    assert_eq!(runs(), 1);

    // What has been changed where it is kept is not believed.
    let kept = sandbox.outside().join("home/.cache/git-colony/texts-1.db");
    let sound = fs::read(&kept).unwrap();
    let at = sound.windows(6).position(|window| window == b"\"text\\").unwrap();
    let mut lie = sound.clone();
    lie[at + 1..at + 5].copy_from_slice(b"lies");
    for bytes in [lie, sound[..sound.len() / 2].to_vec(), Vec::new()] {
        fs::write(&kept, bytes).unwrap();
        assert_eq!(read(&world, "a.pdf").unwrap(), first);
    }
    assert_eq!(runs(), 4);

    let newer = with_path(&sandbox, Some(&fake(&sandbox, "1.1", &lines)));
    assert_eq!(read(&newer, "a.pdf").unwrap(), first);
    assert_eq!(runs(), 5);
    for world in [with_path(&sandbox, Some(&fake(&sandbox, "1.0", &lines))), newer] {
        assert_eq!(read(&world, "a.pdf").unwrap(), first);
    }
    assert_eq!(runs(), 5);
}

#[test]
fn a_failure_of_the_moment_is_not_kept() {
    let sandbox = committed(&[("a.pdf", &pdf(&["x"], ""))]);
    let world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", "kill -KILL $$")));
    assert_eq!(read(&world, "a.pdf").unwrap_err().code(), "broken");
    let world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", "cat > /dev/null; echo text")));
    assert_eq!(read(&world, "a.pdf").unwrap()[0].text, "text");
}

#[test]
fn what_cannot_be_read_is_tried_once_by_each_version() {
    for (answer, code) in [
        ("echo 'no xref' >&2; exit 1", "broken"),
        ("kill -SEGV $$", "broken"),
        ("exit 3", "encrypted"),
    ] {
        let sandbox = committed(&[("a.pdf", &pdf(&["x"], ""))]);
        let map = "schema_version: 1\nsources:\n  - {name: lit, type: literature}\n";
        sandbox.write(".colony/repo_map.yaml", map);
        let count = sandbox.outside().join("count");
        let lines = format!("cat > /dev/null; echo x >> '{}'; {answer}", count.display());
        let runs = || fs::read_to_string(&count).unwrap_or_default().lines().count();
        for (number, version) in [(0, "1.0"), (1, "1.0"), (2, "1.1")] {
            // The directory is looked at again: something else in it has changed.
            sandbox.write("other.txt", format!("{number}\n"));
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-qm", "more"]);
            let world = with_path(&sandbox, Some(&fake(&sandbox, version, &lines)));
            let run = sandbox.run_in(world, &["--json", "map"]);
            let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
            let left_out = &answer["results"][0]["left_out"][0];
            assert_eq!((&left_out["path"], &left_out["reason"]), (&"a.pdf".into(), &code.into()));
            let wanted = if version == "1.0" { 1 } else { 2 };
            assert_eq!(runs(), wanted, "{code} {number}");
        }
    }
}

#[test]
fn what_takes_too_long_is_tried_again_the_next_day() {
    let sandbox = committed(&[("a.pdf", &pdf(&["x"], ""))]);
    let world = with_path(&sandbox, Some(&fake(&sandbox, "1.0", "cat > /dev/null; echo text")));
    let day = world.now().timestamp() / 86_400;
    let blob = sandbox.git(&["rev-parse", "HEAD:a.pdf"]);
    let slow: Result<Vec<String>, ReadFault> = Err(ReadFault::TimedOut { seconds: 60 });
    let mut cache = UserCache::open(&world, UserCacheKind::Texts);
    let key = format!("blob-{blob} pdftotext-1.0 slow {day}");
    cache.remember(&[(user_cache::key(&key), serde_json::to_vec(&slow).unwrap())]);
    assert_eq!(read(&world, "a.pdf").unwrap_err().code(), "timed_out");
    let tomorrow = sandbox.world_at(86_400);
    let later = World { clock: tomorrow.clock, ..world };
    assert_eq!(read(&later, "a.pdf").unwrap()[0].text, "text");
}

#[test]
fn chunks_are_ranges_of_the_document() {
    let prose = |n: usize| format!("Gauge {n} was read at noon. It said {n}. ").repeat(40);
    let text = format!(
        "Intro.\n\n# One\n\n{}\n\n```sh\n# a comment\n```\n\n## Two\n\n{}\n",
        prose(1),
        prose(2)
    );
    let sandbox = committed(&[("a.md", text.as_bytes())]);
    let records = read(&sandbox.world(), "a.md").unwrap();
    let mut covered = 0;
    for record in &records {
        assert_eq!(record.text, text[record.start..record.end]);
        assert!(record.tokens <= 800 && record.section_start <= record.start);
        assert!(text[covered.min(record.start)..record.start].trim().is_empty());
        covered = record.end;
    }
    assert!(text[covered..].trim().is_empty());
    let headings: Vec<_> = records.iter().map(|r| r.heading.as_deref()).collect();
    assert!(!headings.contains(&Some("a comment")), "{headings:?}");
    assert!(headings.contains(&Some("Two")), "{headings:?}");
}

#[test]
fn an_edit_leaves_the_names_of_other_chunks_alone() {
    let section = |n: usize| {
        let sentence = |k: usize| format!("Gauge {k} of part {n} said {k}. ");
        let sentences: String = (0..30).map(sentence).collect();
        format!("# Part {n}\n\n{sentences}\n\n")
    };
    let text: String = (0..20).map(section).collect();
    let edited = text.replacen("# Part 3\n\n", "# Part 3\n\nA new sentence stands here. ", 1);
    let added = format!("# Part zero\n\nNew.\n\n{text}");
    let names = |text: &str| -> std::collections::BTreeSet<String> {
        let sandbox = committed(&[("a.md", text.as_bytes())]);
        let records = read(&sandbox.world(), "a.md").unwrap();
        records.into_iter().map(|record| record.part).collect()
    };
    let before = names(&text);
    assert!(before.len() > 8);
    for after in [names(&edited), names(&added)] {
        let new: Vec<_> = after.difference(&before).collect();
        assert!((1..=3).contains(&new.len()), "{new:?}");
    }
}

#[test]
fn the_same_words_twice_have_two_names() {
    let text = format!("# A\n\n{}\n\n# A\n\n{}\n", "word ".repeat(500), "word ".repeat(500));
    let sandbox = committed(&[("a.md", text.as_bytes())]);
    let records = read(&sandbox.world(), "a.md").unwrap();
    let names: std::collections::BTreeSet<_> = records.iter().map(|r| &r.part).collect();
    assert_eq!(names.len(), records.len());
}

/// A repository with a document in git-lfs, and the same beside it as a blob.
fn with_large_files() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["lfs", "install", "--local"]);
    sandbox.write(".gitattributes", "large/** filter=lfs diff=lfs merge=lfs -text\n");
    for (name, bytes) in [
        ("a.pdf", pdf(&["Page one.", "Page two."], "")),
        ("b.md", b"# Title\n\nSome words.\n".to_vec()),
    ] {
        sandbox.write(&format!("large/{name}"), &bytes);
        sandbox.write(&format!("plain/{name}"), &bytes);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "literature"]);
    sandbox
}

#[test]
fn a_document_in_git_lfs_reads_as_plain_from_its_pointer() {
    let sandbox = with_large_files();
    // The worktree has the pointers only.
    fs::remove_dir_all(sandbox.path("large")).unwrap();
    let raw = [
        "-c",
        "filter.lfs.smudge=",
        "-c",
        "filter.lfs.process=",
        "-c",
        "filter.lfs.required=false",
    ];
    sandbox.git(&[&raw[..], &["checkout", "-q", "--", "large"]].concat());
    assert!(sandbox.read("large/b.md").starts_with("version"));
    let world = with_path(&sandbox, None);
    for name in ["a.pdf", "b.md"] {
        let large = read(&world, &format!("large/{name}")).unwrap();
        assert_eq!(large, read(&world, &format!("plain/{name}")).unwrap());
        assert!(!large.is_empty());
    }
}

#[test]
fn a_missing_object_is_named_or_fetched() {
    let sandbox = with_large_files();
    let origin = sandbox.outside().join("origin.git");
    sandbox.git(&["init", "-q", "--bare", origin.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let world = with_path(&sandbox, None);
    let before = read(&world, "large/b.md").unwrap();
    fs::remove_dir_all(sandbox.path(".git/lfs/objects")).unwrap();

    let fault = read(&world, "large/b.md").unwrap_err();
    assert_eq!(fault.code(), "lfs_missing");
    // It stops no other document.
    assert_eq!(read(&world, "plain/b.md").unwrap(), before);

    let said = Cell::new(0);
    let in_vain = |_: Oid, _: &Pointer| {
        said.set(said.get() + 1);
        Ok(Some("the server is away".to_owned()))
    };
    let fault = read_with(&world, "large/b.md", Some(&in_vain)).unwrap_err();
    assert!(fault.to_string().contains("the server is away"), "{fault}");
    assert_eq!(said.get(), 1);

    let session = Session::open(world.clone(), &Flags::default(), ObjectWrites::Durable).unwrap();
    let fetch = |blob: Oid, pointer: &Pointer| {
        hydrate::fetch_object(&session, blob, pointer, hydrate::Fetch::AsConfigured)
    };
    assert_eq!(read_with(&world, "large/b.md", Some(&fetch)).unwrap(), before);
}

#[test]
fn an_object_with_other_bytes_than_its_own_is_not_believed() {
    let sandbox = with_large_files();
    let mut folders = vec![sandbox.path(".git/lfs/objects")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let length = fs::metadata(&path).unwrap().len();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            fs::write(&path, "x".repeat(usize::try_from(length).unwrap())).unwrap();
        }
    }
    for name in ["large/a.pdf", "large/b.md"] {
        let fault = read(&with_path(&sandbox, None), name).unwrap_err();
        assert_eq!(fault.code(), "lfs_missing", "{fault}");
        assert!(fault.to_string().contains("does not match its id"), "{fault}");
    }
}

#[test]
fn a_row_of_literature_becomes_pages_of_chunks() {
    let sandbox = Sandbox::new();
    let prose = "# Rivers\n\nA river runs to the sea. It bends.\n\n## Deltas\n\nA delta is wide.\n";
    sandbox.write("lit/rivers.md", prose);
    sandbox.write("lit/code.rs", "fn main() {}\n");
    sandbox.write("lit/scan.pdf", "no pdf at all");
    let map =
        "schema_version: 1\nsources:\n  - name: lit\n    type: literature\n    start_dir: lit/\n";
    sandbox.write(".colony/repo_map.yaml", map);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "literature"]);
    let mapped = sandbox.json(&["map"]);
    let result = &mapped["results"][0];
    assert_eq!(result["status"], "mapped", "{mapped:#}");
    assert_eq!(result["left_out"][0]["path"], "lit/scan.pdf", "{mapped:#}");
    let pages = sandbox.json(&["pages"]);
    let id = pages["pages"][0]["page_id"].as_str().unwrap();
    let shown = sandbox.json(&["pages", "show", id])["pages"][0].clone();
    let texts = shown["records"].as_array().unwrap().iter();
    let text: String = texts.map(|record| record["text"].as_str().unwrap()).collect();
    assert!(text.contains("A river runs to the sea.") && text.contains("A delta is wide."));
    assert!(
        shown["records"].as_array().unwrap().iter().all(|record| record["path"] == "lit/rivers.md")
    );
}

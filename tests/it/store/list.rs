//! Threads are listed page by page, quickly, with and without the index.

use super::{file_of, id_of, line, meta_line, said, words_line};
use countersign::ids::ThreadId;
use countersign::protocol::thread::ThreadListParams;
use countersign::store::{self, Index, StoreError};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, SystemTime};

fn use_at(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds);
    std::fs::File::options()
        .append(true)
        .open(path)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

/// Shows S-306.
#[test]
fn the_list_goes_page_by_page() {
    let home = tempfile::tempdir().unwrap();
    for number in 0..60 {
        let id = id_of(number);
        let path = file_of(home.path(), &id, &[meta_line(&id), said(&format!("thread {number}"))]);
        // The same moment for some: nothing may be lost or shown twice at the border of a page.
        use_at(&path, (number / 7) as u64);
    }
    let page = |cursor: Option<String>, limit: Option<u32>| {
        let params = ThreadListParams {
            cursor,
            limit,
            ..ThreadListParams::default()
        };
        store::list(home.path(), &params, "openai").unwrap()
    };
    let mut sizes = Vec::new();
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let result = page(cursor, None);
        sizes.push(result.data.len());
        seen.extend(result.data.into_iter().map(|thread| thread.id));
        cursor = result.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [25, 25, 10]);
    let expected: Vec<ThreadId> = (0..60).rev().map(|number| id_of(number).into()).collect();
    assert_eq!(seen, expected);
    assert_eq!(page(None, Some(0)).data.len(), 1);
    assert_eq!(page(None, Some(60)).next_cursor, None);
    assert_eq!(page(None, Some(59)).data.len(), 59);
}

/// Shows S-308.
#[test]
fn a_bad_cursor_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    for cursor in ["xyz", "", "MXwyfA==", "Mnwx", "1|2|3", "\u{1F600}"] {
        let params = ThreadListParams {
            cursor: Some(cursor.into()),
            ..ThreadListParams::default()
        };
        let error = store::list(home.path(), &params, "openai").unwrap_err();
        assert!(
            matches!(error, StoreError::BadCursor { .. }) && error.is_bad_request(),
            "{cursor}"
        );
    }
}

/// Shows S-030, S-307, S-309.
#[test]
fn the_list_is_filtered() {
    let home = tempfile::tempdir().unwrap();
    let with = |number: usize, change: &dyn Fn(&mut Value), words: &str| {
        let id = id_of(number);
        let mut meta = meta_line(&id);
        change(&mut meta["payload"]);
        let path = file_of(home.path(), &id, &[meta, said(words)]);
        use_at(&path, 100 - number as u64);
    };
    with(0, &|_| {}, "Alpha ÄÖ");
    with(1, &|meta| meta["model_provider"] = json!("ollama"), "beta");
    with(2, &|meta| meta["model_provider"] = Value::Null, "gamma");
    with(3, &|meta| meta["source"] = json!("exec"), "delta");
    with(4, &|meta| meta["source"] = json!({ "subagent": "review" }), "epsilon");
    with(5, &|meta| meta["source"] = json!({ "custom": "neovim" }), "zeta");
    with(6, &|meta| meta["cwd"] = json!("/other/"), "eta");
    file_of(home.path(), &id_of(7), &[meta_line(&id_of(7))]);
    file_of(home.path(), &id_of(8), &[]);
    let nameless = file_of(home.path(), &id_of(9), &[said("no description")]);
    use_at(&nameless, 91);
    let renamed = file_of(
        home.path(),
        &id_of(10),
        &[
            meta_line(&id_of(10)),
            said("named"),
            line(
                "event_msg",
                json!({ "type": "thread_name_updated", "thread_id": "x", "thread_name": "Omega" }),
            ),
        ],
    );
    use_at(&renamed, 1);

    let ids = |params: ThreadListParams| -> Vec<usize> {
        let result = store::list(home.path(), &params, "openai").unwrap();
        result
            .data
            .iter()
            .map(|thread| thread.id.as_str()[24..].parse().unwrap())
            .collect()
    };
    let all = || ThreadListParams::default();
    let providers = |names: &[&str]| ThreadListParams {
        model_providers: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..ThreadListParams::default()
    };
    let cwd = |path: &str| ThreadListParams {
        cwd: Some(path.into()),
        ..ThreadListParams::default()
    };
    let term = |text: &str| ThreadListParams {
        search_term: Some(text.into()),
        ..ThreadListParams::default()
    };
    let rows = [
        (all(), vec![0, 2, 5, 6, 9, 10]),
        (providers(&[]), vec![0, 1, 2, 5, 6, 9, 10]),
        (providers(&["ollama"]), vec![1]),
        (providers(&["ollama", "openai"]), vec![0, 1, 2, 5, 6, 9, 10]),
        (providers(&["nobody"]), vec![]),
        (cwd("/other"), vec![6]),
        (cwd("/project/"), vec![0, 2, 5, 10]),
        (cwd("/oth"), vec![]),
        (term("äö"), vec![0]),
        (term("omega"), vec![10]),
        (term("  "), vec![0, 2, 5, 6, 9, 10]),
        (term("nothing"), vec![]),
    ];
    for (params, expected) in rows {
        assert_eq!(ids(params.clone()), expected, "{params:?}");
    }
    let listed = store::list(home.path(), &all(), "openai").unwrap().data;
    let first = &listed[0];
    assert_eq!(
        (
            first.preview.as_str(),
            first.cli_version.as_str(),
            first.source.as_str(),
            first.cwd.to_str().unwrap()
        ),
        ("Alpha ÄÖ", "0.50.0", "cli", "/project")
    );
    assert!(first.path.as_ref().unwrap().is_file());
    assert!(first.created_at_ms > 0 && first.updated_at_ms >= first.created_at_ms);
    assert_eq!(
        listed[1].model_provider, "openai",
        "the current one where none is stored"
    );
    assert_eq!(listed[5].name.as_deref(), Some("Omega"));
}

#[test]
fn ten_thousand_threads_are_listed_without_reading_them_all() {
    let home = tempfile::tempdir().unwrap();
    for number in 0..10_000 {
        let id = id_of(number);
        file_of(home.path(), &id, &[meta_line(&id), said("words")]);
    }
    let began = std::time::Instant::now();
    let result = store::list(home.path(), &ThreadListParams::default(), "openai").unwrap();
    let took = began.elapsed();
    assert_eq!(result.data.len(), 25);
    // Far above what it takes; only to notice that whole files are read.
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// A home with so many threads, used one after the other.
fn home_with(count: usize) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for number in 0..count {
        let id = id_of(number);
        let mut meta = meta_line(&id);
        meta["payload"]["cwd"] = json!(format!("/home/ada/{}", number % 3));
        let path = file_of(home.path(), &id, &[meta, words_line(&format!("Words {number}"))]);
        use_at(&path, 1_000 + number as u64);
    }
    home
}

/// An index that is built.
fn index_of(home: &Path) -> Index {
    let index = Index::new(home);
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !index.is_ready() {
        assert!(std::time::Instant::now() < deadline, "the index is never ready");
        std::thread::sleep(Duration::from_millis(2));
    }
    index
}

/// All pages of a list, from the index and from the files, which must say the same.
fn all_pages(index: &Index, home: &Path, params: &ThreadListParams) -> Vec<String> {
    let mut pages = Vec::new();
    let mut params = params.clone();
    loop {
        let page = index.list(&params, "openai", &[]).unwrap();
        assert_eq!(page, store::list(home, &params, "openai").unwrap(), "{params:?}");
        pages.extend(page.data.iter().map(|thread| thread.id.to_string()));
        params.cursor = page.next_cursor;
        if params.cursor.is_none() {
            return pages;
        }
    }
}

fn any_provider() -> ThreadListParams {
    ThreadListParams {
        model_providers: Some(Vec::new()),
        ..ThreadListParams::default()
    }
}

/// Shows S-306, S-307, S-308.
#[test]
fn the_index_says_what_the_files_say() {
    for count in [0, 60, 450] {
        let home = home_with(count);
        let index = index_of(home.path());
        let cwd = |cwd: &str| ThreadListParams {
            cwd: Some(cwd.into()),
            ..any_provider()
        };
        let term = |term: &str| ThreadListParams {
            search_term: Some(term.into()),
            ..any_provider()
        };
        for params in [
            any_provider(),
            cwd("/home/ada/1"),
            cwd("/home/ada/1/"),
            cwd("/nowhere"),
            term("wORDS 1"),
            term("%"),
        ] {
            all_pages(&index, home.path(), &params);
        }
        assert_eq!(all_pages(&index, home.path(), &any_provider()).len(), count);
        for cursor in ["xyz", "", "MQ"] {
            let params = ThreadListParams {
                cursor: Some(cursor.into()),
                ..any_provider()
            };
            let error = index.list(&params, "openai", &[]).unwrap_err();
            assert!(matches!(error, StoreError::BadCursor { .. }), "{cursor}: {error}");
        }
        if count == 0 {
            continue;
        }
        // What others do is seen at once: a new thread, one that is gone, words that were added to one that is shown.
        let late = file_of(
            home.path(),
            &id_of(9_000),
            &[meta_line(&id_of(9_000)), words_line("Late")],
        );
        use_at(&late, 9_000);
        std::fs::remove_file(
            store::find(home.path(), &ThreadId::from(id_of(count - 1)))
                .unwrap()
                .unwrap(),
        )
        .unwrap();
        let shown = store::find(home.path(), &ThreadId::from(id_of(count - 2)))
            .unwrap()
            .unwrap();
        let name = line(
            "event_msg",
            json!({"type": "thread_name_updated", "thread_name": "A name"}),
        );
        let text = std::fs::read_to_string(&shown).unwrap() + &name.to_string() + "\n";
        std::fs::write(&shown, text).unwrap();
        use_at(&shown, 1_000 + count as u64 - 2);
        let pages = all_pages(&index, home.path(), &any_provider());
        assert_eq!(pages[..2], [id_of(9_000), id_of(count - 2)]);
        assert_eq!(pages.len(), count);
        // A server that comes later begins where this one was.
        let again = Index::new(home.path());
        assert_eq!(all_pages(&again, home.path(), &any_provider()), pages);
        let archived = store::archive::archive(home.path(), &ThreadId::from(id_of(9_000))).unwrap();
        assert!(archived.exists());
        assert_eq!(all_pages(&again, home.path(), &any_provider()), pages[1..]);
        let away = ThreadListParams {
            archived: true,
            ..any_provider()
        };
        assert_eq!(all_pages(&again, home.path(), &away), [id_of(9_000)]);
    }
}

#[test]
fn without_its_index_a_list_is_the_same() {
    type Spoil<'a> = (&'a str, &'a dyn Fn(&Path));
    let spoil: [Spoil<'_>; 5] = [
        ("lost", &|path| std::fs::remove_file(path).unwrap()),
        ("empty", &|path| std::fs::write(path, "").unwrap()),
        ("no database", &|path| {
            std::fs::write(path, "no database at all ".repeat(999)).unwrap()
        }),
        ("cut short", &|path| {
            let bytes = std::fs::read(path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("a folder in the way", &|path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }),
    ];
    for (what, spoil) in spoil {
        let home = home_with(30);
        let whole = all_pages(&index_of(home.path()), home.path(), &any_provider());
        spoil(&home.path().join("threads.sqlite"));
        let index = Index::new(home.path());
        for _ in 0..20 {
            assert_eq!(all_pages(&index, home.path(), &any_provider()), whole, "{what}");
        }
    }
    // Locked by another server for as long as it likes.
    let home = home_with(30);
    let index = index_of(home.path());
    let other = rusqlite::Connection::open(home.path().join("threads.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let used = store::find(home.path(), &ThreadId::from(id_of(3))).unwrap().unwrap();
    use_at(&used, 99_000);
    assert_eq!(all_pages(&index, home.path(), &any_provider())[0], id_of(3));
}

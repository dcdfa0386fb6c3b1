use super::*;
use std::fs;

fn folder(files: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for name in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, "").expect("a file");
    }
    dir
}

fn paths(found: &Found) -> Vec<&str> {
    found.files.iter().map(|file| file.path.as_str()).collect()
}

fn find(searcher: &Searcher, query: &str, roots: &[PathBuf]) -> Found {
    searcher
        .search(query, roots, USUAL_LIMIT, CancellationToken::new())
        .run()
}

#[test]
fn what_fits_best_comes_first() {
    let dir = folder(&[
        "README.md",
        "src/main.rs",
        "src/model/map_index_names.rs",
        "src/näme.rs",
        "tests/it/main.rs",
    ]);
    let roots = [dir.path().to_owned()];
    let searcher = Searcher::default();
    for (query, expected) in [
        (
            "main",
            vec!["src/main.rs", "tests/it/main.rs", "src/model/map_index_names.rs"],
        ),
        ("main it", vec!["tests/it/main.rs"]),
        ("it main", vec!["tests/it/main.rs"]),
        ("README", vec!["README.md"]),
        ("readme", vec!["README.md", "src/model/map_index_names.rs"]),
        ("Readme", vec![]),
        ("näme", vec!["src/näme.rs"]),
        ("srcmodel", vec!["src/model", "src/model/map_index_names.rs"]),
        ("nothing like it", vec![]),
        ("!main", vec![]),
        ("^src", vec![]),
        ("", vec![]),
        ("  ", vec![]),
    ] {
        let found = find(&searcher, query, &roots);
        assert_eq!(paths(&found), expected, "{query}");
        assert!(found.complete && found.total == expected.len(), "{query}");
        for file in &found.files {
            let letters: String = file
                .indices
                .iter()
                .map(|index| file.path.chars().nth(*index as usize).expect("inside"))
                .collect();
            let mut wanted: Vec<char> = query.chars().filter(|letter| !letter.is_whitespace()).collect();
            let mut seen: Vec<char> = letters.to_lowercase().chars().collect();
            wanted
                .iter_mut()
                .for_each(|letter| *letter = letter.to_ascii_lowercase());
            wanted.sort_unstable();
            seen.sort_unstable();
            assert_eq!(seen, wanted, "{query} in {}", file.path);
        }
    }
}

#[test]
fn the_limit_keeps_the_best_and_the_total_tells_the_rest() {
    let names: Vec<String> = (0..300)
        .map(|number| format!("d{}/file{number}.txt", number % 7))
        .collect();
    let dir = folder(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let roots = [dir.path().to_owned()];
    let searcher = Searcher::default();
    let all = searcher.search("file", &roots, MOST, CancellationToken::new()).run();
    assert_eq!((all.files.len(), all.total), (300, 300));
    for limit in [1, 2, 50, 299] {
        let some = searcher.search("file", &roots, limit, CancellationToken::new()).run();
        assert_eq!((&some.files[..], some.total), (&all.files[..limit], 300));
    }
    assert_eq!(
        searcher
            .search("file", &roots, 0, CancellationToken::new())
            .run()
            .files
            .len(),
        1
    );
}

/// What a person makes, moves or deletes is found, or not, by the very next letter.
#[test]
fn names_follow_the_disk() {
    let dir = folder(&["a/one.txt", "b/two.txt", "skipped/three.txt"]);
    let roots = [dir.path().to_owned()];
    let searcher = Searcher::default();
    let look = || {
        let found = find(&searcher, "txt", &roots);
        let mut paths: Vec<String> = found.files.into_iter().map(|file| file.path).collect();
        paths.sort();
        paths.join(" ")
    };
    assert_eq!(look(), "a/one.txt b/two.txt skipped/three.txt");
    fs::write(dir.path().join("a/four.txt"), "").unwrap();
    assert_eq!(look(), "a/four.txt a/one.txt b/two.txt skipped/three.txt");
    fs::remove_file(dir.path().join("a/four.txt")).unwrap();
    assert_eq!(look(), "a/one.txt b/two.txt skipped/three.txt");
    fs::rename(dir.path().join("b"), dir.path().join("c")).unwrap();
    assert_eq!(look(), "a/one.txt c/two.txt skipped/three.txt");
    fs::write(dir.path().join(".gitignore"), "skipped\n").unwrap();
    assert_eq!(look(), "a/one.txt c/two.txt");
    fs::write(dir.path().join("c/.countersignignore"), "*.txt\n").unwrap();
    assert_eq!(look(), "a/one.txt");
    // The same time, but another content: a file of rules is told by its own time, not by its folder's.
    fs::write(dir.path().join(".gitignore"), "a\n").unwrap();
    assert_eq!(look(), "skipped/three.txt");
    fs::remove_dir_all(dir.path().join("skipped")).unwrap();
    assert_eq!(look(), "");
}

#[test]
fn one_root_inside_another_is_searched_once() {
    let dir = folder(&["in/one.txt", "two.txt"]);
    let roots = [dir.path().join("in"), dir.path().to_owned(), dir.path().to_owned()];
    let found = find(&Searcher::default(), "txt", &roots);
    assert_eq!(paths(&found), ["two.txt", "in/one.txt"]);
}

/// Shows S-367.
#[test]
fn an_empty_query_reads_no_folder() {
    let dir = folder(&["one.txt"]);
    let searcher = Searcher::default();
    for query in ["", " \t "] {
        assert_eq!(find(&searcher, query, &[dir.path().to_owned()]).files, []);
    }
    assert!(searcher.lock().is_empty(), "nothing was walked");
    find(&searcher, "one", &[dir.path().to_owned()]);
    assert_eq!(searcher.lock().len(), 1);
    searcher.forget(KEPT);
    assert_eq!(searcher.lock().len(), 1);
    searcher.forget(Duration::ZERO);
    assert!(searcher.lock().is_empty());
}

#[test]
fn a_stopped_search_ends_with_what_it_has() {
    let dir = folder(&["one.txt"]);
    let stop = CancellationToken::new();
    let search = Searcher::default().search("one", &[dir.path().to_owned()], 5, stop.clone());
    stop.cancel();
    assert!(!search.run().complete);
}

//! Peers as Linux tells of them.

use super::*;

#[test]
fn what_is_confined_more_by_table() {
    let status = |more: &str| format!("Name:\tx\\nSeccomp:\t9\nUid:\t0\t0\t0\t0\n{more}");
    let plain = "NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n";
    let container = "NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n";
    for (its, own, expected) in [
        (plain, plain, false),
        (container, container, false),
        (plain, container, false),
        (container, plain, true),
        ("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n", container, true),
        ("NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t2\n", container, true),
        ("NoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t0\n", plain, true),
        // Older kernels do not count the filters, or have none.
        ("NoNewPrivs:\t1\nSeccomp:\t2\n", "NoNewPrivs:\t0\nSeccomp:\t0\n", true),
        ("NoNewPrivs:\t0\nSeccomp:\t0\n", "NoNewPrivs:\t0\nSeccomp:\t0\n", false),
        ("", "", false),
    ] {
        let (its, own) = (Confined::read(&status(its)), Confined::read(&status(own)));
        assert_eq!(its.is_more_than(own), expected, "{its:?} {own:?}");
    }
}

/// Whoever began to listen has ended, and left the descriptor to another process. Its number may be anybody's by now: here it
/// is that of this process, which nothing is wrong with.
#[test]
fn a_number_that_was_given_anew_is_no_peer() {
    use std::io::{BufRead as _, BufReader};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Command, Stdio};
    let dir = tempfile::tempdir().expect("a folder");
    let own = i32::try_from(std::process::id()).expect("a number");
    let check = |path: &Path, pid: i32| {
        let stream = UnixStream::connect(path).expect("a connection");
        check_owner(stream.as_fd(), Some(path), Some(pid), false)
    };
    let path = dir.path().join("own socket");
    let _listener = UnixListener::bind(&path).expect("a socket");
    assert_eq!(check(&path, own), Ok(()));
    assert!(holds_socket(own, &path) && !holds_socket(own, &dir.path().join("none")));
    let left = dir.path().join("left");
    let script = "import os, socket, sys, time\n\
                  s = socket.socket(socket.AF_UNIX)\n\
                  s.bind(sys.argv[1])\n\
                  child = os.fork()\n\
                  if child == 0:\n    s.listen(5)\n    os._exit(0)\n\
                  os.waitpid(child, 0)\n\
                  print('ready', flush=True)\n\
                  sys.stdin.read()\n";
    let mut holder = Command::new("python3")
        .args(["-c", script])
        .arg(&left)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    let mut line = String::new();
    let mut said = BufReader::new(holder.stdout.take().expect("a pipe"));
    said.read_line(&mut line).expect("a line");
    let found = check(&left, own);
    let held_by = (holds_socket(own, &left), holds_socket(holder.id().cast_signed(), &left));
    drop(holder.stdin.take());
    holder.wait().expect("an end");
    let why = found.expect_err("nobody");
    assert!(why.contains("cannot be seen"), "{why}");
    // As older kernels tell it.
    assert_eq!(held_by, (false, true));
}

#[test]
fn a_process_that_is_not_there_is_no_peer() {
    let own = i32::try_from(std::process::id()).expect("a number");
    assert_eq!(check_process(Some(own), false), Ok(()));
    for pid in [None, Some(0), Some(-1), Some(i32::MAX)] {
        let why = check_process(pid, true).expect_err("nobody");
        assert!(why.contains("cannot be seen"), "{pid:?}: {why}");
    }
}

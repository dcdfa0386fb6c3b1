//! Wrappers come off with their options.

use super::*;

#[test]
fn wrappers_come_off_with_their_options() {
    for (line, inner) in [
        ("sudo ls", "ls"),
        ("sudo -u root -E -- ls -l", "ls -l"),
        ("sudo -n A=1 ls", "ls"),
        ("doas -u x ls", "ls"),
        ("env A=1 -u B ls", "ls"),
        ("env -i PATH=/bin ls", "ls"),
        ("timeout -s KILL 5 ls", "ls"),
        ("timeout --signal=KILL -k 1 5s ls -l", "ls -l"),
        ("timeout --foreground 5 ls", "ls"),
        ("nice -n 10 ls", "ls"),
        ("nice -10 ls", "ls"),
        ("ionice -c 3 -n 1 ls", "ls"),
        ("nohup ls", "ls"),
        ("stdbuf -oL ls", "ls"),
        ("stdbuf -o L ls", "ls"),
        ("exec -a x ls", "ls"),
        ("command -p ls", "ls"),
        ("xargs -I {} -n 1 -P4 grep x {}", "grep x {}"),
        ("flock -w 5 /tmp/l ls", "ls"),
        ("chroot /x ls", "ls"),
        ("taskset -c 0 ls", "ls"),
        ("strace -f -o out ls", "ls"),
        ("gdb -q --args ls -l", "ls -l"),
        ("docker exec -it -u root box ls", "ls"),
        ("docker run --rm -v /a:/b image ls", "ls"),
        ("npx -p x y z", "y z"),
        ("poetry run pytest", "pytest"),
        ("busybox ls", "ls"),
        ("kubectl exec -n x pod -- ls", "ls"),
        ("time -p ls", "ls"),
    ] {
        let words: Vec<Word> = line.split(' ').map(Word::literal).collect();
        let expected: Vec<Word> = inner.split(' ').map(Word::literal).collect();
        let found = unwrap(&words).map(|found| found.inside);
        assert_eq!(found, Some(vec![Inside::Command(expected)]), "{line}");
    }
}

#[test]
fn texts_within_wrappers() {
    for (words, text) in [
        (&["bash", "-c", "ls -l"][..], "ls -l"),
        (&["bash", "-lc", "ls", "x", "y"], "ls"),
        (&["bash", "-euxo", "pipefail", "-c", "ls"], "ls"),
        (&["bash", "--login", "-c", "ls"], "ls"),
        (&["bash", "-O", "extglob", "-c", "ls"], "ls"),
        (&["sh", "-ec", "ls"], "ls"),
        (&["bash", "-c", "--", "ls"], "ls"),
        (&["su", "-c", "ls", "x"], "ls"),
        (&["su", "--command=ls"], "ls"),
        (&["su", "-cls -l"], "ls -l"),
        (&["su", "-lc", "ls", "x"], "ls"),
        (&["script", "-acls", "x"], "ls"),
        (&["env", "-i", "-S", "ls\\_-l"], "ls -l"),
        (&["env", "-Sls\\t-l", "x"], "ls -l x"),
        (&["env", "-i0S", "ls -l", "x"], "ls -l x"),
        (&["env", "-vSls -l"], "ls -l"),
        (&["env", "--split-string=ls", "-l"], "ls -l"),
        (&["env", "--spl", "ls -l"], "ls -l"),
        (&["eval", "ls", "-l"], "ls -l"),
        (&["ssh", "-p", "22", "host", "ls", "-l"], "ls -l"),
        (&["watch", "-n", "1", "ls"], "ls"),
        (&["env", "-S", "ls -l"], "ls -l"),
        (&["script", "-qc", "ls", "/dev/null"], "ls"),
        (&["flock", "/tmp/l", "-c", "ls"], "ls"),
        (&["trap", "ls", "EXIT"], "ls"),
    ] {
        let words: Vec<Word> = words.iter().map(|word| Word::literal(word)).collect();
        let found = unwrap(&words).map(|found| found.inside);
        assert_eq!(found, Some(vec![Inside::Text(text.to_owned())]), "{words:?}");
    }
}

#[test]
fn questions_are_no_wrappers() {
    for line in [
        "command -v ls",
        "sudo -l",
        "sudo",
        "bash script.sh",
        "env",
        "ssh host",
        "ls",
        "ionice -p 1",
        "find . -name x",
        "time",
    ] {
        let words: Vec<Word> = line.split(' ').map(Word::literal).collect();
        assert_eq!(unwrap(&words), None, "{line}");
    }
}

#[test]
fn where_the_command_begins_must_be_clear() {
    for (line, expected) in [
        ("xargs -0 -n 1 cat", true),
        ("xargs -0rn1 cat", true),
        ("xargs --max-args=1 cat", true),
        ("xargs -l1 cat", true),
        ("xargs -0i{} cat {}", true),
        ("xargs -0e cat", true),
        ("nice -10 cat", true),
        ("timeout -v -k 5 5 cat", true),
        ("exec -cl cat", true),
        ("xargs -0I w touch x", false),
        ("xargs --delim w touch x", false),
        ("xargs --process-slot cat touch x", false),
        ("time --form cat touch x", false),
        ("exec -la cat touch x", false),
        ("taskset -pc 0 cat", false),
    ] {
        let words: Vec<Word> = line.split(' ').map(Word::literal).collect();
        let caveat = unwrap(&words).expect("a wrapper").caveat;
        assert_eq!(caveat.is_none(), expected, "{line}: {caveat:?}");
    }
}

//! Whether a command may reach files under names that its words do not say: those of an archive, a patch or a list, and those in what a
//! program is given to run.

use crate::exec::command::base_name;
use crate::exec::program::{orders, sed_names_files};

/// Programs that unpack, each with the first words by which they only look or pack.
const UNPACKING: &[(&str, &[&str])] = &[
    ("7z 7za 7zr 7zz", &["a", "b", "d", "h", "i", "l", "rn", "t"]),
    ("ar gar", &["d", "m", "p", "q", "r", "rc", "rcs", "s", "t", "tv"]),
    ("dpkg dpkg-deb", &["-c", "-I", "-L", "-S", "-W", "-f", "-l", "-s"]),
    ("git", &[]),
    ("unrar", &["l", "lb", "lt", "p", "t", "v", "vb", "vt"]),
    ("unzip", &["-Z", "-c", "-l", "-p", "-t", "-v", "-z"]),
    ("bsdcpio cpio patch pax unar unsquashfs", &[]),
];
/// Those of the family of `tar`, and the letters that may stand beside the one that packs or lists.
const TARS: &str = "bsdtar gtar jar tar";
const PACKING: &[char] = &['c', 'r', 't', 'u'];
const BESIDE: &str = "0MSWacfhijkprtuvzJZ";
/// Sub-commands of git that write what a patch names.
const PATCHING: &[&str] = &["am", "apply"];
/// Options by which nothing is written after all.
const ONLY_LOOKING: &[&str] = &["--check", "--dry-run", "--numstat", "--stat", "--summary"];

/// Programs that read orders from their words, from files or from their input, in which names may stand.
const ORDERED: &str = "convert duckdb ed emacs ex ffmpeg ffplay ffprobe ftp gdb gnuplot gvim lftp lldb magick mariadb mogrify mysql nvim psql red \
                       sftp sqlite3 vi view vim vimdiff yq";
const AWKS: &str = "awk gawk goawk mawk nawk";
const SEDS: &str = "gsed sed ssed";
/// Programs that read words of their own from files: `@list`.
const TAKING_LISTS: &str = "ar c++ c++filt cc clang clang++ cl g++ gar gcc gfortran jar java javac javadoc ld nasm nm objcopy objdump \
                            rustc rustdoc strip swiftc yasm";
/// Programs that keep what they replace under a name with an end, the letters of the options for it, and how the long ones begin.
const KEEPING: &[(&str, &[char], &[&str])] = &[
    ("cp install ln mv", &['S', 'b'], &["--b", "--su"]),
    (SEDS, &['i'], &["--in-place="]),
    ("perl", &['i'], &[]),
];
/// Programs that are given further names in a file, and the option.
const LISTED: &[(&str, &[&str])] = &[
    (
        "rsync",
        &["--files-from", "--write-batch", "--read-batch", "--only-write-batch"],
    ),
    ("gunzip gzip pigz unpigz", &["--name", "-N"]),
    ("git", &["--pathspec-from-file"]),
    (TARS, &["-T", "--files-from"]),
    ("zip", &["-@", "--names-stdin"]),
];

/// Whether a command may read or write under names that are not among its words.
pub(in crate::exec) fn writes_unsaid(command: &[String]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return false;
    };
    let name = base_name(program);
    let has = |options: &[&str]| {
        let mut words = arguments.iter();
        words.any(|word| options.iter().any(|option| word.starts_with(option)))
    };
    let listed = |rows: &[(&str, &[&str])]| {
        rows.iter()
            .any(|(names, options)| is_among(name, names) && has(options))
    };
    is_among(name, ORDERED)
        || unpacks(name, arguments)
        || listed(LISTED)
        || keeps_under_another_name(name, arguments)
        || is_among(name, TAKING_LISTS) && has(&["@"])
        || is_among(name, AWKS) && arguments.iter().any(|word| names_files(word))
        || is_among(name, SEDS) && sed_names_files(arguments)
        || comes_from_elsewhere(name, arguments)
        || !orders(command).is_empty()
}

fn is_among(name: &str, names: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

/// Whether a program of `awk` names files or commands by itself.
fn names_files(program: &str) -> bool {
    program.contains(['>', '|', '@'])
        || ["getline", "ARGV", "ARGC", "ARGIND"]
            .iter()
            .any(|name| program.contains(name))
}

fn unpacks(name: &str, arguments: &[String]) -> bool {
    let first = arguments.first().map_or("", String::as_str);
    if is_among(name, TARS) {
        let letters = first.strip_prefix('-').unwrap_or(first);
        let packs = letters.contains(PACKING) && letters.chars().all(|letter| BESIDE.contains(letter));
        return !packs && !["--create", "--list"].contains(&first);
    }
    let Some((_, looking)) = UNPACKING.iter().find(|(names, _)| is_among(name, names)) else {
        return false;
    };
    let only_looks = arguments.iter().any(|word| ONLY_LOOKING.contains(&word.as_str()));
    match name {
        "git" => arguments.iter().any(|word| PATCHING.contains(&word.as_str())) && !only_looks,
        "patch" => !only_looks,
        _ => !looking.contains(&first),
    }
}

/// Whether a program keeps what it replaces, under a name that ends as one of its words says.
fn keeps_under_another_name(name: &str, arguments: &[String]) -> bool {
    let Some((_, short, long_options)) = KEEPING.iter().find(|(names, ..)| is_among(name, names)) else {
        return false;
    };
    arguments.iter().any(|word| match word.strip_prefix('-') {
        Some(long) if long.starts_with('-') => long_options.iter().any(|option| word.starts_with(option)),
        // What stands behind `i` in the same word is the end; the others take it wherever it is.
        Some(letters) => match letters.find(*short) {
            Some(at) => *short != ['i'] || at + 1 < letters.len(),
            None => false,
        },
        None => false,
    })
}

/// Whether a folder of another machine is copied with the names that it has there.
fn comes_from_elsewhere(name: &str, arguments: &[String]) -> bool {
    let operands: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let sources = operands.split_last().map_or(&[][..], |(_, sources)| sources);
    let deep = |word: &String| match word.strip_prefix("--") {
        Some(long) => ["archive", "recursive", "dirs"].iter().any(|one| long.starts_with(one)),
        None => word.starts_with('-') && word.contains(['a', 'd', 'r']),
    };
    is_among(name, "rsync scp") && sources.iter().any(|word| word.contains(':')) && arguments.iter().any(deep)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_table() {
        for (command, expected) in [
            ("tar xf a.tar", true),
            ("tar -xzf a.tgz", true),
            ("tar -C sub -cxf a", true),
            ("tar --extract -f a", true),
            ("bsdtar xf a.zip", true),
            ("jar xf a.jar", true),
            ("tar czf a.tgz sub", false),
            ("tar -tf a.tar", false),
            ("tar --create -f a sub", false),
            ("unzip a.zip", true),
            ("unzip -o a.zip -l", true),
            ("unzip -l a.zip", false),
            ("7z x a.7z", true),
            ("7z a a.7z sub", false),
            ("ar x a.a", true),
            ("ar rcs a.a b.o", false),
            ("dpkg-deb -x a.deb sub", true),
            ("cpio -i", true),
            ("patch -p1 -i a.diff", true),
            ("patch --dry-run -i a.diff", false),
            ("git apply a.diff", true),
            ("git -C sub am a.mbox", true),
            ("git apply --check a.diff", false),
            ("git add a", false),
            ("git add --pathspec-from-file=a", true),
            ("rsync --files-from=l a b", true),
            ("rsync -a host:sub .", true),
            ("rsync -a sub host:x", false),
            ("scp -r host:sub .", true),
            ("scp host:a b", false),
            ("gunzip -N a.gz", true),
            ("gunzip a.gz", false),
            ("gcc @list a.c", true),
            ("gcc -o a a.c", false),
            ("cp -b -Src a .env", true),
            ("cp --backup=simple --suffix=rc a .env", true),
            ("ln -sfSrc a .env", true),
            ("cp -a a b", false),
            ("mv --strip-trailing-slashes a b", false),
            ("sed -irc s/a/b/ .env", true),
            ("sed -nirc s/a/b/ .env", true),
            ("sed --in-place=rc s/a/b/ .env", true),
            ("sed -i s/a/b/ c", false),
            ("sed -n w.envrc a", true),
            ("sed s/a/b/w.envrc a", true),
            ("sed s/word/will/ a", false),
            ("sed -f script a", true),
            ("awk {print>\".envrc\"} a", true),
            ("awk {print} a", false),
            ("sqlite3 a.db .dump", true),
            ("vim a", true),
            ("python3 -c x", true),
            ("python3 a.py", false),
            ("touch a", false),
            ("mytool -C sub a", false),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(writes_unsaid(&words), expected, "{command}");
        }
        assert!(!writes_unsaid(&[]));
    }
}

//! What only reads, and may leave the sandbox along with a command that was allowed: a reader whose words name all that it
//! reads.
//!
//! By what is known of each, not by what is barred: an option that is not in the table may name a list of files, a program to
//! load, or have links followed.

use super::{Folders, Reach, Scene, is_harmless_without_walls};
use crate::exec::command::{Judgement, Label, base_name, display, is_of_the_shell, judge};
use std::path::Path;

/// A reader with the options by which it reads nothing that its words do not name.
struct Reader {
    /// Its names, separated by blanks.
    names: &'static str,
    /// Letters, with `:` behind those that take a value. Digits are always fine.
    letters: &'static str,
    /// Options in full, without their dashes.
    long: &'static str,
    /// Whether an option in full has one dash.
    has_one_dash: bool,
}

const fn reader(names: &'static str, letters: &'static str, long: &'static str) -> Reader {
    Reader {
        names,
        letters,
        long,
        has_one_dash: false,
    }
}

/// What tells of the environment or of other processes is not among them: outside, that is the person's.
#[rustfmt::skip]
const READERS: &[Reader] = &[
    reader("cat", "AbeEnstTuv", "number number-nonblank show-all show-ends show-nonprinting show-tabs squeeze-blank"),
    reader("head", "n:c:qvz", "bytes lines quiet silent verbose zero-terminated"),
    // Following by name (`-F`) opens what a command in the sandbox puts there later.
    reader("tail", "n:c:fqvzrs:", "bytes lines quiet silent verbose zero-terminated"),
    reader("tac", "brs:", "before regex separator"),
    reader("nl", "b:d:f:h:i:l:n:ps:v:w:", "body-numbering number-format number-separator number-width"),
    reader("cut", "b:c:d:f:nsz", "bytes characters complement delimiter fields only-delimited output-delimiter zero-terminated"),
    reader("fold fmt", "bcg:p:stuw:", "bytes spaces width split-only uniform-spacing"),
    reader("rev factor expr sleep tsort colrm arch whoami groups", "", ""),
    reader("paste", "d:sz", "delimiters serial zero-terminated"),
    reader("join", "a:e:ij:o:t:v:z", "check-order header ignore-case nocheck-order zero-terminated"),
    reader("expand unexpand", "ait:", "all first-only initial tabs"),
    reader("pr", "adfh:l:mn:tw:", "columns header length omit-header width"),
    reader("od hexdump hd", "A:CN:S:abcdfij:ln:os:t:vw:x", "address-radix canonical format output-duplicates read-bytes skip-bytes strings width"),
    reader("strings", "ae:fn:ot:", "all bytes encoding print-file-name radix"),
    reader("xxd", "abc:eg:il:o:ps:u", "bits cols groupsize include len plain postscript seek uppercase"),
    reader("wc", "cLlmw", "bytes chars lines max-line-length total words"),
    reader("cksum sum md5sum md5 sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum", "a:bl:qrstz", "algorithm binary length tag text zero"),
    reader("column", "JN:c:nO:o:R:s:tx", "json output-separator separator table table-columns table-name table-right"),
    reader("tr", "cCdst", "complement delete squeeze-repeats truncate-set1"),
    reader("sort", "bcCdfghik:mMnrRsS:t:uVz", "buffer-size check dictionary-order field-separator general-numeric-sort human-numeric-sort ignore-case \
        ignore-leading-blanks key merge month-sort numeric-sort parallel reverse stable unique version-sort zero-terminated"),
    reader("uniq", "cdDf:is:uw:z", "all-repeated check-chars count group ignore-case repeated skip-chars skip-fields unique zero-terminated"),
    reader("comm", "iz", "check-order nocheck-order output-delimiter total zero-terminated"),
    reader("cmp", "bi:ln:s", "bytes ignore-initial print-bytes quiet silent verbose"),
    reader("diff", "abBcC:dEiI:nNpqstTuU:wW:x:yZ", "brief color context exclude expand-tabs ignore-all-space ignore-blank-lines ignore-case \
        ignore-space-change ignore-trailing-space label minimal new-file report-identical-files side-by-side strip-trailing-cr \
        suppress-common-lines text unified width"),
    reader("jq", "aCcejMnRrSs", "arg argjson args ascii-output color-output compact-output exit-status indent join-output jsonargs \
        monochrome-output null-input raw-input raw-output seq slurp sort-keys stream tab"),
    reader("base64 base32 basenc", "dDi:w:", "base32 base64 base64url decode ignore-garbage wrap"),
    reader("sed gsed", "e:El:nrsuz", "expression null-data posix quiet regexp-extended separate silent unbuffered"),
    reader("awk gawk mawk nawk", "F:v:", ""),
    reader("numfmt seq shuf", "d:ei:f:n:rs:wz", "delimiter echo equal-width field format from from-unit grouping head-count input-range invalid padding \
        repeat round separator suffix to to-unit zero-terminated"),
    reader("grep egrep fgrep", "A:abB:cC:Ee:Ff:GHhIilLm:noPqrsTUvwxyZz", "after-context before-context binary binary-files byte-offset color colour \
        context count exclude exclude-dir extended-regexp files-with-matches files-without-match fixed-strings ignore-case include initial-tab \
        invert-match line-buffered line-number line-regexp max-count no-filename no-messages null null-data only-matching perl-regexp quiet \
        recursive regexp silent text with-filename word-regexp"),
    reader("rg", "A:aB:bC:cE:e:Ff:g:HhIij:lM:m:NnoPpqr:Sst:T:UuvwxU.", "after-context before-context byte-offset case-sensitive color column context \
        count count-matches crlf encoding files files-with-matches files-without-match fixed-strings glob glob-case-insensitive heading hidden \
        iglob ignore-case invert-match json line-number line-regexp max-columns max-count max-depth max-filesize multiline multiline-dotall \
        no-column no-config no-filename no-heading no-ignore no-ignore-vcs no-line-number no-messages null null-data one-file-system \
        only-matching passthru path-separator pcre2 pretty quiet regexp replace smart-case sort sortr stats text threads trim type type-list \
        type-not unrestricted vimgrep with-filename word-regexp"),
    Reader { names: "find gfind", letters: "", has_one_dash: true, long: "P a amin and atime cmin ctime daystart depth empty executable false gid \
        group iname inum ipath iregex iwholename links ls maxdepth mindepth mmin mount mtime name newer newermt nogroup not nouser o or path perm \
        print print0 printf prune quit readable regex regextype size true type uid user wholename writable xdev" },
    reader("fd fdfind", "Aac:d:E:e:FgHIipst:u", "absolute-path case-sensitive changed-before changed-within color exact-depth exclude extension \
        fixed-strings full-path glob hidden ignore-case max-depth max-results min-depth no-ignore no-ignore-vcs print0 size type unrestricted"),
    reader("which whereis", "abms", "all"),
    reader("ls dir vdir gls", "AaBbCcdFfGghI:iklmNnopQqrSsTtUuvw:XxZ", "all almost-all author block-size classify color directory escape file-type \
        format full-time group-directories-first hide human-readable ignore ignore-backups indicator-style inode literal no-group \
        numeric-uid-gid quote-name quoting-style reverse si size sort time time-style width"),
    reader("tree", "ACDFI:L:NP:Qacdfghinprstuv", "charset dirsfirst du filelimit gitignore noreport prune si sort"),
    reader("du", "0aB:bcd:hkmSst:x", "all apparent-size block-size bytes exclude human-readable max-depth null one-file-system separate-dirs si \
        summarize threshold time total"),
    reader("df", "aB:hHiklmPTt:x:", "all block-size exclude-type human-readable inodes local output portability print-type si total type"),
    reader("stat", "c:f:lnqrst:x", "file-system format printf terse"),
    reader("file", "bEhiknNpr0", "brief keep-going mime mime-encoding mime-type no-buffer no-dereference no-pad raw"),
    reader("basename dirname realpath readlink pathchk", "aefmnpPqs:vz", "canonicalize canonicalize-existing canonicalize-missing multiple no-newline \
        no-symlinks physical quiet relative-base relative-to strip suffix verbose zero"),
    reader("uname nproc lscpu", "aeimnoprsvJ", "all ignore json kernel-name kernel-release machine nodename operating-system"),
    reader("free uptime", "bc:ghkmps:tw", "bytes count giga human kilo mebi mega pretty seconds since total wide"),
    reader("id tty logname", "agGnrsuz", "group groups name real silent user zero"),
    reader("date gdate", "d:I:jRr:uv:", "date iso-8601 reference rfc-3339 rfc-email universal utc"),
    reader("cal ncal", "A:B:hjmnsw:y", "monday months sunday three week year"),
];

/// Whether the words of a reader name all that it reads, and it tells of no environment.
pub(super) fn names_all_it_reads(program: &str, arguments: &[String]) -> bool {
    let name = base_name(program);
    if is_of_the_shell(name) {
        return !shows_variables(name, arguments);
    }
    let is_among = |names: &str| names.split(' ').any(|known| known == name);
    let Some(reader) = READERS.iter().find(|reader| is_among(reader.names)) else {
        return false;
    };
    // Some take all behind an `@` out of a file.
    let is_list = |word: &String| word.starts_with('@');
    let may_be_options = arguments.iter().take_while(|word| *word != "--");
    !arguments.iter().any(is_list)
        && may_be_options
            .filter(|word| word.starts_with('-'))
            .all(|word| reader.knows(word))
        && !loads_or_shows(name, arguments)
}

impl Reader {
    fn knows(&self, option: &str) -> bool {
        let bundle = option.trim_start_matches('-');
        if bundle.is_empty() || self.has_one_dash || option.starts_with("--") {
            let name = bundle.split('=').next().unwrap_or(bundle);
            let mut known = self.long.split_ascii_whitespace().chain(["help", "version"]);
            return bundle.is_empty() || known.any(|known| known == name);
        }
        for letter in bundle.chars().filter(|letter| !letter.is_ascii_digit()) {
            let Some((_, behind)) = self.letters.split_once(letter).filter(|_| letter != ':') else {
                return false;
            };
            // The rest is its value.
            if behind.starts_with(':') {
                return true;
            }
        }
        true
    }
}

/// Whether a command of the shell prints variables.
fn shows_variables(name: &str, arguments: &[String]) -> bool {
    match name {
        "set" => arguments.is_empty(),
        "export" | "local" | "readonly" => {
            let prints = |word: &String| word.starts_with('-') && word.contains('p');
            arguments.is_empty() || arguments.iter().any(prints)
        }
        _ => false,
    }
}

/// Whether text for a reader has it load modules or show the environment.
fn loads_or_shows(name: &str, arguments: &[String]) -> bool {
    let words: &[&str] = match name {
        "jq" => &["ENV", "env", "import", "include", "modulemeta"],
        "awk" | "gawk" | "mawk" | "nawk" => &["ENVIRON", "PROCINFO"],
        _ => return false,
    };
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = arguments.iter().flat_map(|word| word.split(|c: char| !is_name(c)));
    names.any(|name| words.contains(&name))
}

/// Whether a program may show the environment of other processes, which is closed to commands: `ps e`, in one of its ways to be
/// told so.
pub(super) fn shows_environments(command: &[String]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return false;
    };
    // With a dash in front, `e` means all of them.
    let is_harmless =
        |word: &String| word.starts_with('-') && word.chars().skip(1).all(|c| "AacefFHjlLoOTwy".contains(c));
    base_name(program) == "ps"
        && arguments
            .iter()
            .any(|word| word.contains(['e', 'E']) && !is_harmless(word))
}

/// What is said of one command of a composition, if it is known to read and do nothing else. What a pattern becomes may be an
/// option, so one with a pattern is not.
pub(super) fn only_reads(command: &[String], cwd: &Path) -> Option<Judgement> {
    // In shell text builtins mean what they mean.
    let text = ["bash".to_owned(), "-c".to_owned(), display(command)];
    let has_pattern = command.iter().any(|word| word.contains(['*', '?', '[']));
    let judgement = judge(&text, cwd);
    (!has_pattern && judgement.label == Label::SafeReadonly).then_some(judgement)
}

/// Whether a command that only reads may leave the sandbox along with others: its words name all that it reads, that is in the
/// folder and open to commands, it names no host, and it does no more without walls.
pub(super) fn rides_along(judgement: &Judgement, command: &[String], folders: &Folders, scene: Scene<'_>) -> bool {
    let ([part], Some((program, arguments))) = (judgement.parts.as_slice(), command.split_first()) else {
        return false;
    };
    let reach = Reach::of(command, folders);
    part.argv == *command
        && names_all_it_reads(program, arguments)
        && !reach.elsewhere
        && !reach.closed
        && reach.hosts.is_empty()
        && is_harmless_without_walls(judgement, scene)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_words_name_all_that_is_read() {
        for (command, expected) in [
            ("cat -n a", true),
            ("head -5 a", true),
            ("head -n -5 a", true),
            ("tail -fn3 a", true),
            ("tail -F a", false),
            ("grep -rn --include=x -e -y sub", true),
            ("grep -R x sub", false),
            ("grep -drecurse x sub", false),
            ("grep --directories=recurse x", false),
            ("grep -- -R a", true),
            ("jq -r .a b.json", true),
            ("jq .env.a b.json", false),
            ("jq $ENV.a b.json", false),
            ("jq -f p.jq b.json", false),
            ("jq --from-file p.jq b.json", false),
            ("jq --from-fil p.jq b.json", false),
            ("jq -L . .a b.json", false),
            ("strings -n4 a", true),
            ("strings @list", false),
            ("sha256sum a", true),
            ("sha256sum -c list", false),
            ("sha256sum --check list", false),
            ("wc -lL a", true),
            ("wc --files0-from=list", false),
            ("sort -t: -k2 a", true),
            ("sort --random-source=x a", false),
            ("diff -u a b", true),
            ("diff -r a b", false),
            ("find . -name x -type f", true),
            ("find . -follow", false),
            ("find -L .", false),
            ("tree -L 2", true),
            ("tree -l", false),
            ("ls -la", true),
            ("ls -L a", false),
            ("awk -F: {print} a", true),
            ("awk BEGIN{print ENVIRON[1]}", false),
            ("date +%s", true),
            ("date -f list", false),
            ("env", false),
            ("printenv", false),
            ("ps", false),
            ("pgrep x", false),
            ("set -e", true),
            ("set -euo pipefail", true),
            ("export A=1", true),
            ("set", false),
            ("export -p", false),
            ("echo --from-file -R @x", true),
            ("unknown a", false),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(names_all_it_reads(&words[0], &words[1..]), expected, "{command}");
        }
    }

    #[test]
    fn who_shows_environments() {
        for (command, expected) in [
            ("ps", false),
            ("ps aux", false),
            ("ps -ef", false),
            ("ps -p 1", false),
            ("ps eww -p 1", true),
            ("ps auxeww", true),
            ("ps -auxe", true),
            ("ps -E", true),
            ("ps -o environ", true),
            ("cat e", false),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(shows_environments(&words), expected, "{command}");
        }
    }
}

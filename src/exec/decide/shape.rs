//! The shape of a command that would run outside the sandbox: what of it may change under one yes, and what may not.
//!
//! Nothing is allowed of a program that is not known here. Of one that is, the sub-command is settled; options are those known to
//! change nothing that matters, and the others with the words behind them as they stood; operands are data: plain words that stay
//! in the folder and start nothing. A command that is not like that has no shape, and a yes to it covers itself only.

use super::launchers::is_launcher;
use super::{Folders, Reach, names_all_it_reads, only_reads, repository, taking};
use crate::exec::command::{base_name, has_usual_place};

/// A program of which more than one exact command can be allowed outside.
struct Known {
    /// Its names, separated by blanks.
    names: &'static str,
    /// The sub-commands that take only data, separated by commas; each of one or two words, of which `*` stands for any. Empty
    /// if the program has none.
    sub_commands: &'static str,
    /// Options that neither start anything nor name a place or host, nor change what is destroyed. With `=` behind it one takes
    /// a value, attached or in the next word.
    harmless: &'static str,
    /// Whether it takes operands. Those of `make` and `npm install` name what is run.
    operands: bool,
    /// So many operands in front are settled, as options are, and must be there: which remote it talks to, or what it takes into the work.
    settled: usize,
    /// Options without which it does more than with them.
    restricting: &'static str,
}

impl Known {
    const fn but(self, restricting: &'static str) -> Self {
        Self { restricting, ..self }
    }

    /// Whether the word is such an option, or has one among its letters.
    fn is_restricting(&self, word: &str) -> bool {
        let is = |option: &str| self.restricting.split_ascii_whitespace().any(|known| known == option);
        let letters = || word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        is(word) || letters().is_some_and(|letters| letters.chars().any(|letter| is(&format!("-{letter}"))))
    }
}

const fn known(names: &'static str, sub_commands: &'static str, harmless: &'static str) -> Known {
    Known {
        names,
        sub_commands,
        harmless,
        operands: true,
        settled: 0,
        restricting: "",
    }
}

const fn settling(names: &'static str, sub_commands: &'static str, harmless: &'static str, settled: usize) -> Known {
    Known {
        settled,
        ..known(names, sub_commands, harmless)
    }
}

/// All operands.
const ALL: usize = usize::MAX;

const fn bare(names: &'static str, sub_commands: &'static str, harmless: &'static str) -> Known {
    Known {
        names,
        sub_commands,
        harmless,
        operands: false,
        settled: 0,
        restricting: "",
    }
}

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    known("cp", "", "-a -f -i -n -p -r -R -T -u -v --archive --force --no-clobber --recursive --update").but("-i -n -u --no-clobber --update"),
    known("mv", "", "-f -i -n -T -u -v --force --no-clobber --update").but("-i -n -u --no-clobber --update"),
    known("mkdir", "", "-p -v --parents"),
    known("rm", "", "-f -i -v --force").but("-i"),
    known("rmdir unlink", "", "-v"),
    known("touch", "", "-a -c -m -d= -t= --no-create").but("-c --no-create"),
    known("chmod", "*", "-c -f -v"),
    known("curl", "", "-4 -6 -f -g -i -I -O -s -S -v -m= -o= --compressed --connect-timeout= --fail --head --include \
        --max-time= --no-progress-meter --output= --remote-name --retry= --show-error --silent").but("-I --head"),
    known("wget", "", "-4 -6 -c -nv -q -S -O= -T= -t= --continue --no-verbose --output-document= --timeout= --tries= --max-redirect=0"),
    settling("git", "push", "-n -q -u -v --dry-run --follow-tags --set-upstream --tags", 1).but("-n --dry-run"),
    settling("git", "fetch", "-4 -6 -a -p -q -t -v --depth= --no-tags --prune --tags --unshallow", 1).but("--no-tags"),
    // What comes into the work is what its words name: another branch, or what somebody asks to be pulled, is another matter.
    settling("git", "pull", "-4 -6 -a -p -q -t -v --depth= --ff-only --no-rebase --no-tags --prune --tags --unshallow", ALL).but("--ff-only --no-tags"),
    known("git", "commit", "-a -m= -q -s -v --all --allow-empty --amend --message= --no-edit --no-gpg-sign --signoff"),
    known("git", "add,rm,mv", "-A -k -n -N -u -v --all --cached --dry-run --intent-to-add --update").but("-k -n -N -u --cached --dry-run --intent-to-add --update"),
    // Which files come with another branch or commit, its name does not say: that of each is asked about.
    known("git", "branch", "-a -q -r -t -v -vv --all --list --remotes --show-current --track").but("-a -q -r -v -vv --all --list --remotes --show-current"),
    known("git", "tag", "-a -l -m= --annotate --list --message=").but("-l --list"),
    known("git", "stash push,stash list,stash show", "-m= -p -q -u --include-untracked --index --message="),
    known("git", "status,log,diff,show,blame,describe,ls-remote,rev-parse", ""),
    known("hg", "add,commit", "-m= -q -v --message="),
    settling("hg", "pull,update", "-q -v", ALL),
    settling("hg", "push", "-q -v", ALL),
    known("svn", "add,commit,update", "-m= -q -v --message="),
    known("jj", "describe", "-m= --message="),
    settling("jj", "new", "-m= --message=", ALL),
    known("jj", "git push,git fetch", ""),
    known("gh", "pr view,pr list,pr diff,pr checks,pr status,issue view,issue list,issue status,run list,run view,release list,release view,\
        workflow list,workflow view", "-c -L= --comments --limit= --log --log-failed"),
    known("gh", "pr create,pr comment,pr edit,issue create,issue comment,issue edit", "-b= -B= -d -f -t= --base= --body= --draft --fill --title=").but("-d --draft"),
    bare("gh", "repo view", "-c --comments"),
    known("glab", "mr view,mr list,mr diff,issue view,issue list,ci list,ci status", ""),
    known("cargo", "build,check,test,clippy,fmt,doc,bench", "-p= -q -r -v --all --all-features --all-targets --bins --check --doc --exact \
        --examples --frozen --ignored --keep-going --lib --locked --no-default-features --no-fail-fast --no-run --nocapture --offline --package= \
        --release --tests --test= --test-threads= --workspace").but("--check --frozen --locked --no-run --offline"),
    known("cargo", "add,remove,update,tree", "-p= --dev --dry-run --no-default-features --package=").but("--dry-run"),
    bare("cargo", "fetch,clean,generate-lockfile", "--frozen --locked --offline").but("--frozen --locked --offline"),
    known("go", "build,test,vet,fmt", "-count= -cover -race -run= -short -timeout= -v"),
    bare("go", "mod tidy,mod download,mod verify", "-v"),
    bare("npm", "ci,install,i,test,t,run *,run-script *", "-s --ignore-scripts --no-audit --no-fund --silent").but("--ignore-scripts"),
    bare("pnpm yarn", "install,i,test,run *", "-s --frozen-lockfile --ignore-scripts --offline --prefer-offline --silent").but("--frozen-lockfile --ignore-scripts --offline"),
    bare("pip pip3", "install", "-q -U --upgrade"),
    bare("uv poetry", "sync,lock,install", "-q --frozen --locked").but("--frozen --locked"),
    bare("bundle composer", "install", ""),
    bare("dotnet", "build,restore,test", ""),
    bare("swift mix", "build,test", ""),
    bare("mvn", "clean,compile,package,test,verify", "-B -o -q").but("-o"),
    bare("gradle", "assemble,build,check,clean,test", "--offline").but("--offline"),
    bare("make", "*", "-k -s"),
];

/// Of the options of the table, those whose value is text for people; and the programs that have them so.
const TEXTS: &[&str] = &["-m=", "--message=", "-b=", "--body=", "-t=", "--title="];
const WITH_TEXTS: &[&str] = &["gh", "git", "hg", "jj", "svn"];

/// Options that are harmless wherever they stand.
const EVERYWHERE: &str = "--help --quiet --verbose --version";

/// What is settled of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub sub_command: Vec<String>,
    /// Options not known to be harmless, each with the word behind it.
    pub options: Vec<String>,
    /// Options that keep it from doing more, which are harmless otherwise: a yes to the command with them is none to one without.
    pub restricting: Vec<String>,
}

impl Shape {
    /// None if nothing general can be allowed of the command.
    pub fn of(command: &[String], folders: &Folders) -> Option<Self> {
        let (program, arguments) = command.split_first()?;
        // Of shell text only the run can tell what a pattern becomes.
        if folders.has_pattern() || !has_usual_place(program) || is_launcher(program) {
            return None;
        }
        let reads = only_reads(command, folders.base());
        let (row, words_of_sub_command) = match find(base_name(program), arguments) {
            Some((row, words)) => (Some(row), words),
            None => {
                let is_plain = reads.as_ref().is_some_and(super::Judgement::is_plain);
                (is_plain && names_all_it_reads(program, arguments)).then_some((None, 0))?
            }
        };
        let reach = Reach::of(command, folders);
        if reach.elsewhere || reach.acts_later || reach.closed {
            return None;
        }
        // It goes wherever it is sent on to.
        let is_sent_on = base_name(program) == "wget" && !arguments.iter().any(|word| word == "--max-redirect=0");
        if is_sent_on {
            return None;
        }
        if names_another_repository(base_name(program), arguments) {
            return None;
        }
        let (sub_command, rest) = arguments.split_at(words_of_sub_command);
        let takes_operands = row.is_none_or(|row| row.operands);
        let mut left = row.map_or(0, |row| row.settled);
        let (mut settled, mut restricting) = (Vec::new(), Vec::new());
        let mut options = Vec::new();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            if !is_option(word) {
                if !takes_operands || !is_operand(word) || taking::spreads(base_name(program), word) {
                    return None;
                }
                if left > 0 {
                    left -= 1;
                    settled.push(word.as_str());
                }
                continue;
            }
            if row.is_some_and(|row| row.is_restricting(word)) {
                restricting.push(word.clone());
            }
            match Freedom::of(word, row.map_or("", |row| row.harmless)) {
                // What the command reads with it is looked at as an operand.
                Freedom::Harmless => {}
                _ if reads.is_some() || word == "--" => {}
                Freedom::WithValue(attached) => {
                    let value = attached.or_else(|| words.next().map(String::as_str))?;
                    if !is_data(value) {
                        return None;
                    }
                }
                Freedom::None if word.contains(char::is_whitespace) => return None,
                Freedom::None => {
                    let mut ahead = words.clone();
                    // What is not known may take the word behind it.
                    let is_bare = ["git", "hg"].contains(&base_name(program))
                        && !repository::takes_word(word, sub_command.last().map_or("", String::as_str));
                    match ahead
                        .next()
                        .filter(|next| !is_option(next) && !word.contains('=') && !is_bare)
                    {
                        Some(value) if !is_data(value) => return None,
                        Some(value) => {
                            words = ahead;
                            options.push(format!("{word} {value}"));
                        }
                        None => options.push(word.clone()),
                    }
                }
            }
        }
        if row.is_some_and(|row| row.settled > 0) {
            // What it is where none is named is said elsewhere, and may be said otherwise tomorrow.
            if settled.is_empty() {
                return None;
            }
            options.push(settled.join(" "));
        }
        Some(Self {
            sub_command: sub_command.to_vec(),
            options,
            restricting,
        })
    }
}

/// Programs that act on a repository, a package or a service as a whole: they follow no link that stands in a folder to where
/// they write.
const OF_WHOLES: &str =
    "bundle cargo composer dotnet gh git glab go gradle hg jj mix mvn npm pip pip3 pnpm poetry svn swift uv yarn";

/// Whether what a program does depends on where the paths lead that it is given.
pub(super) fn goes_by_paths(program: &str) -> bool {
    !OF_WHOLES.split(' ').any(|known| known == base_name(program))
}

/// Whether words of a program that asks a host about repositories name another one than that of the folder, to which the person's token
/// opens the way.
fn names_another_repository(name: &str, arguments: &[String]) -> bool {
    let names_one = |word: &String| match word.strip_prefix("--") {
        Some(long) => ["repo", "group", "hostname"]
            .iter()
            .any(|option| long.starts_with(option)),
        None => word.starts_with('-') && word.contains(['R', 'g']),
    };
    ["gh", "glab"].contains(&name) && arguments.iter().any(names_one)
}

/// The row of a program with its sub-command, and of how many words that is.
fn find(name: &str, arguments: &[String]) -> Option<(&'static Known, usize)> {
    let fits = |wanted: &str| {
        let wanted: Vec<&str> = wanted.split(' ').filter(|word| !word.is_empty()).collect();
        let is = |(wanted, word): (&&str, &String)| {
            *wanted == word || *wanted == "*" && !word.starts_with('-') && !word.contains('=')
        };
        (wanted.len() <= arguments.len() && wanted.iter().zip(arguments).all(is)).then_some(wanted.len())
    };
    KNOWN
        .iter()
        .filter(|row| row.names.split(' ').any(|known| known == name))
        .find_map(|row| Some((row, row.sub_commands.split(',').find_map(fits)?)))
}

/// Which of the arguments of a command are text for people, or have such a text attached: nothing in them is a path, a host or a
/// variable.
pub(super) fn texts(program: &str, arguments: &[String]) -> Vec<bool> {
    let mut texts = vec![false; arguments.len()];
    let name = base_name(program);
    let Some((row, settled)) = find(name, arguments).filter(|_| WITH_TEXTS.contains(&name)) else {
        return texts;
    };
    let known = row.harmless.split_ascii_whitespace();
    let known: Vec<&str> = known
        .filter(|known| !known.ends_with('=') || TEXTS.contains(known))
        .collect();
    let known = known.join(" ");
    let mut at = settled;
    while let Some(word) = arguments.get(at).filter(|word| *word != "--") {
        match Freedom::of(word, &known) {
            _ if !is_option(word) => {}
            Freedom::WithValue(Some(_)) => texts[at] = true,
            Freedom::WithValue(None) => {
                at += 1;
                texts.iter_mut().skip(at).take(1).for_each(|text| *text = true);
            }
            Freedom::Harmless | Freedom::None => {}
        }
        at += 1;
    }
    texts
}

/// What may be changed of an option.
enum Freedom<'w> {
    /// It may be there or not.
    Harmless,
    /// It may be there with any data: what is attached, or the next word.
    WithValue(Option<&'w str>),
    None,
}

impl<'w> Freedom<'w> {
    fn of(word: &'w str, harmless: &str) -> Self {
        let is_listed = |option: &str| harmless.split_ascii_whitespace().any(|known| known == option);
        if is_listed(word) || EVERYWHERE.split(' ').any(|known| known == word) {
            return Self::Harmless;
        }
        let takes_value = |option: &str| is_listed(&format!("{option}="));
        if takes_value(word) {
            return Self::WithValue(None);
        }
        // `--name=value`, and of programs that take whole words behind one dash `-name=value`.
        if let Some((_, value)) = word.split_once('=').filter(|(name, _)| takes_value(name)) {
            return Self::WithValue(Some(value));
        }
        if word.starts_with("--") {
            return Self::None;
        }
        // `-qv`, `-qmTEXT`.
        for (at, letter) in word.char_indices().skip(1) {
            let option = format!("-{letter}");
            if takes_value(&option) {
                let value = &word[at + letter.len_utf8()..];
                return Self::WithValue((!value.is_empty()).then_some(value));
            }
            if !is_listed(&option) {
                return Self::None;
            }
        }
        Self::Harmless
    }
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Whether a value is nothing but data: no list of files or options, and no program that runs what it is given.
fn is_data(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('@') && !is_launcher(word)
}

/// Whether an operand is a plain word: it also sets nothing (`SHELL=x`), asks for no more by a sign in front (`+main`), and is no
/// pattern, which some programs spread out by themselves (`curl http://a.example/{x,y}`).
fn is_operand(word: &str) -> bool {
    let sets = word
        .split_once('=')
        .is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
    let begins = word == "-" || word.starts_with(|c: char| c.is_alphanumeric() || "./_".contains(c));
    begins && !sets && !word.contains(['*', '[', '{']) && is_data(word)
}

#[cfg(test)]
mod tests {
    use super::super::Scene;
    use super::*;
    use std::path::Path;

    #[test]
    fn which_words_are_text_for_people() {
        // Text stands between brackets.
        for command in [
            "git commit -m [x:y]",
            "git commit -am [x] [-m=y] a",
            "git commit [-qmtext] a",
            "git commit [--message=x] -- -m x",
            "git commit -F -m [x]",
            "git commit -m",
            "git -m x commit",
            "git fetch -m x:y",
            "git push -m x",
            "git log -m x",
            "git tag -a v1 -m [x]",
            "gh pr create -t [x] --body [y] -B main",
            "hg commit -m [x]",
            "curl -m 5 x",
            "touch -t 1 a",
            "cp -t a b",
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            let plain: Vec<String> = words.iter().map(|word| word.replace(['[', ']'], "")).collect();
            let expected: Vec<bool> = words[1..].iter().map(|word| word.starts_with('[')).collect();
            assert_eq!(texts(&plain[0], &plain[1..]), expected, "{command}");
        }
    }

    #[test]
    fn by_table() {
        // Columns: the command, and the sub-command with what of its options is settled; none without a shape.
        for (command, expected) in [
            ("cp a b", Some("")),
            ("cp -rv a b", Some("")),
            ("cp -l a b", Some("|-l a")),
            ("cp --backup a b", Some("|--backup a")),
            ("cp a @b", None),
            ("cp a ../b", None),
            ("cp a .git/config", None),
            ("git push", None),
            ("git push -u origin HEAD:main", Some("push|origin")),
            ("git push mine other", Some("push|mine")),
            ("git push -n origin main", Some("push|origin|!-n")),
            ("git fetch origin main", Some("fetch|origin")),
            ("git fetch", None),
            ("git fetch --all", None),
            ("git fetch --no-tags origin", Some("fetch|origin|!--no-tags")),
            ("git pull", None),
            ("git pull -q origin pull/7/head", Some("pull|origin pull/7/head")),
            ("git pull --ff-only origin", Some("pull|origin|!--ff-only")),
            ("hg update stable", Some("update|stable")),
            ("jj new main", Some("new|main")),
            ("jj new", None),
            ("gh pr view 7 -R other/private", None),
            ("gh pr view 7 -cRother/private", None),
            ("gh pr view 7 --repo=other/private", None),
            ("gh run view --log -R other/private", None),
            ("gh repo view", Some("repo view")),
            ("gh repo view other/private", None),
            ("glab mr view 7 -R other/private", None),
            ("git push --force origin", Some("push|--force|origin")),
            ("git push --push-option x origin", Some("push|--push-option x|origin")),
            ("git branch x", Some("branch")),
            ("git branch --list x", Some("branch|!--list")),
            ("git branch -vv", Some("branch|!-vv")),
            ("git tag v1", Some("tag")),
            ("git tag -l v1", Some("tag|!-l")),
            ("git rm --cached a", Some("rm|!--cached")),
            ("cp -rn a b", Some("|!-rn")),
            ("mv -n a b", Some("|!-n")),
            ("cargo test --no-run", Some("test|!--no-run")),
            ("cargo build --locked", Some("build|!--locked")),
            ("cargo update --dry-run", Some("update|!--dry-run")),
            ("npm ci", Some("ci")),
            ("npm ci --ignore-scripts", Some("ci|!--ignore-scripts")),
            ("gh pr create --draft", Some("pr create|!--draft")),
            ("git push origin +main", None),
            ("git add k.p?m", None),
            ("git commit -m x? k", Some("commit")),
            ("git commit -m x k.p?m", None),
            ("git rm a\\b", None),
            ("hg add re:x", None),
            ("git push origin :main", None),
            ("git commit -qm text", Some("commit")),
            ("git commit -mtext", Some("commit")),
            ("git commit --message=text", Some("commit")),
            ("git commit -m @text", None),
            ("git commit -S -m text", Some("commit|-S")),
            ("git stash push -m x", Some("stash push")),
            ("git stash", None),
            ("git config user.name x", None),
            ("git submodule status", None),
            ("git bisect start", None),
            ("git log --oneline -5", Some("log")),
            ("git log --output=x", Some("log|--output=x")),
            ("gh pr view 7 --comments", Some("pr view")),
            ("gh api x", None),
            ("cargo test -p x --lib name", Some("test")),
            ("cargo run", None),
            ("cargo install x", None),
            ("go test -run=X ./...", Some("test")),
            ("go build -toolexec=x", None),
            ("make test", Some("test")),
            ("make test other", None),
            ("make -f x test", None),
            ("make test SHELL=x", None),
            ("npm run build", Some("run build")),
            ("npm run build x", None),
            ("npm install", Some("install")),
            ("npm install x", None),
            ("curl -so out https://a.example/x", Some("")),
            ("curl -sH x https://a.example/x", Some("|-sH x")),
            ("curl -d @x https://a.example/x", None),
            ("curl -sK list", None),
            ("curl -O https://a.example/{x,y}", None),
            ("curl -O https://a.example/.envrc?x", None),
            ("wget https://a.example/%2Eenvrc", None),
            ("wget https://a.example/x%20y?z", None),
            ("wget --max-redirect=0 https://a.example/x%20y?z", Some("")),
            ("wget --max-redirect=0 ftp://a.example/.envrc;type=a", None),
            ("curl -O ftp://a.example/x", None),
            ("curl -sL https://a.example/x", Some("|-sL https://a.example/x")),
            ("git clone git@a.example:x", None),
            ("chmod 644 a", Some("644")),
            ("head -n 3 a", Some("")),
            ("wc --files0-from=list", None),
            ("mytool go", None),
            ("./cp a b", None),
            ("/usr/bin/cp a b", Some("")),
            ("cp sh a", None),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let shape = Shape::of(&words, &Folders::of(Scene::at(Path::new("/w"))));
            let found = shape.map(|shape| {
                let restricting = shape.restricting.into_iter().map(|option| format!("!{option}"));
                let settled = std::iter::once(shape.sub_command.join(" "))
                    .chain(shape.options)
                    .chain(restricting);
                settled.collect::<Vec<_>>().join("|")
            });
            assert_eq!(found.as_deref(), expected, "{command}");
        }
    }
}

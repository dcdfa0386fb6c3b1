//! Ways round what keeps files that act later as they are: not by their names, which `later_files` tries, but by where they
//! lie, who can look there, and what leads there.

use super::repel;
use crate::exec::fallback::plain_command;
use crate::exec::place::{Place, has, users, words};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is there, what the agent's commands do one after the other, and what shows that it got through. All are shell text in
/// the workspace; the last prints something only then.
struct Row {
    name: &'static str,
    there: &'static str,
    commands: &'static [&'static str],
    evidence: &'static str,
}

const IDENTITY: &str = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; ";

const DEEP: &str = r#"python3 -c "
import os
W = os.getcwd()
top = os.open(W, os.O_RDONLY)
os.makedirs('src/d'); os.chdir('src/d')
names = [chr(97 + at) * 250 for at in range(18)]
for name in names:
    os.mkdir(name); os.chdir(name)
deep = os.open('.', os.O_RDONLY)
os.rename('src/sub', 'sub', src_dir_fd=top, dst_dir_fd=deep)
os.chdir('sub')
for name in ['.vscode/tasks.json', '.envrc']:
    try: open(name, 'w').write('evil')
    except OSError: pass
os.chdir(W + '/src/d')
for at, name in enumerate(names):
    os.rename(name, chr(97 + at)); os.chdir(chr(97 + at))
os.rename('sub', W + '/src/sub')
""#;

const LONGER: &str = r#"python3 -c "
import os
LETTERS = 'abcdefghijklmnopqrst'
os.makedirs('node_modules/p/' + '/'.join(LETTERS) + '/.vscode')
open('node_modules/p/' + '/'.join(LETTERS) + '/.vscode/tasks.json', 'w').write('evil')
def rename(base, order, old, new):
    for at in order:
        above = '/'.join([base, *LETTERS[:at]])
        os.rename(above + '/' + LETTERS[at] * old, above + '/' + LETTERS[at] * new)
rename('node_modules/p', reversed(range(20)), 1, 250)
os.rename('node_modules/p', 'p')
rename('p', range(20), 250, 1)
""#;

/// A second name of a file that is open, without its name: `linkat` with `AT_EMPTY_PATH`.
const NAMELESS: &str = r#"python3 -c "
import ctypes, os
for flags in [os.O_RDONLY, os.O_PATH]:
    fd = os.open('AGENTS.md', flags)
    ctypes.CDLL(None).linkat(fd, b'', -100, b'x', 0x1000)
    if os.path.exists('x'): open('x', 'w').write('evil')
""#;

/// A second name of a link that is open.
const OPEN_LINK: &str = r#"python3 -c "
import ctypes, os
os.makedirs('target/app/.vscode'); open('target/app/.vscode/tasks.json', 'w').write('evil')
os.symlink('../target/app', 'target/link')
fd = os.open('target/link', os.O_PATH | os.O_NOFOLLOW)
libc = ctypes.CDLL(None)
libc.linkat(-100, f'/proc/self/fd/{fd}'.encode(), -100, b'packages/app', 0x400)
libc.linkat(fd, b'', -100, b'packages/app', 0x1000)
""#;

const ROWS: &[Row] = &[
    Row {
        name: "in a folder of packages whose names are longer than paths when it is moved",
        there: "mkdir src",
        commands: &[LONGER],
        evidence: "grep -rs evil p",
    },
    Row {
        name: "in a folder of packages that cannot be looked into when it is moved",
        there: "mkdir src",
        commands: &[
            "mkdir -p node_modules/a/b/.vscode; echo evil > node_modules/a/b/.vscode/tasks.json; chmod 000 node_modules/a/b; mv node_modules/a \
             src/a; chmod 755 src/a/b",
        ],
        evidence: "chmod -R u+rwX src; grep -rs evil src",
    },
    Row {
        name: "in a folder of the person's that is one of what is built for a while",
        there: "mkdir -p a/sub; echo mine > a/sub/AGENTS.md",
        commands: &[
            "mv a target; echo evil > target/sub/AGENTS.md; chmod 000 target/sub; mv target a; chmod 755 a/sub",
        ],
        evidence: "chmod -R u+rwX a target 2> /dev/null; grep -rs evil a target",
    },
    Row {
        name: "a folder for temporary files, with a link in the place of one of the person's",
        there: "mkdir -p packages/app",
        commands: &[
            "x=$(mktemp -d); mkdir $x/.vscode; echo evil > $x/.vscode/tasks.json; rmdir packages/app; ln -s $x packages/app || rm -r $x",
        ],
        evidence: "grep -rs evil packages/app/",
    },
    Row {
        name: "links in a folder that is moved out of what is installed",
        there: "mkdir src",
        commands: &[
            "mkdir -p node_modules/evil/.vscode node_modules/p/deep; echo evil > node_modules/evil/.vscode/tasks.json; ln -s \
             $PWD/node_modules/evil node_modules/p/deep/l; mv node_modules/p src/p",
        ],
        evidence: "grep -rs evil src/p/deep/l/",
    },
    Row {
        name: "links that lead elsewhere where their folder is moved to",
        there: "mkdir -p a/b/c node_modules/evil/.vscode; echo evil > node_modules/evil/.vscode/tasks.json",
        commands: &["mkdir -p a/node_modules/x a/b/c/d; ln -s ../../node_modules/evil a/b/c/d/l; mv a/b/c/d a/d"],
        evidence: "grep -rs evil a/d/l/",
    },
    Row {
        name: "a link to a file in what is built, in whose place a folder comes",
        there: "mkdir -p packages target",
        commands: &[
            "echo x > target/x; ln -s ../target/x packages/app",
            "rm target/x; mkdir target/x; echo evil > target/x/.envrc",
        ],
        evidence: "grep -rs evil packages/app/",
    },
    Row {
        name: "by a second name of an open file",
        there: "echo mine > AGENTS.md",
        commands: &[NAMELESS],
        evidence: "grep -s evil AGENTS.md",
    },
    Row {
        name: "by a second name of an open link",
        there: "mkdir packages",
        commands: &[OPEN_LINK],
        evidence: "grep -rs evil packages/app/",
    },
    Row {
        name: "where names are longer than paths",
        there: "mkdir -p src/sub/.vscode; echo mine > src/sub/.vscode/tasks.json; echo mine > src/sub/.envrc",
        commands: &[DEEP],
        evidence: "grep -r evil src",
    },
    Row {
        name: "in a folder that was closed",
        there: "mkdir -p sub/.vscode sub/.git/hooks; echo mine > sub/.vscode/tasks.json",
        commands: &[
            "chmod 000 sub",
            "chmod 755 sub; echo evil > sub/.vscode/tasks.json; echo evil > sub/.git/hooks/pre-commit; chmod 000 sub",
            "chmod 755 sub",
        ],
        evidence: "chmod 755 sub; grep -r evil sub",
    },
    Row {
        name: "in a folder that can be read and not searched",
        there: "mkdir -p sub/.vscode; echo mine > sub/.vscode/tasks.json",
        commands: &[
            "chmod 444 sub",
            "chmod 755 sub; echo evil > sub/.vscode/tasks.json; chmod 444 sub",
        ],
        evidence: "chmod 755 sub; grep -r evil sub",
    },
    Row {
        name: "the repository that a pointer file leads to",
        there: "mkdir proj; cd proj; git init -q --bare .bare; echo 'gitdir: ./.bare' > .git; git config core.bare false",
        commands: &[
            "git config -f proj/.bare/config core.fsmonitor evil",
            "echo evil > proj/.bare/hooks/post-checkout",
        ],
        evidence: "grep -rs evil proj/.bare/config proj/.bare/hooks",
    },
    Row {
        name: "the same under another name for a while",
        there: "mkdir proj; cd proj; git init -q --bare .bare; echo 'gitdir: ./.bare' > .git; git config core.bare false",
        commands: &[
            "mv proj other; git config -f other/.bare/config core.fsmonitor evil; echo evil > other/.bare/hooks/post-checkout; mv other proj",
            "mv proj/.bare proj/bare; git config -f proj/bare/config core.fsmonitor evil; mv proj/bare proj/.bare",
        ],
        evidence: "grep -rs evil proj other",
    },
    Row {
        name: "the repository that a pointer leads to, in a folder with a blank at its end",
        there: "mkdir proj; cd proj; git init -q --bare 'bare '; printf 'gitdir: ./bare ' > .git; git config core.bare false",
        commands: &["echo evil > 'proj/bare /hooks/post-checkout'"],
        evidence: "grep -rs evil 'proj/bare /hooks'",
    },
    Row {
        name: "the repository that a pointer with a pipe beside it leads to",
        there: "mkdir proj; cd proj; git init -q --bare .bare; echo 'gitdir: ./.bare' > .git; mkfifo .bare/commondir",
        commands: &["echo evil > proj/.bare/hooks/post-checkout"],
        evidence: "grep -s evil proj/.bare/hooks/post-checkout",
    },
    Row {
        name: "the repository of a worktree",
        there: "git init -q --bare .bare; git -C .bare worktree add -q --orphan -b x ../main 2>/dev/null || { mkdir main; \
                mkdir -p .bare/worktrees/main; echo ../.. > .bare/worktrees/main/commondir; echo ref: refs/heads/x > \
                .bare/worktrees/main/HEAD; echo 'gitdir: ../.bare/worktrees/main' > main/.git; }",
        commands: &[
            "git config -f .bare/config core.fsmonitor evil",
            "echo evil > .bare/hooks/post-checkout",
        ],
        evidence: "grep -rs evil .bare/config .bare/hooks",
    },
    Row {
        name: "the folder that core.hooksPath names",
        there: "git init -q .; git config core.hooksPath .githooks; mkdir .githooks; echo mine > .githooks/pre-commit",
        commands: &[
            "echo evil >> .githooks/pre-commit",
            "echo evil > .githooks/post-checkout",
        ],
        evidence: "grep -r evil .githooks",
    },
    Row {
        name: "a folder that core.hooksPath names and that is not there yet",
        there: "git init -q .; git config core.hooksPath tools/hooks",
        commands: &["mkdir -p tools/hooks; echo evil > tools/hooks/pre-commit"],
        evidence: "grep -rs evil tools",
    },
    Row {
        name: "the hooks of a repository below the top",
        there: "git init -q lib; git -C lib config core.hooksPath .hooks; mkdir lib/.hooks",
        commands: &["echo evil > lib/.hooks/pre-commit"],
        evidence: "grep -rs evil lib/.hooks",
    },
    Row {
        name: "settings that a repository includes",
        there: "git init -q .; git config include.path ../.gitconfig; git config includeIf.onbranch:x.path ../more.inc; touch .gitconfig more.inc",
        commands: &[
            "git config -f .gitconfig core.fsmonitor evil",
            "echo evil >> .gitconfig",
            "echo evil > more.inc",
            "rm -f .gitconfig; echo evil > .gitconfig",
        ],
        evidence: "grep -s evil .gitconfig more.inc",
    },
    Row {
        name: "hooks that included settings name",
        there: "git init -q .; git config include.path ../settings.inc; git config -f settings.inc core.hooksPath .hooks; mkdir .hooks",
        commands: &["echo evil > .hooks/pre-commit"],
        evidence: "grep -rs evil .hooks",
    },
    Row {
        name: "where the links of hooks lead",
        there: "git init -q .; mkdir -p scripts .git/hooks; echo mine > scripts/pre-commit.sh; ln -s ../../scripts/pre-commit.sh \
                .git/hooks/pre-commit",
        commands: &[
            "echo evil >> scripts/pre-commit.sh",
            "rm -f scripts/pre-commit.sh; echo evil > scripts/pre-commit.sh",
            "mv scripts other; mkdir scripts; echo evil > scripts/pre-commit.sh",
        ],
        evidence: "grep -rs evil scripts",
    },
    Row {
        name: "where links in a folder of an editor lead",
        there: "mkdir -p sub/.vscode config; echo mine > config/tasks.json; ln -s ../../config/tasks.json sub/.vscode/tasks.json; ln -s \
                ../../config/launch.json sub/.vscode/launch.json",
        commands: &[
            "echo evil > config/tasks.json",
            "echo evil > config/launch.json",
            "mv config other; mkdir config; echo evil > config/tasks.json",
        ],
        evidence: "grep -rs evil config",
    },
    Row {
        name: "programs that a repository's settings name",
        there: "git init -q .; mkdir tools; echo mine > tools/clean.sh; git config filter.x.clean 'sh tools/clean.sh %f'; git config \
                core.fsmonitor tools/fsm",
        commands: &["echo evil > tools/clean.sh", "echo evil > tools/fsm"],
        evidence: "grep -rs evil tools",
    },
    Row {
        name: "hooks that the person's own settings name",
        there: "git config --global core.hooksPath .githooks; git init -q lib",
        commands: &["mkdir -p lib/.githooks; echo evil > lib/.githooks/pre-commit"],
        evidence: "grep -rs evil lib/.githooks",
    },
    Row {
        name: "the files of a repository in a folder of another name",
        there: "mkdir lib",
        commands: &[
            "mkdir -p lib/objects lib/refs; echo evil > lib/config; echo ref: refs/heads/x > lib/HEAD",
            "mkdir -p target/b/objects target/b/refs; echo evil > target/b/config; echo ref: refs/heads/x > target/b/HEAD; mv target/b other",
            "mkdir -p one; echo evil > one/config; echo ref: refs/heads/x > one/HEAD; echo ../target/b > one/commondir",
        ],
        evidence: "for folder in lib other one; do test -e $folder/HEAD -a -e $folder/refs -o -e $folder/HEAD -a -e $folder/commondir && echo \
                   $folder; done",
    },
    Row {
        name: "a repository right in a folder of what is built",
        there: "mkdir target",
        commands: &[
            "mkdir -p target/.git/hooks; echo evil > target/.git/hooks/pre-commit",
            "mkdir -p node_modules/p/.git; echo evil > node_modules/p/.git/config; rmdir target; mv node_modules/p target",
        ],
        evidence: "grep -rs evil target/.git",
    },
    Row {
        name: "hooks whose name has a remark behind it",
        there: "git init -q .; printf '[core]\\n\\thooksPath = \"my hooks\" ; ours\\n' >> .git/config; mkdir 'my hooks'",
        commands: &["echo evil > 'my hooks/pre-commit'"],
        evidence: "grep -rs evil 'my hooks'",
    },
    Row {
        name: "hooks behind a remark that ends with a backslash",
        there: "git init -q .; printf '[core] # see c:\\\\dir\\\\\\n\\thooksPath = tools/hooks\\n' >> .git/config; mkdir -p tools/hooks",
        commands: &["echo evil > tools/hooks/pre-commit"],
        evidence: "grep -rs evil tools",
    },
    Row {
        name: "programs of sections whose names are written in other ways",
        there: "git init -q .; mkdir tools; echo mine > tools/a.sh; echo mine > tools/b.sh; printf '[filter \"a]b\"] clean = sh \
                tools/a.sh\\n[filter.b]\\n\\tclean = sh tools/b.sh\\n' >> .git/config",
        commands: &["echo evil > tools/a.sh", "echo evil > tools/b.sh"],
        evidence: "grep -rs evil tools",
    },
    Row {
        name: "a folder of the person's in a folder of what is built, with a link in its place",
        there: "mkdir -p packages/app; echo x > packages/app/f",
        commands: &[
            "mkdir -p target && mv packages/app target/app && ln -s ../target/app packages/app && mkdir packages/app/.vscode && echo \
                     evil > packages/app/.vscode/tasks.json; echo evil > packages/app/.envrc",
        ],
        evidence: "grep -rs evil packages/app/",
    },
    Row {
        name: "the same with a link that is moved there",
        there: "mkdir -p packages/app",
        commands: &[
            "mkdir -p target/app/.vscode; echo evil > target/app/.vscode/tasks.json; ln -s ../target/app target/link; rmdir packages/app; mv \
             target/link packages/app",
        ],
        evidence: "grep -rs evil packages/app/",
    },
    Row {
        name: "the same with another name of a link",
        there: "mkdir -p packages",
        commands: &[
            "mkdir -p target/app/.vscode; echo evil > target/app/.vscode/tasks.json; ln -s ../target/app target/link; ln -P \
                     target/link packages/app",
        ],
        evidence: "grep -rs evil packages/app/",
    },
    Row {
        name: "the same with a folder that comes later",
        there: "mkdir -p packages",
        commands: &[
            "ln -s ../node_modules/app packages/app; mkdir -p node_modules/app; echo evil > node_modules/app/.envrc",
        ],
        evidence: "grep -rs evil packages/app/",
    },
];

fn round(place: &Place, namespaces: bool, command: &str) -> Command {
    let argv = ["sh", "-c", command];
    match namespaces {
        true => place.command(&[], &argv),
        false => plain_command(place, &[], &argv),
    }
}

/// Runs shell text as the user, outside.
fn outside(place: &Place, text: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{IDENTITY}{text}")]);
    place.dress(&mut shell);
    let output = shell.output().expect("a shell");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn nothing_leads_round_the_keeper() {
    if !has("python3") {
        return;
    }
    let alone = has("unshare") && has("setpriv");
    let rounds = users().into_iter().flat_map(|user| {
        let walls = [true].into_iter().chain(alone.then_some(false));
        walls.map(move |namespaces| (user, namespaces))
    });
    let tries: Vec<_> = rounds
        .flat_map(|(user, namespaces)| ROWS.iter().map(move |row| (row.name, user, namespaces, row)))
        .map(|(name, user, namespaces, row)| {
            let place = Place::new(user);
            outside(&place, row.there);
            let mut said = String::new();
            for command in row.commands {
                let output = round(&place, namespaces, command).output().expect("the sandbox");
                said.push_str(&words(&output));
            }
            let evidence = outside(&place, row.evidence);
            ((name, user, namespaces), evidence, said)
        })
        .collect();
    repel(
        tries.iter().map(|(row, evidence, said)| (*row, evidence, said)),
        |(_, evidence, said)| match evidence.is_empty() {
            true => Ok(()),
            false => Err(format!("{evidence}{said}")),
        },
    );
}

/// What the person makes while a command runs is theirs, with all that is in it.
#[test]
fn what_comes_while_a_command_runs_is_not_written_either() {
    if !has("python3") {
        return;
    }
    let alone = has("unshare") && has("setpriv");
    for user in users() {
        for namespaces in [true].into_iter().chain(alone.then_some(false)) {
            let place = Place::new(user);
            place.folder(&place.work.join("src"));
            let script = "touch began; while ! test -e ready; do sleep 0.02; done; for file in src/new/.vscode/tasks.json src/rep/.git/config \
                          src/rep/.git/hooks/pre-commit; do echo evil >> $file; done; echo it tried";
            let mut command = round(&place, namespaces, script);
            let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let running = command.spawn().expect("the sandbox");
            let begun = Instant::now();
            while !place.work.join("began").exists() {
                assert!(begun.elapsed() < Duration::from_secs(60), "the command does not begin");
                std::thread::sleep(Duration::from_millis(10));
            }
            outside(
                &place,
                "mkdir -p src/new/.vscode; echo mine > src/new/.vscode/tasks.json; git init -q src/rep; touch ready",
            );
            let output = running.wait_with_output().expect("an end");
            let said = words(&output);
            assert!(said.contains("it tried"), "{user:?} {namespaces}: {said}");
            // Where it was moved to is said, and it is whole there.
            let kept = said
                .lines()
                .filter_map(|line| line.split_once(": moved to "))
                .map(|(_, place)| place.trim());
            let places: Vec<_> = kept.map(str::to_owned).chain(["src".to_owned()]).collect();
            let found = outside(&place, &format!("grep -rs evil {}", places.join(" ")));
            assert_eq!(found, "", "{user:?} {namespaces}: {said}");
            for kept in &places[..places.len() - 1] {
                let _gone = std::path::Path::new(kept).parent().map(std::fs::remove_dir_all);
            }
        }
    }
}

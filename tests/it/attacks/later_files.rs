//! Files that make other programs act later: by every name of the table, in every way in which a command can make,
//! change, replace or remove one; as root and as an ordinary user, with namespaces and without.

use super::repel;
use crate::exec::fallback::plain_command;
use crate::exec::place::{Place, User, has, users, words};
use countersign::exec::{names_that_act, paths_that_act};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Bound;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Ways to make an entry that is not there: Python, in a folder below the workspace. `NAME` is the name, `HERE` the
/// folder. Each is tried for each name.
const MAKE: &[(&str, &str)] = &[
    ("open", "open(NAME, 'w').write('evil')"),
    (
        "open by a descriptor",
        "os.open(NAME, os.O_CREAT | os.O_WRONLY, dir_fd=folder)",
    ),
    (
        "exclusively",
        "os.open(HERE + '/' + NAME, os.O_CREAT | os.O_EXCL | os.O_RDWR)",
    ),
    ("read only", "os.open(NAME, os.O_CREAT | os.O_RDONLY)"),
    ("creat", "call('creat', NAME, 0o644)"),
    ("openat2", "call('openat2', -100, NAME, HOW, 24)"),
    (
        "openat2 with a root of its own",
        "call('openat2', folder, '/' + NAME, struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o644, 0x10), 24)",
    ),
    (
        "a link below a root of its own",
        "os.symlink('/' + NAME, 'alias'); call('openat2', folder, 'alias', struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o644, 0x10), 24)",
    ),
    ("a folder", "os.makedirs(NAME + '/deep')"),
    ("a folder by a descriptor", "os.mkdir(NAME, dir_fd=folder)"),
    ("a link", "os.symlink('ordinary', NAME)"),
    ("a hard link", "fresh(); os.link('fresh', NAME)"),
    ("a rename", "fresh(); os.rename('fresh', NAME)"),
    ("a rename of a folder", "os.makedirs('d/deep'); os.rename('d', NAME)"),
    (
        "an exchange",
        "fresh(); call('renameat2', -100, 'fresh', -100, NAME, 2)",
    ),
    ("a fifo", "os.mkfifo(NAME)"),
    (
        "through a link that leads there",
        "os.symlink(NAME, 'alias'); open('alias', 'w').write('evil')",
    ),
    (
        "through two links",
        "os.symlink(NAME, 'b'); os.symlink(HERE + '/b', 'alias'); open('alias', 'w').write('evil')",
    ),
    ("through 39 links", "open(chain(NAME, 39), 'w').write('evil')"),
    (
        "through as many links as are followed",
        "open(chain(NAME, 40), 'w').write('evil')",
    ),
    ("through more links", "open(chain(NAME, 41), 'w').write('evil')"),
    (
        "by the process's own folder",
        "open('/proc/self/cwd/' + NAME, 'w').write('evil')",
    ),
    (
        "by a descriptor in /proc",
        "open(f'/proc/self/fd/{folder}/' + NAME, 'w').write('evil')",
    ),
    (
        "through a link to the folder",
        "os.symlink(HERE, 'alias'); open('alias/' + NAME, 'w').write('evil')",
    ),
    ("round about", "open('../here/./' + NAME, 'w').write('evil')"),
    ("in capitals", "open(NAME.upper(), 'w').write('evil')"),
    (
        "with a sign that HFS leaves out",
        "open(NAME[:2] + '\\u200c' + NAME[2:], 'w').write('evil')",
    ),
    (
        "with a long s and a kelvin",
        "open(NAME.replace('s', '\\u017f').replace('k', '\\u212a'), 'w').write('evil')",
    ),
    ("with dots that NTFS drops", "open(NAME + '. .', 'w').write('evil')"),
    ("as a stream", "open(NAME + '::$DATA', 'w').write('evil')"),
    (
        "a file without a name",
        "fd = os.open('.', os.O_TMPFILE | os.O_RDWR); os.link(f'/proc/self/fd/{fd}', NAME)",
    ),
    ("a socket", "s = socket.socket(socket.AF_UNIX); s.bind(NAME)"),
    (
        "a socket whose address ends with its length",
        "s = socket.socket(socket.AF_UNIX); address = struct.pack('H', 1) + NAME.encode(); libc.bind(s.fileno(), address + b'x', len(address))",
    ),
    (
        "out of an installed package",
        "os.makedirs(f'node_modules/p/{NAME}/deep'); os.rename('node_modules/p', 'moved')",
    ),
    (
        "with the folder of installed packages",
        "os.makedirs(f'node_modules/p/{NAME}/deep'); os.rename('node_modules', 'moved')",
    ),
    (
        "exchanged with an installed package",
        "os.makedirs(f'node_modules/p/{NAME}'); os.mkdir('d'); call('renameat2', -100, 'node_modules/p', -100, 'd', 2)",
    ),
];

/// Ways to change one that is there, as a file.
const CHANGE: &[(&str, &str)] = &[
    ("write", "open(NAME, 'w').write('evil')"),
    ("append", "open(NAME, 'a').write('evil')"),
    (
        "below a root of its own",
        "call('openat2', folder, '/' + NAME, struct.pack('QQQ', os.O_WRONLY | os.O_TRUNC, 0, 0x10), 24)",
    ),
    ("write in place", "os.write(os.open(NAME, os.O_RDWR), b'evil')"),
    ("truncate", "os.truncate(NAME, 0)"),
    ("remove", "os.unlink(NAME)"),
    ("remove by a descriptor", "os.unlink(NAME, dir_fd=folder)"),
    ("rename away", "os.rename(NAME, 'gone')"),
    ("rename over it", "fresh(); os.rename('fresh', NAME)"),
    ("exchange", "fresh(); call('renameat2', -100, 'fresh', -100, NAME, 2)"),
    (
        "by a hard link",
        "os.link(NAME, 'hard'); open('hard', 'w').write('evil')",
    ),
    (
        "by a link",
        "os.symlink(NAME, 'alias'); open('alias', 'w').write('evil')",
    ),
    (
        "by a link, exclusively without making it",
        "os.symlink(NAME, 'alias'); os.write(os.open('alias', os.O_WRONLY | os.O_EXCL | os.O_TRUNC), b'evil')",
    ),
    (
        "by a descriptor that only reads, exclusively",
        "fd = os.open(NAME, os.O_RDONLY); os.write(os.open(f'/proc/self/fd/{fd}', os.O_RDWR | os.O_EXCL), b'evil')",
    ),
    ("by 39 links", "open(chain(NAME, 39), 'w').write('evil')"),
    (
        "by as many links as are followed",
        "open(chain(NAME, 40), 'w').write('evil')",
    ),
    ("by more links", "open(chain(NAME, 41), 'w').write('evil')"),
    (
        "by a descriptor that only reads",
        "fd = os.open(NAME, os.O_RDONLY); open(f'/proc/self/fd/{fd}', 'w').write('evil')",
    ),
    (
        "a folder of the same name elsewhere",
        "os.rename(HERE, HERE + '.old'); os.mkdir(HERE); os.chdir(HERE); open(NAME, 'w').write('evil')",
    ),
];

/// What the scripts begin with.
const PRELUDE: &str = r"
import ctypes, os, shutil, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {'x86_64': {'creat': 85, 'openat2': 437, 'renameat2': 316}}.get(os.uname().machine, {'openat2': 437, 'renameat2': 276})
HOW = struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o644, 0)
def call(name, *arguments):
    if name in NUMBERS:
        given = [a.encode() if isinstance(a, str) else a for a in arguments]
        if libc.syscall(NUMBERS[name], *given) < 0:
            raise OSError(ctypes.get_errno(), name)
def chain(to, count):
    for at in range(count):
        os.symlink(f'l{at - 1}' if at else to, f'l{at}')
    return f'l{count - 1}'
def fresh():
    open('fresh', 'w').write('evil')
WORK = os.getcwd()
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walls {
    All,
    NoNamespaces,
}

fn command(place: &Place, walls: Walls, options: &[&str], script: &str) -> Command {
    let argv = ["python3", "-c", script];
    match walls {
        Walls::All => place.command(options, &argv),
        Walls::NoNamespaces => plain_command(place, options, &argv),
    }
}

fn run(place: &Place, walls: Walls, options: &[&str], script: &str) -> Output {
    let mut command = command(place, walls, options, script);
    command.output().expect("run the sandbox")
}

/// The users, and the walls that can be had here.
fn rounds() -> Vec<(User, Walls)> {
    let alone = has("unshare") && has("setpriv");
    let walls = [Walls::All].into_iter().chain(alone.then_some(Walls::NoNamespaces));
    let walls: Vec<Walls> = walls.collect();
    users()
        .into_iter()
        .flat_map(|user| walls.iter().map(move |walls| (user, *walls)))
        .collect()
}

/// The names of the table as files could have them.
fn names() -> Vec<String> {
    let names = names_that_act().into_iter();
    names.map(|name| name.replace('*', "project")).collect()
}

/// The same for one round. Which name it is matters to no wall: two rounds that share neither user nor wall try all, the others each
/// fifth of them and those of an own shape, unless `COUNTERSIGN_ALL_NAMES` is set.
fn names_in(user: User, walls: Walls) -> Vec<String> {
    let is_whole = [(User::Own, Walls::All), (User::Nobody, Walls::NoNamespaces)].contains(&(user, walls));
    if is_whole || std::env::var_os("COUNTERSIGN_ALL_NAMES").is_some() {
        return names();
    }
    let names = names_that_act().into_iter().enumerate();
    let some = names.filter(|(at, name)| at % 5 == 0 || name.contains(['*', '/']));
    some.map(|(_, name)| name.replace('*', "project")).collect()
}

/// A script that tries each way for each name, in a folder of its own for each.
fn script(folder: &str, names: &[String], ways: &[(&str, &str)]) -> String {
    let mut script = PRELUDE.to_owned();
    for (at, (_, way)) in ways.iter().enumerate() {
        let body = way.replace("; ", "\n    ");
        script.push_str(&format!("def way{at}(NAME, HERE, folder):\n    {body}\n"));
    }
    script.push_str(&format!(
        "NAMES = {:?}\nfor at, NAME in enumerate(NAMES):\n  for way in range({}):\n    HERE = f'{{WORK}}/{folder}/{{at}}/{{way}}/here'\n    \
         os.chdir(HERE)\n    folder = os.open('.', os.O_RDONLY)\n    try:\n      globals()[f'way{{way}}'](NAME, HERE, folder)\n    \
         except OSError:\n      pass\n    os.close(folder)\n",
        names,
        ways.len()
    ));
    script
}

/// All entries below a folder, with their texts.
fn below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(place) = waiting.pop() {
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path.clone());
            }
            let text = fs::read(&path).unwrap_or_default();
            found.insert(path, text);
        }
    }
    found
}

/// As file systems that are not exact would see it.
fn plain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name
        .replace('\u{200c}', "")
        .replace('\u{17f}', "s")
        .replace('\u{212a}', "k");
    name.split("::")
        .next()
        .unwrap_or_default()
        .trim_end_matches(['.', ' '])
        .to_owned()
}

fn is_installed(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "node_modules")
}

/// What was found in a folder and below: there are too many to look through all for each.
fn inside<'a>(
    found: &'a BTreeMap<PathBuf, Vec<u8>>,
    folder: &'a Path,
) -> impl Iterator<Item = (&'a PathBuf, &'a Vec<u8>)> {
    let from_there = found.range::<Path, _>((Bound::Included(folder), Bound::Unbounded));
    from_there.take_while(move |(path, _)| path.starts_with(folder))
}

/// A test for each user and each kind of walls, so that they run side by side.
fn in_round(user: User, walls: Walls, attack: fn(User, Walls)) {
    if has("python3") && rounds().contains(&(user, walls)) {
        attack(user, walls);
    }
}

#[test]
fn no_entry_that_acts_later_can_be_made() {
    in_round(User::Own, Walls::All, make);
}

#[test]
fn no_entry_that_acts_later_can_be_made_by_an_ordinary_user() {
    in_round(User::Nobody, Walls::All, make);
}

#[test]
fn no_entry_that_acts_later_can_be_made_without_namespaces() {
    in_round(User::Own, Walls::NoNamespaces, make);
}

#[test]
fn no_entry_that_acts_later_can_be_made_without_namespaces_by_an_ordinary_user() {
    in_round(User::Nobody, Walls::NoNamespaces, make);
}

fn make(user: User, walls: Walls) {
    let place = Place::new(user);
    let names = names_in(user, walls);
    for at in 0..names.len() {
        for way in 0..MAKE.len() {
            folders(&place, &place.work, &format!("make/{at}/{way}/here"));
        }
    }
    let output = run(&place, walls, &[], &script("make", &names, MAKE));
    delete_kept(&output);
    assert!(output.status.success(), "{user:?} {walls:?}: {}", words(&output));
    let made = below(&place.work.join("make"));
    let rows = names.iter().enumerate().flat_map(|(at, name)| {
        MAKE.iter()
            .enumerate()
            .map(move |(way, (how, _))| (name.clone(), *how, format!("{at}/{way}/here")))
    });
    repel(rows, |(name, _, folder)| {
        let folder = place.work.join("make").join(folder);
        let mut inside = inside(&made, &folder).filter(|(path, _)| !is_installed(path));
        match inside.find(|(path, _)| plain_name(path) == *name) {
            Some((path, _)) => Err(format!("{user:?} {walls:?}: {} is there", path.display())),
            None => Ok(()),
        }
    });
    // The ways are real: with an ordinary name they lead somewhere.
    let ways = made
        .keys()
        .filter(|path| path.ends_with("fresh") || path.ends_with("alias"))
        .count();
    assert!(ways > names.len(), "{user:?} {walls:?}: {}", words(&output));
}

#[test]
fn no_entry_that_acts_later_can_be_changed() {
    in_round(User::Own, Walls::All, change_all);
}

#[test]
fn no_entry_that_acts_later_can_be_changed_by_an_ordinary_user() {
    in_round(User::Nobody, Walls::All, change_all);
}

#[test]
fn no_entry_that_acts_later_can_be_changed_without_namespaces() {
    in_round(User::Own, Walls::NoNamespaces, change_all);
}

#[test]
fn no_entry_that_acts_later_can_be_changed_without_namespaces_by_an_ordinary_user() {
    in_round(User::Nobody, Walls::NoNamespaces, change_all);
}

fn change_all(user: User, walls: Walls) {
    let names = names_in(user, walls);
    // As many as lie under mounts of their own, and more, which are kept by the answers about names.
    let together = match walls {
        Walls::All if user == User::Own => 512 / CHANGE.len(),
        _ => names.len(),
    };
    for names in names.chunks(together) {
        change(user, walls, names);
    }
}

fn change(user: User, walls: Walls, names: &[String]) {
    let place = Place::new(user);
    for (at, name) in names.iter().enumerate() {
        for way in 0..CHANGE.len() {
            let folder = folders(&place, &place.work, &format!("change/{at}/{way}/here"));
            place.file(&folder.join(name), "mine");
        }
    }
    let output = run(&place, walls, &[], &script("change", names, CHANGE));
    assert!(output.status.success(), "{user:?} {walls:?}: {}", words(&output));
    delete_kept(&output);
    let now = below(&place.work.join("change"));
    let rows = names.iter().enumerate().flat_map(|(at, name)| {
        CHANGE
            .iter()
            .enumerate()
            .map(move |(way, (how, _))| (name.clone(), *how, format!("{at}/{way}")))
    });
    repel(rows, |(name, how, folder)| {
        let around = place.work.join("change").join(folder);
        let there = inside(&now, &around).filter(|(path, _)| path.ends_with(name));
        let there: Vec<_> = there.collect();
        let moved = *how == "a folder of the same name elsewhere";
        let expected = around.join(if moved { "here.old" } else { "here" }).join(name);
        // The folders around a chat document stay where they are, where it was found among the first.
        let stayed = name
            .ends_with(".countersign.md")
            .then(|| around.join("here").join(name));
        match there.as_slice() {
            [(path, text)] if **path == expected && text.as_slice() == b"mine" => Ok(()),
            [(path, text)] if Some(*path) == stayed.as_ref() && text.as_slice() == b"mine" => Ok(()),
            other => Err(format!("{user:?} {walls:?}: {other:?}")),
        }
    });
}

/// An editor that has a chat document open finds the same one at its place, whatever a command does to the folders around it.
#[test]
fn the_folders_around_a_chat_document_stay_where_they_are() {
    if !has("python3") {
        return;
    }
    let ways = [
        ("away", "os.rename('deep', 'gone')"),
        ("away, from further up", "os.chdir(WORK); os.rename('stay', 'gone')"),
        (
            "a link in its place",
            "os.rename('deep', 'gone'); os.symlink('/tmp', 'deep')",
        ),
        (
            "exchanged",
            "os.mkdir('other'); call('renameat2', -100, 'other', -100, 'deep', 2)",
        ),
        (
            "a link to it, replaced",
            "os.mkdir('one'); os.symlink('one', 'fresh'); os.rename('fresh', 'by')",
        ),
        (
            "a link to it, exchanged",
            "os.mkdir('two'); call('renameat2', -100, 'two', -100, 'by', 2)",
        ),
    ];
    for (user, walls) in rounds() {
        let place = Place::new(user);
        let folder = folders(&place, &place.work, "stay/deep/below");
        let chat = folder.join("a.countersign.md");
        place.file(&chat, "mine");
        // An editor may have it open by another path.
        let by = place.work.join("stay/by");
        std::os::unix::fs::symlink("deep", &by).expect("a link");
        for (how, way) in ways {
            let way = way.replace("; ", "\n  ");
            let script = format!("{PRELUDE}\nos.chdir(WORK + '/stay')\ntry:\n  {way}\nexcept OSError:\n  pass\n");
            let output = run(&place, walls, &[], &script);
            assert!(output.status.success(), "{how}, {user:?} {walls:?}: {}", words(&output));
            let text = fs::read_to_string(&chat);
            assert!(
                text.is_ok_and(|text| text == "mine") && !folder.parent().expect("deep").is_symlink(),
                "{how}, {user:?} {walls:?}"
            );
            let leads = fs::read_link(&by);
            assert!(
                leads.is_ok_and(|target| target == Path::new("deep")),
                "{how}, {user:?} {walls:?}"
            );
            let _none = fs::remove_dir(place.work.join("stay/other"));
        }
    }
}

/// What the sandbox has moved away is of no use to anybody.
fn delete_kept(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    for place in said.lines().filter_map(|line| line.split_once(": moved to ")) {
        if let Some(folder) = Path::new(place.1.trim()).parent() {
            let _gone = fs::remove_dir_all(folder);
        }
    }
}

/// A few entries, which all lie under mounts of their own where there are namespaces: what is in folders, too.
#[test]
fn what_lies_in_folders_that_act_later_stays_as_it_is() {
    if !has("python3") {
        return;
    }
    let ways = [
        "open('tasks.json', 'w').write('evil')",
        "open('new.json', 'w').write('evil')",
        "os.makedirs('deep/er')",
        "os.unlink('tasks.json')",
        "os.rename('tasks.json', 'gone')",
        "os.rename('tasks.json', WORK + '/gone')",
        "open('../../fresh', 'w').write('evil'); os.rename('../../fresh', 'tasks.json')",
        "os.rmdir('empty')",
        "os.rename('../' + os.path.basename(os.getcwd()), '../gone')",
        "shutil.rmtree('.')",
        "os.link('tasks.json', WORK + '/hard'); open(WORK + '/hard', 'w').write('evil')",
        "os.truncate('tasks.json', 0)",
        "os.symlink('tasks.json', WORK + '/alias'); open(WORK + '/alias', 'w').write('evil')",
    ];
    for (user, walls) in rounds() {
        let place = Place::new(user);
        let folders: Vec<PathBuf> = [".vscode", "sub/.vscode", "a/b/.claude", "sub/repo/.git", "sub/.husky"]
            .iter()
            .map(|name| folders(&place, &place.work, name))
            .collect();
        for folder in &folders {
            place.file(&folder.join("tasks.json"), "mine");
            place.folder(&folder.join("empty"));
        }
        let before = below(&place.work);
        let mut text = PRELUDE.to_owned();
        for folder in &folders {
            for way in ways {
                text.push_str(&format!(
                    "try:\n    os.chdir({:?})\n    {}\nexcept OSError:\n    pass\nos.chdir(WORK)\n",
                    folder.display().to_string(),
                    way.replace("; ", "\n    ")
                ));
            }
        }
        let output = run(&place, walls, &[], &text);
        assert!(output.status.success(), "{user:?} {walls:?}: {}", words(&output));
        let now = below(&place.work);
        repel(&folders, |folder| {
            let of = |view: &BTreeMap<PathBuf, Vec<u8>>| -> Vec<(PathBuf, Vec<u8>)> {
                let inside = view.iter().filter(|(path, _)| path.starts_with(folder));
                inside.map(|(path, text)| (path.clone(), text.clone())).collect()
            };
            match of(&before) == of(&now) {
                true => Ok(()),
                false => Err(format!("{user:?} {walls:?}: {:?}", of(&now))),
            }
        });
    }
}

/// Names that change while they are judged: what got by is moved away when the command ends, and said.
#[test]
fn a_race_for_a_name_is_lost_when_the_command_ends() {
    if !has("python3") {
        return;
    }
    let race = "
import mmap, threading
sys.setswitchinterval(1e-6)
shared = mmap.mmap(-1, 4096)
shared.write(b'sub/xvscode\\0')
name = ctypes.addressof(ctypes.c_char.from_buffer(shared))
over = False
def flip():
    turn = 0
    while not over:
        shared[4] = b'.x'[turn % 2]
        turn += 1
flipping = threading.Thread(target=flip); flipping.start()
for _ in range(3000):
    libc.mkdir(ctypes.c_void_p(name), 0o755)
    libc.rmdir(b'sub/xvscode')
over = True
flipping.join()
";
    for (user, walls) in rounds() {
        let place = Place::new(user);
        folders(&place, &place.work, "sub");
        let output = run(&place, walls, &[], &format!("{PRELUDE}{race}"));
        assert!(output.status.success(), "{user:?} {walls:?}: {}", words(&output));
        assert!(
            !place.work.join("sub/.vscode").exists(),
            "{user:?} {walls:?}: {}",
            words(&output)
        );
    }
}

#[test]
fn what_is_no_business_of_other_programs_can_be_written() {
    if !has("python3") {
        return;
    }
    let works = "
for folder in ['node_modules/p', 'target/package', '.venv/lib', 'sub/node_modules/q/deep']:
    os.makedirs(folder)
    for name in ['.vscode', '.git', '.github']:
        os.mkdir(folder + '/' + name)
    open(folder + '/AGENTS.md', 'w').write('x')
os.rename('node_modules/p', 'node_modules/r')
shutil.rmtree('node_modules')
for name in ['Makefile', 'package.json', 'build.rs', 'setup.py', '.env', '.gitignore', '.editorconfig', 'AGENTS.txt', 'x.md']:
    open(name, 'w').write('x')
    os.rename(name, name + '.old')
    os.unlink(name + '.old')
os.makedirs('.github/workflows')
open('.github/workflows/ci.yml', 'w').write('x')
import tempfile
with tempfile.TemporaryDirectory() as folder:
    os.mkdir(folder + '/.git')
    open(folder + '/CLAUDE.md', 'w').write('x')
# Folders move with what is in them, and what is there may be asked for once more.
os.rename('there', 'elsewhere')
os.makedirs('elsewhere/.vscode', exist_ok=True)
assert open('elsewhere/.vscode/settings.json').read() == 'mine'
assert open('elsewhere/AGENTS.md').read() == 'mine'
open('/dev/null', 'w').write('x')
print('all of it')
";
    for user in users() {
        let place = Place::new(user);
        let folder = folders(&place, &place.work, "there/.vscode");
        place.file(&folder.join("settings.json"), "mine");
        place.file(&place.work.join("there/AGENTS.md"), "mine");
        let output = run(&place, Walls::All, &[], &format!("{PRELUDE}{works}"));
        let said = words(&output);
        assert!(said.contains("all of it"), "{user:?}: {said}");
        assert!(!said.contains("moved to"), "{user:?}: {said}");
        assert!(place.work.join("elsewhere/AGENTS.md").exists());
    }
}

/// Entries that count in a folder of one name only, and those of a home folder, which the work is here.
#[test]
fn what_acts_later_by_its_place_stays_as_it_is() {
    if !has("python3") {
        return;
    }
    let (within, of_home) = paths_that_act();
    let of_home: Vec<&str> = of_home.iter().map(|path| path.trim_start_matches("~/")).collect();
    let script = format!(
        "{PRELUDE}
def attempt(deed):
    try: deed()
    except OSError: pass
for path in {of_home:?}:
    attempt(lambda: os.makedirs(os.path.dirname(path) or '.', exist_ok=True))
    attempt(lambda: open(path, 'w').write('evil'))
    attempt(lambda: os.makedirs(path + '/deep'))
for at, path in enumerate({within:?}):
    folder, name = path.split('/')
    here = f'in/{{at}}'
    os.makedirs(here + '/moved')
    attempt(lambda: os.makedirs(here + '/' + folder))
    attempt(lambda: open(here + '/' + path, 'w').write('evil'))
    attempt(lambda: os.makedirs(here + '/' + path + '/deep'))
    for to in ['moved', 'linked']:
        os.makedirs(here + '/other/' + to + '/' + name)
        os.makedirs(here + '/' + to, exist_ok=True)
    attempt(lambda: os.rename(here + '/other/moved', here + '/moved/' + folder))
    attempt(lambda: os.symlink('../other/linked', here + '/linked/' + folder))
print('all of it')
"
    );
    for (user, walls) in rounds() {
        let place = Place::new(user);
        let output = run(&place, walls, &[], &script);
        let said = words(&output);
        assert!(said.contains("all of it"), "{user:?} {walls:?}: {said}");
        delete_kept(&output);
        repel(&of_home, |path| match fs::symlink_metadata(place.work.join(path)) {
            Ok(_) => Err(format!("{user:?} {walls:?}: {said}")),
            Err(_) => Ok(()),
        });
        let there = within.iter().enumerate().flat_map(|(at, path)| {
            let here = place.work.join(format!("in/{at}"));
            [
                here.join(path),
                here.join("moved").join(path),
                here.join("linked").join(path),
            ]
        });
        repel(there, |path| match path.exists() {
            true => Err(format!("{user:?} {walls:?}: {said}")),
            false => Ok(()),
        });
    }
}

/// Of a folder of dot files the names say nothing: what counts is that those of the home folder lead there.
#[test]
fn what_the_persons_dot_files_lead_to_stays_as_it_is() {
    if !has("python3") {
        return;
    }
    // Of the home folder, and where it leads in the work.
    let links = [
        (".bashrc", "bashrc"),
        (".profile", "shell/profile"),
        (".gitconfig", "git/config"),
        (".ssh/config", "ssh-config"),
        (".config/nvim", "nvim"),
        (".config/fish/config.fish", "config.fish"),
        ("bin", "programs"),
        // Not there yet.
        (".zshrc", "zshrc"),
    ];
    let targets: Vec<&str> = links.iter().map(|(_, target)| *target).collect();
    let script = format!(
        "{PRELUDE}
def attempt(deed):
    try: deed()
    except OSError: pass
for at, path in enumerate({targets:?}):
    os.chdir(WORK)
    attempt(lambda: open(path, 'a').write('evil'))
    attempt(lambda: open(path + '/init.lua', 'a').write('evil'))
    attempt(lambda: open(path + '/new', 'w').write('evil'))
    attempt(lambda: (open(f'fresh{{at}}', 'w').write('evil'), os.replace(f'fresh{{at}}', path)))
    attempt(lambda: os.unlink(path))
    attempt(lambda: os.rename(path, f'gone{{at}}'))
    attempt(lambda: os.symlink('/tmp', path))
    folder = os.path.dirname(path) or path
    attempt(lambda: (os.rename(folder, f'gone{{at}}'), os.makedirs(folder), open(path, 'w').write('evil')))
open('sub/free', 'w').write('mine')
print('all of it')
"
    );
    for (user, walls) in rounds() {
        let place = Place::new(user);
        let home = folders(&place, place.work.parent().expect("a folder"), "home-of-links");
        for (link, target) in links {
            let (link, target) = (home.join(link), place.work.join(target));
            fs::create_dir_all(link.parent().expect("a folder")).expect("mkdir");
            symlink(&target, link).expect("a link");
        }
        for folder in ["shell", "git", "nvim", "programs", "sub"] {
            folders(&place, &place.work, folder);
        }
        for file in [
            "bashrc",
            "shell/profile",
            "git/config",
            "ssh-config",
            "nvim/init.lua",
            "config.fish",
            "programs/init.lua",
        ] {
            place.file(&place.work.join(file), "mine");
        }
        let before = below(&place.work);
        let output = command(&place, walls, &[], &script).env("HOME", &home).output();
        let output = output.expect("run the sandbox");
        let said = words(&output);
        assert!(said.contains("all of it"), "{user:?} {walls:?}: {said}");
        delete_kept(&output);
        let mut now = below(&place.work);
        assert!(
            now.remove(&place.work.join("sub/free")).is_some(),
            "other files are free"
        );
        now.retain(|path, _| {
            !path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("fresh"))
        });
        assert_eq!(now, before, "{user:?} {walls:?}: {said}");
    }
}

#[test]
fn names_can_be_added_and_taken_out() {
    let place = Place::new(User::Own);
    let options = ["--protected", "Deploy.yml", "--unprotected", "AGENTS.md"];
    let output = place.shell(
        &options,
        "mkdir sub && echo x > sub/AGENTS.md && ! echo x > sub/deploy.yml && mkdir sub/.zed",
    );
    assert!(!output.status.success(), "{}", words(&output));
    assert!(place.work.join("sub/AGENTS.md").exists(), "{}", words(&output));
    assert!(!place.work.join("sub/deploy.yml").exists() && !place.work.join("sub/.zed").exists());
}

/// The names are looked for without looking through a large workspace for long.
#[test]
fn a_large_workspace_does_not_hold_a_command_up() {
    let place = Place::new(User::Own);
    for at in 0..1000 {
        let folder = folders(&place, &place.work, &format!("{}/{}", at / 32, at % 32));
        for file in 0..10 {
            place.file(&folder.join(format!("file{file}")), "x");
        }
    }
    // The least of what the processor does for it: what else the machine does is none of it.
    let least = |options: &[&str]| {
        let run = place.command(options, &["true"]);
        let times = (0..5).map(|_| {
            let mut timed = Command::new("bash");
            timed.args(["-c", "TIMEFORMAT='%3U %3S'; time \"$@\"", "bash"]);
            timed.arg(run.get_program()).args(run.get_args());
            place.dress(&mut timed);
            let output = timed.output().expect("run the sandbox");
            assert!(output.status.success(), "{}", words(&output));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let seconds = said.lines().last().unwrap_or_default().split(' ');
            seconds.map(|part| part.parse::<f64>().expect(&said)).sum::<f64>()
        });
        times.fold(f64::MAX, f64::min)
    };
    let (with, without) = (least(&[]), least(&["--policy", "read-only"]));
    assert!(with < without + 0.25, "with {with} s, without {without} s");
}

/// Makes a folder and those on the way to it, as the user's own.
fn folders(place: &Place, base: &Path, name: &str) -> PathBuf {
    let mut folder = base.to_owned();
    for part in Path::new(name) {
        folder.push(part);
        if !folder.exists() {
            place.folder(&folder);
        }
    }
    folder
}

#[test]
fn the_page_names_each_entry() {
    let page = include_str!("../../../docs/sandbox.md");
    let (within, of_home) = paths_that_act();
    repel(
        names_that_act().into_iter().chain(within).chain(of_home),
        |name| match page.to_lowercase().contains(&format!("`{}`", name.to_lowercase())) {
            true => Ok(()),
            false => Err("docs/sandbox.md does not name it".to_owned()),
        },
    );
}

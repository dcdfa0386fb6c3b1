//! Commands whose words run on another machine or in a container: behind its name they are no programs of this one.

use super::{launchers, names_all_it_reads, plain};
use crate::exec::command::{base_name, shell_text};

/// A program with the sub-commands that run words elsewhere, its options that take a value, and those that take none.
struct Row {
    names: &'static [&'static str],
    /// Empty where it has none.
    sub_commands: &'static [&'static str],
    valued: &'static [&'static str],
    flags: &'static [&'static str],
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row {
        names: &["docker", "nerdctl", "podman"],
        sub_commands: &["exec"],
        valued: &["-e", "-u", "-w", "--detach-keys", "--env", "--env-file", "--user", "--workdir"],
        flags: &["-d", "-i", "-it", "-t", "-ti", "--detach", "--interactive", "--privileged", "--tty"],
    },
    Row {
        names: &["docker", "nerdctl", "podman"],
        sub_commands: &["run"],
        valued: &["-e", "-h", "-l", "-m", "-p", "-u", "-v", "-w", "--add-host", "--cap-add", "--cap-drop", "--cpus", "--device", "--entrypoint",
            "--env", "--env-file", "--gpus", "--hostname", "--label", "--memory", "--mount", "--name", "--net", "--network", "--platform",
            "--publish", "--restart", "--shm-size", "--user", "--volume", "--workdir"],
        flags: &["-d", "-i", "-it", "-t", "-ti", "--detach", "--init", "--interactive", "--privileged", "--read-only", "--rm", "--tty"],
    },
    Row { names: &["adb"], sub_commands: &["shell"], valued: &[], flags: &[] },
];

/// Programs that have the command behind `--`, and the sub-commands by which they run it.
const BEHIND_DASHES: &[(&str, &[&str])] = &[
    ("kubectl", &["exec", "run"]),
    ("lxc", &["exec"]),
    ("oc", &["exec", "run"]),
];

/// Letters of `ssh` that take a value.
const VALUED_OF_SSH: &str = "BbcDEeFIiJLlmOopPQRSWw";

/// What `docker compose` does that starts nothing of what the folder says.
const READING_OF_COMPOSE: &[&str] = &["images", "logs", "ls", "port", "ps", "top", "version"];

/// The commands of a composition, each without what runs elsewhere; none where nothing does, or where one of them may run what
/// another puts out.
pub(super) fn local_commands(argv: &[String]) -> Option<Vec<Vec<String>>> {
    let commands = plain::commands(argv)?;
    let mut local: Vec<Vec<String>> = Vec::new();
    let mut has_remote = false;
    for command in commands.iter().map(|command| &command.words) {
        let kept = local_words(command);
        let (program, arguments) = command.split_first()?;
        has_remote |= kept < command.len();
        let is_folder = matches!(program.as_str(), "cd" | "chdir" | "popd" | "pushd");
        if kept == command.len() && (is_folder || !names_all_it_reads(program, arguments)) {
            return None;
        }
        local.push(command[..kept].to_vec());
    }
    if shell_text(argv).is_some() {
        local.push(vec![argv.first()?.clone()]);
    }
    has_remote.then_some(local)
}

/// How many words of a command are read here.
fn local_words(command: &[String]) -> usize {
    let all = command.len();
    let Some((program, arguments)) = command.split_first() else {
        return all;
    };
    let name = base_name(program);
    let sub_command = arguments.first().map_or("", String::as_str);
    let is_compose = sub_command == "compose" && ["docker", "nerdctl", "podman"].contains(&name);
    if is_compose
        && arguments
            .get(1)
            .is_some_and(|word| READING_OF_COMPOSE.contains(&word.as_str()))
    {
        return 1;
    }
    if name == "ssh" {
        return 1 + local_of_ssh(arguments);
    }
    if BEHIND_DASHES
        .iter()
        .any(|(known, words)| *known == name && words.contains(&sub_command))
    {
        let dashes = arguments.iter().position(|word| word == "--");
        return dashes.map_or(all, |at| at + 1);
    }
    let is_of = |row: &&Row| row.names.contains(&name) && row.sub_commands.contains(&sub_command);
    let Some(row) = ROWS.iter().find(is_of) else {
        return all;
    };
    if name == "adb" {
        return 2;
    }
    let mut at = 1;
    while let Some(word) = arguments.get(at) {
        let option = word.split('=').next().unwrap_or(word);
        match word.starts_with('-') {
            // The container, or what it is made of.
            false => return at + 2,
            true if row.flags.contains(&option) => at += 1,
            true if row.valued.contains(&option) => at += if word.contains('=') { 1 } else { 2 },
            true => return all,
        }
    }
    all
}

/// How many arguments of `ssh` are its own: its options, the host, and options behind that.
fn local_of_ssh(arguments: &[String]) -> usize {
    let mut at = 0;
    let mut has_host = false;
    while let Some(word) = arguments.get(at) {
        match word.strip_prefix('-') {
            Some("-") if has_host => return at,
            Some("") | None if has_host => return at,
            Some("") | None => {
                // A launcher in the place of a host is somebody's mistake at best.
                if launchers::is_launcher(word) {
                    return arguments.len();
                }
                has_host = true;
                at += 1;
            }
            Some(letters) => {
                let valued = letters.find(|letter: char| VALUED_OF_SSH.contains(letter));
                at += if valued.is_some_and(|valued| valued + 1 == letters.len()) {
                    2
                } else {
                    1
                };
            }
        }
    }
    arguments.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_here() {
        // What runs elsewhere stands behind the bar.
        for command in [
            "ssh h | ./x.sh",
            "ssh -p 22 -vi key h | bash x.sh",
            "ssh h -oProxyCommand=./x | ls",
            "ssh h -t | ls -l",
            "ssh h",
            "ssh -F x.conf h | ls",
            "docker exec -it c | ./x.sh",
            "docker exec -w /x --user=u c | sh x.sh",
            "docker run --rm -v a:b img | ./x",
            "docker run --unknown img ./x",
            "docker build .",
            "docker | compose ps",
            "docker compose up",
            "docker compose -f x ps",
            "kubectl exec pod | -- ./x.sh",
            "kubectl exec pod ./x.sh",
            "kubectl get pods",
            "adb shell | ls",
            "git push",
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let bar = words.iter().position(|word| word == "|");
            let plain: Vec<String> = words.iter().filter(|word| *word != "|").cloned().collect();
            assert_eq!(local_words(&plain), bar.unwrap_or(plain.len()), "{command}");
        }
    }

    #[test]
    fn where_nothing_else_could_run_it() {
        for (text, expected) in [
            ("ssh h ./x.sh", true),
            ("ssh h ./x.sh 2>&1 | tail -n 3", true),
            ("ssh h 'cd app && ./x.sh'", true),
            ("ssh h ls | bash", false),
            ("cd sub && ssh h ./x.sh", false),
            ("ssh h ls; ./x.sh", false),
            ("ssh h < x.sh", false),
            ("git push", false),
        ] {
            let argv = ["bash", "-c", text].map(str::to_owned);
            assert_eq!(local_commands(&argv).is_some(), expected, "{text}");
        }
    }
}

//! Whether a command that the model wants to run is a patch in disguise.
//!
//! Only what is beyond doubt a call of `apply_patch` and nothing else counts; anything more, such as a pipe, a second
//! command or a word that the shell would change, is an ordinary command.

use super::parse::{here_delimiter, starts_like_a_patch};
use std::path::{Path, PathBuf};
use tree_sitter::{Node, Parser};

/// What a command turns out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// A call of `apply_patch` with this text. `workdir` is the folder that the script changes to first, as written:
    /// absolute, or relative to where the command would run.
    Patch { text: String, workdir: Option<PathBuf> },
    /// The command itself is a patch text: to be refused with the advice to call `apply_patch`.
    BarePatch,
    /// An ordinary command.
    NotAPatch,
}

/// What to tell the model when the command itself is a patch text.
pub const BARE_PATCH_ADVICE: &str = "the command is a patch text, which no shell can run; call apply_patch with it";

/// Looks at the words of a command. `home` is the person's home folder, for `cd ~`; without it such a command is an
/// ordinary one.
pub fn recognise(argv: &[String], home: Option<&Path>) -> Recognised {
    match argv {
        [only] if starts_like_a_patch(only) => Recognised::BarePatch,
        [program, text] if is_apply_patch(program) => Recognised::Patch {
            text: text.clone(),
            workdir: None,
        },
        [shell, flag, script] if runs_script(shell, flag) => {
            if starts_like_a_patch(script) {
                return Recognised::BarePatch;
            }
            in_script(script, home).unwrap_or(Recognised::NotAPatch)
        }
        _ => Recognised::NotAPatch,
    }
}

fn is_apply_patch(word: &str) -> bool {
    matches!(word, "apply_patch" | "applypatch")
}

/// Whether `shell flag <script>` runs the script.
fn runs_script(shell: &str, flag: &str) -> bool {
    let name = shell.rsplit(['/', '\\']).next().unwrap_or(shell);
    match name.strip_suffix(".exe").unwrap_or(name) {
        "bash" | "zsh" | "sh" => matches!(flag, "-c" | "-lc"),
        "pwsh" | "powershell" => flag.eq_ignore_ascii_case("-command") || flag.eq_ignore_ascii_case("-c"),
        "cmd" => flag.eq_ignore_ascii_case("/c"),
        _ => false,
    }
}

fn in_script(script: &str, home: Option<&Path>) -> Option<Recognised> {
    let script = script.trim_start();
    match split_here_document(script) {
        Some(here) => {
            // The body is data: only the command around it is read as shell.
            let around = format!("{}\n{}\n", here.command, here.delimiter);
            let (workdir, argument) = call(&around, home)?;
            argument.is_none().then_some(Recognised::Patch {
                text: here.body,
                workdir,
            })
        }
        None => {
            let (workdir, argument) = call(script, home)?;
            Some(Recognised::Patch {
                text: argument?,
                workdir,
            })
        }
    }
}

/// A script that ends with a here-document.
struct Split<'a> {
    command: &'a str,
    delimiter: String,
    body: String,
}

/// Takes a script apart whose first line with `<<` ends there and whose here-document is the rest.
fn split_here_document(script: &str) -> Option<Split<'_>> {
    let operator = script.find("<<")?;
    let line_end = operator + script[operator..].find('\n')?;
    let command = script[..line_end].trim_end_matches('\r');
    let here = here_delimiter(&command[operator + 2..])?;
    let mut body = String::new();
    let mut rest = script[line_end + 1..].split_inclusive('\n');
    for line in rest.by_ref() {
        let line = if here.strip_tabs {
            line.trim_start_matches('\t')
        } else {
            line
        };
        if line.trim_end_matches(['\r', '\n']) == here.delimiter {
            let nothing_follows = rest.all(|line| line.trim().is_empty());
            return nothing_follows.then_some(Split {
                command,
                delimiter: here.delimiter,
                body,
            });
        }
        body.push_str(line);
    }
    None
}

/// The folder and the argument of a script that is one call of `apply_patch`, perhaps after one `cd`, and no more.
fn call(script: &str, home: Option<&Path>) -> Option<(Option<PathBuf>, Option<String>)> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(script, None)?;
    if tree.root_node().has_error() {
        return None;
    }
    let mut statement = only_child(tree.root_node())?;
    if statement.kind() == "redirected_statement" {
        let redirect = statement.child_by_field_name("redirect")?;
        if redirect.kind() != "heredoc_redirect" || statement.named_child_count() != 2 || !is_plain(redirect) {
            return None;
        }
        statement = statement.child_by_field_name("body")?;
    }
    let mut workdir = None;
    if statement.kind() == "list" {
        if statement.child_count() != 3 || statement.child(1)?.kind() != "&&" {
            return None;
        }
        let cd = words(statement.child(0)?)?;
        let [name, folder] = &cd[..] else { return None };
        if text(*name, script) != "cd" {
            return None;
        }
        workdir = Some(folder_of(*folder, script, home)?);
        statement = statement.child(2)?;
    }
    let words = words(statement)?;
    let (name, arguments) = words.split_first()?;
    if !is_apply_patch(text(*name, script)) {
        return None;
    }
    match arguments {
        [] => Some((workdir, None)),
        // An unquoted word cannot be a patch.
        [argument] if argument.kind() != "word" => Some((workdir, Some(word_value(*argument, script)?))),
        _ => None,
    }
}

/// A here-document with nothing after its delimiter on the first line.
fn is_plain(redirect: Node<'_>) -> bool {
    let mut cursor = redirect.walk();
    redirect
        .named_children(&mut cursor)
        .all(|child| matches!(child.kind(), "heredoc_start" | "heredoc_body" | "heredoc_end"))
}

/// The one child of a node, which has no other, not even an unnamed one such as `;` or `&`.
fn only_child(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    let mut children = node
        .children(&mut cursor)
        .filter(|child| child.end_byte() > child.start_byte());
    let child = children.next()?;
    children.next().is_none().then_some(child)
}

/// Name and arguments of a simple command without assignments or redirections.
fn words(command: Node<'_>) -> Option<Vec<Node<'_>>> {
    if command.kind() != "command" {
        return None;
    }
    let mut cursor = command.walk();
    command
        .children(&mut cursor)
        .map(|child| match child.kind() {
            "command_name" => only_child(child).filter(|name| name.kind() == "word"),
            "word" | "raw_string" | "string" | "concatenation" => Some(child),
            _ => None,
        })
        .collect()
}

fn text<'a>(node: Node<'_>, script: &'a str) -> &'a str {
    &script[node.byte_range()]
}

fn folder_of(word: Node<'_>, script: &str, home: Option<&Path>) -> Option<PathBuf> {
    if word.kind() == "word"
        && let Some(below_home) = text(word, script).strip_prefix('~')
    {
        let below_home = match below_home {
            "" => "",
            // `~name` is another person's home.
            other => other.strip_prefix('/')?,
        };
        return Some(home?.join(unescape(below_home, |_| true)?.trim_start_matches('/')));
    }
    let value = word_value(word, script)?;
    // `cd -` and options are not folders.
    (!value.is_empty() && !value.starts_with('-')).then(|| PathBuf::from(value))
}

/// What the shell would make of a word, if that can be told without running it.
fn word_value(word: Node<'_>, script: &str) -> Option<String> {
    let written = text(word, script);
    match word.kind() {
        "word" => unescape(written, |_| true),
        "raw_string" => Some(written.strip_prefix('\'')?.strip_suffix('\'')?.to_owned()),
        "string" => {
            let mut cursor = word.walk();
            if !word
                .named_children(&mut cursor)
                .all(|part| part.kind() == "string_content")
            {
                return None;
            }
            let inside = written.strip_prefix('"')?.strip_suffix('"')?;
            if inside.contains(['$', '`']) {
                return None;
            }
            unescape(inside, |c| matches!(c, '"' | '\\' | '$' | '`'))
        }
        _ => None,
    }
}

/// Takes the backslashes out of a word: those in front of a character that `escapes`. Nothing if the shell would
/// replace parts of the word.
fn unescape(written: &str, escapes: impl Fn(char) -> bool) -> Option<String> {
    let quoted = !escapes('a');
    let (mut value, mut chars) = (String::new(), written.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                // A backslash at the end of a line joins the lines.
                '\n' => {}
                next if escapes(next) => value.push(next),
                next => value.extend(['\\', next]),
            },
            '*' | '?' | '[' | '{' | '$' | '`' if !quoted => return None,
            c => value.push(c),
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+$x `y` \"z\" 'q' <<E\n*** End Patch\n";

    fn words(words: &[&str]) -> Recognised {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        recognise(&words, Some(Path::new("/home/me")))
    }

    fn patch(workdir: Option<&str>) -> Recognised {
        Recognised::Patch {
            text: PATCH.into(),
            workdir: workdir.map(PathBuf::from),
        }
    }

    #[test]
    fn recognises_calls() {
        for name in ["apply_patch", "applypatch"] {
            assert_eq!(words(&[name, PATCH]), patch(None));
        }
        let rows: &[(&str, Option<&str>)] = &[
            ("apply_patch <<'EOF'\n{}EOF\n", None),
            ("applypatch << EOF\n{}EOF", None),
            ("  \n apply_patch <<\"E.O-F\"\n{}E.O-F\n\n", None),
            ("apply_patch <<\\EOF\n{}EOF\n", None),
            ("cd dir && apply_patch <<'EOF'\n{}EOF\n", Some("dir")),
            ("cd /a/b && apply_patch <<'EOF'\n{}EOF\n", Some("/a/b")),
            ("cd 'a b' && apply_patch <<'EOF'\n{}EOF\n", Some("a b")),
            ("cd \"a \\\" b\" && apply_patch <<'EOF'\n{}EOF\n", Some("a \" b")),
            ("cd a\\ b && apply_patch <<'EOF'\n{}EOF\n", Some("a b")),
            ("cd ~ && apply_patch <<'EOF'\n{}EOF\n", Some("/home/me")),
            ("cd ~/x && apply_patch <<'EOF'\n{}EOF\n", Some("/home/me/x")),
            ("cd '~' && apply_patch <<'EOF'\n{}EOF\n", Some("~")),
        ];
        for (script, workdir) in rows {
            let script = script.replace("{}", PATCH);
            for shell in [["bash", "-lc"], ["/bin/sh", "-c"], ["zsh", "-lc"]] {
                assert_eq!(words(&[shell[0], shell[1], &script]), patch(*workdir), "{script}");
            }
        }
        let tabbed = format!(
            "apply_patch <<-EOF\n{}\tEOF\n",
            PATCH.lines().map(|line| format!("\t{line}\n")).collect::<String>()
        );
        assert_eq!(words(&["bash", "-c", &tabbed]), patch(None));
        let quoted = format!("apply_patch '{}'", PATCH.replace('\'', ""));
        assert_eq!(
            words(&["bash", "-c", &quoted]),
            Recognised::Patch {
                text: PATCH.replace('\'', ""),
                workdir: None
            }
        );
    }

    /// Shows S-136.
    #[test]
    fn anything_more_is_an_ordinary_command() {
        let rows = [
            "apply_patch <<'EOF' | cat\n{}EOF\n",
            "apply_patch <<'EOF' && ls\n{}EOF\n",
            "apply_patch <<'EOF' || ls\n{}EOF\n",
            "apply_patch <<'EOF'; ls\n{}EOF\n",
            "apply_patch <<'EOF' > out\n{}EOF\n",
            "apply_patch <<'EOF' &\n{}EOF\n",
            "apply_patch <<'EOF'\n{}EOF\nls\n",
            "apply_patch extra <<'EOF'\n{}EOF\n",
            "ls; apply_patch <<'EOF'\n{}EOF\n",
            "cd a; apply_patch <<'EOF'\n{}EOF\n",
            "cd a || apply_patch <<'EOF'\n{}EOF\n",
            "cd a\napply_patch <<'EOF'\n{}EOF\n",
            "cd a && cd b && apply_patch <<'EOF'\n{}EOF\n",
            "cd a b && apply_patch <<'EOF'\n{}EOF\n",
            "cd && apply_patch <<'EOF'\n{}EOF\n",
            "cd - && apply_patch <<'EOF'\n{}EOF\n",
            "cd -P a && apply_patch <<'EOF'\n{}EOF\n",
            "cd $HOME && apply_patch <<'EOF'\n{}EOF\n",
            "cd \"$HOME\" && apply_patch <<'EOF'\n{}EOF\n",
            "cd a* && apply_patch <<'EOF'\n{}EOF\n",
            "cd {a,b} && apply_patch <<'EOF'\n{}EOF\n",
            "cd ~other && apply_patch <<'EOF'\n{}EOF\n",
            "cd $(pwd) && apply_patch <<'EOF'\n{}EOF\n",
            "X=1 apply_patch <<'EOF'\n{}EOF\n",
            "! apply_patch <<'EOF'\n{}EOF\n",
            "(apply_patch <<'EOF'\n{}EOF\n)",
            "sudo apply_patch <<'EOF'\n{}EOF\n",
            "cat <<'EOF'\n{}EOF\n",
            "apply_patch <<'EOF'\n{}",
            "apply_patch <<'EOF'\n{}FOE\n",
            "apply_patch <<< 'x'\n",
            "apply_patch \"$(cat x)\"",
            "apply_patch < file",
            "apply_patch",
            "apply_patch file",
            "apply_patch 'unclosed",
            "'",
            "",
        ];
        for script in rows {
            let script = script.replace("{}", PATCH);
            assert_eq!(words(&["bash", "-lc", &script]), Recognised::NotAPatch, "{script}");
        }
        for row in [
            &["ls"][..],
            &[],
            &["apply_patch"],
            &["apply_patch", "a", "b"],
            &["python", "-c", PATCH],
            &["bash", "-x", PATCH],
        ] {
            assert_eq!(words(row), Recognised::NotAPatch, "{row:?}");
        }
        let home = [
            "bash".to_owned(),
            "-c".to_owned(),
            format!("cd ~ && apply_patch <<'EOF'\n{PATCH}EOF\n"),
        ];
        assert_eq!(recognise(&home, None), Recognised::NotAPatch);
    }

    const DIFF: &str = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+$y\n";

    /// A unified diff is as good a body as the grammar's; given to other programs it stays theirs.
    #[test]
    fn a_diff_is_a_patch_too() {
        let diff = |workdir: Option<&str>| Recognised::Patch {
            text: DIFF.into(),
            workdir: workdir.map(PathBuf::from),
        };
        assert_eq!(words(&["apply_patch", DIFF]), diff(None));
        let script = |script: &str| words(&["bash", "-lc", &script.replace("{}", DIFF)]);
        assert_eq!(script("apply_patch <<'EOF'\n{}EOF\n"), diff(None));
        assert_eq!(script("cd d && apply_patch <<'EOF'\n{}EOF\n"), diff(Some("d")));
        for body in [DIFF, "diff --git a/f b/f\nnew file mode 100644\n"] {
            assert_eq!(words(&[body]), Recognised::BarePatch);
            assert_eq!(words(&["sh", "-c", body]), Recognised::BarePatch);
        }
        for other in [
            "git apply <<'EOF'\n{}EOF\n",
            "patch -p1 <<'EOF'\n{}EOF\n",
            "diff --git a b",
            "diff a/f b/f\necho --- a",
        ] {
            assert_eq!(script(other), Recognised::NotAPatch, "{other}");
        }
    }

    #[test]
    fn a_patch_body_is_no_command() {
        for row in [
            &[PATCH][..],
            &["bash", "-lc", PATCH],
            &["sh", "-c", "\n*** Begin Patch\nrubbish"],
        ] {
            assert_eq!(words(row), Recognised::BarePatch, "{row:?}");
        }
    }
}

//! What an entry of a profile is about: a path, a pattern, or a name for a place that is known only later.

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// A place, by its path or by what it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// `:root`: everything.
    Root,
    /// `:minimal`: what programs of the system need to start.
    Minimal,
    /// `:workspace_roots`, or a place below each of them.
    Workspace(PathBuf),
    /// `:tmpdir`: the folder that `$TMPDIR` names.
    Tmpdir,
    /// `:slash_tmp`: `/tmp`.
    SlashTmp,
    /// `~/…`, below the person's home folder.
    Home(PathBuf),
    /// Absolute.
    Path(PathBuf),
    /// What fits a pattern below a place. Links are not followed.
    Glob { base: Box<Subject>, pattern: String },
}

/// Names that stand for places.
pub(super) const SPECIAL: [&str; 6] = [
    ":root",
    ":minimal",
    ":workspace_roots",
    ":project_roots",
    ":tmpdir",
    ":slash_tmp",
];

impl Subject {
    /// Reads what stands in a file. A pattern without a place is one below the workspace's folders.
    ///
    /// # Errors
    /// It names nothing; the words end a sentence that begins with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(symbol) = text.strip_prefix(':') {
            let (name, below) = symbol.split_once('/').unwrap_or((symbol, ""));
            let below = below_of(below)?;
            return match name {
                "workspace_roots" | "project_roots" => Ok(glob_or(Self::Workspace, &below)),
                "root" | "minimal" | "tmpdir" | "slash_tmp" if !below.as_os_str().is_empty() => Err(format!(
                    "has a part after :{name}, which only :workspace_roots can have"
                )),
                "root" => Ok(Self::Root),
                "minimal" => Ok(Self::Minimal),
                "tmpdir" => Ok(Self::Tmpdir),
                "slash_tmp" => Ok(Self::SlashTmp),
                _ => {
                    let near = super::nearest(text, SPECIAL.into_iter());
                    let meant = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
                    Err(format!("is no place that is known{meant}"))
                }
            };
        }
        if text == "~" {
            return Ok(Self::Home(PathBuf::new()));
        }
        if let Some(below) = text.strip_prefix("~/") {
            return Ok(glob_or(Self::Home, &below_of(below)?));
        }
        if let Some(below) = text.strip_prefix('/') {
            let below = below_of(below)?;
            if below.as_os_str().is_empty() {
                return Ok(Self::Root);
            }
            return Ok(glob_or(|path| Self::Path(Path::new("/").join(path)), &below));
        }
        if text.contains(is_wild) {
            return Ok(glob_or(Self::Workspace, &below_of(text)?));
        }
        Err("is no absolute path, nothing below ~, no pattern, and none of :root, :minimal, :workspace_roots, :tmpdir and \
             :slash_tmp"
            .to_owned())
    }

    /// The same place with something below it.
    pub(super) fn join(&self, below: &str) -> Result<Self, String> {
        if below == "." || below.is_empty() {
            return Ok(self.clone());
        }
        let joined = format!("{self}/{below}");
        Self::parse(
            joined
                .strip_prefix('/')
                .map_or(joined.as_str(), |_| joined.trim_start_matches("//")),
        )
    }
}

fn is_wild(letter: char) -> bool {
    matches!(letter, '*' | '?' | '[' | '{')
}

/// A relative path without `.`; one that climbs is refused.
fn below_of(text: &str) -> Result<PathBuf, String> {
    let mut path = PathBuf::new();
    for part in Path::new(text).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            Component::ParentDir => return Err("climbs with .., which no entry can".to_owned()),
        }
    }
    Ok(path)
}

/// A place below a base, or a pattern from its first wild part on.
fn glob_or(base: impl Fn(PathBuf) -> Subject, below: &Path) -> Subject {
    let is_plain = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(is_wild);
    let fixed: PathBuf = below.components().take_while(is_plain).collect();
    match below.strip_prefix(&fixed) {
        Ok(rest) if !rest.as_os_str().is_empty() => Subject::Glob {
            base: Box::new(match base(fixed) {
                Subject::Path(path) if path == Path::new("/") => Subject::Root,
                other => other,
            }),
            pattern: rest.to_string_lossy().into_owned(),
        },
        _ => base(fixed),
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = |f: &mut fmt::Formatter<'_>, name: &str, path: &Path| match path.as_os_str().is_empty() {
            true => f.write_str(name),
            false => write!(f, "{name}/{}", path.display()),
        };
        match self {
            Self::Root => f.write_str(":root"),
            Self::Minimal => f.write_str(":minimal"),
            Self::Workspace(path) => below(f, ":workspace_roots", path),
            Self::Tmpdir => f.write_str(":tmpdir"),
            Self::SlashTmp => f.write_str(":slash_tmp"),
            Self::Home(path) => below(f, "~", path),
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Glob { base, pattern } => match base.as_ref() {
                Self::Root => write!(f, "/{pattern}"),
                base => write!(f, "{base}/{pattern}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_file_and_what_it_means() {
        let glob = |base: Subject, pattern: &str| Subject::Glob {
            base: Box::new(base),
            pattern: pattern.to_owned(),
        };
        for (text, expected, shown) in [
            (":root", Subject::Root, ":root"),
            ("/", Subject::Root, ":root"),
            (":minimal", Subject::Minimal, ":minimal"),
            (":workspace_roots", Subject::Workspace("".into()), ":workspace_roots"),
            (":project_roots", Subject::Workspace("".into()), ":workspace_roots"),
            (
                ":workspace_roots/a/./b/",
                Subject::Workspace("a/b".into()),
                ":workspace_roots/a/b",
            ),
            (":tmpdir", Subject::Tmpdir, ":tmpdir"),
            (":slash_tmp", Subject::SlashTmp, ":slash_tmp"),
            ("~", Subject::Home("".into()), "~"),
            ("~/.ssh", Subject::Home(".ssh".into()), "~/.ssh"),
            ("/etc//x/", Subject::Path("/etc/x".into()), "/etc/x"),
            (
                "**/.env",
                glob(Subject::Workspace("".into()), "**/.env"),
                ":workspace_roots/**/.env",
            ),
            ("~/k/*.pem", glob(Subject::Home("k".into()), "*.pem"), "~/k/*.pem"),
            ("/a/{b,c}/d", glob(Subject::Path("/a".into()), "{b,c}/d"), "/a/{b,c}/d"),
            ("/**/secret", glob(Subject::Root, "**/secret"), "/**/secret"),
            (
                ":workspace_roots/x/*.key",
                glob(Subject::Workspace("x".into()), "*.key"),
                ":workspace_roots/x/*.key",
            ),
        ] {
            let subject = Subject::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(subject, expected, "{text}");
            assert_eq!(subject.to_string(), shown, "{text}");
            assert_eq!(Subject::parse(shown).as_ref(), Ok(&expected), "{shown}");
        }
        for (text, why) in [
            ("src", "no absolute path"),
            ("", "no absolute path"),
            ("./x", "no absolute path"),
            ("/a/../b", "climbs"),
            (":workspace_roots/../x", "climbs"),
            (":tmpdir/x", "only :workspace_roots"),
            (":workspace_root", "did you mean \":workspace_roots\"?"),
            (":nothing", "no place that is known"),
        ] {
            assert!(
                matches!(Subject::parse(text), Err(words) if words.contains(why)),
                "{text}"
            );
        }
        let roots = Subject::parse(":workspace_roots").expect("a place");
        assert_eq!(roots.join("."), Ok(roots.clone()));
        assert_eq!(roots.join("docs"), Subject::parse(":workspace_roots/docs"));
    }
}

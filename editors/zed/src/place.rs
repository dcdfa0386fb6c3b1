//! Where a program lies, by the words of its path: an extension cannot look at the disk.

use std::path::{Component, Path};

/// Folders of programs that a project brings along.
const OF_PROJECTS: &[&str] = &["node_modules/.bin", ".venv/bin", "venv/bin"];
/// Folders in which commands of an agent write.
const TEMPORARY: &[&str] = &["/dev/shm", "/private/tmp", "/private/var/tmp", "/tmp", "/var/tmp"];

/// Whether a program is one that a project could have put there, or may be. A worktree around the home folder is no project.
pub fn is_of_project(program: &str, root: &str, home: Option<&str>) -> bool {
    let (program, root) = (Path::new(program), Path::new(root));
    let is_plain = program.is_absolute() && !program.components().any(|part| part == Component::ParentDir);
    let is_home = home.is_some_and(|home| Path::new(home).starts_with(root));
    let folder = program.parent().unwrap_or(program);
    let is_brought = OF_PROJECTS.iter().any(|end| folder.ends_with(end));
    let is_temporary = TEMPORARY.iter().any(|place| program.starts_with(place));
    !is_plain || is_brought || is_temporary || program.starts_with(root) && !is_home
}

#[cfg(test)]
mod tests {
    use super::is_of_project;

    #[test]
    fn programs_by_table() {
        for (program, root, expected) in [
            ("/usr/bin/countersign", "/home/p/work", false),
            ("/home/p/.cargo/bin/countersign", "/home/p/work", false),
            ("/home/p/.cargo/bin/countersign", "/home/p", false),
            ("/usr/bin/countersign", "/", false),
            ("/home/p/work/bin/countersign", "/home/p/work", true),
            ("/home/p/x/../work/countersign", "/home/p/work", true),
            ("/home/p/other/node_modules/.bin/countersign", "/home/p/work", true),
            ("/home/p/other/.venv/bin/countersign", "/home/p", true),
            ("/tmp/countersign", "/home/p/work", true),
            ("/private/tmp/x/countersign", "/home/p/work", true),
            ("./countersign", "/home/p/work", true),
            ("countersign", "/home/p/work", true),
            ("/home/p/work-tools/countersign", "/home/p/work", false),
        ] {
            assert_eq!(is_of_project(program, root, Some("/home/p")), expected, "{program} {root}");
        }
    }
}

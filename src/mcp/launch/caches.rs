//! Where launchers such as `npx` and `uvx` keep the packages that they run.
//!
//! A person may let commands of the agent write those folders, since package managers in the sandbox need them. What commands
//! can write no program of our own runs, so then its packages are kept in a private folder.

use crate::exec::{git, program};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a default folder is counted from.
#[derive(Clone, Copy)]
enum Base {
    Home,
    Cache,
    Data,
}

/// The variable that names a launcher's folder, and the folder where it is not set.
const FOLDERS: &[(&str, Base, &str)] = &[
    ("BUN_INSTALL_CACHE_DIR", Base::Home, ".bun/install/cache"),
    ("COREPACK_HOME", Base::Cache, "node/corepack"),
    ("DENO_DIR", Base::Cache, "deno"),
    ("PIPX_HOME", Base::Data, "pipx"),
    ("UV_CACHE_DIR", Base::Cache, "uv"),
    ("UV_PYTHON_INSTALL_DIR", Base::Data, "uv/python"),
    ("UV_TOOL_DIR", Base::Data, "uv/tools"),
    ("YARN_CACHE_FOLDER", Base::Cache, "yarn"),
    ("npm_config_cache", Base::Home, ".npm"),
    ("npm_config_store_dir", Base::Data, "pnpm/store"),
];

/// The variables to set for a program with the environment `its`, so that no launcher runs what commands could have put into
/// its folder. What the person has set is theirs. `env` is the server's environment, `home` the home folder of Countersign.
pub(super) fn moved(
    its: &BTreeMap<String, String>,
    env: &BTreeMap<String, String>,
    home: &Path,
) -> Vec<(&'static str, String)> {
    let unset = FOLDERS.iter().filter(|(variable, ..)| !its.contains_key(*variable));
    let open = unset.filter(|(_, base, below)| {
        let folder = folder_of(*base, its).map(|base| base.join(below));
        folder.is_some_and(|folder| program::is_open(&folder, env))
    });
    let moved = open.map(|(variable, ..)| (*variable, home.join("private/packages").join(variable.to_lowercase())));
    // A place that is no better is not worth a second copy.
    let better = moved.filter(|(_, folder)| !program::is_open(folder, env));
    let made = better.filter(|(_, folder)| {
        let made = git::make_private(folder);
        made.inspect_err(|error| tracing::warn!(%error, "no private folder for packages"))
            .is_ok()
    });
    made.map(|(variable, folder)| (variable, folder.to_string_lossy().into_owned()))
        .collect()
}

/// The variable that names the folder in which Python keeps what it has made of code.
pub(super) const OF_PYTHON: &str = "PYTHONPYCACHEPREFIX";

/// A folder for that of a program whose code commands can write: beside the code they could put what Python takes for its own.
pub(super) fn of_python(env: &BTreeMap<String, String>, home: &Path) -> Option<String> {
    let folder = home.join("private/packages/python");
    let is_own = !program::is_open(&folder, env) && git::make_private(&folder).is_ok();
    is_own.then(|| folder.to_string_lossy().into_owned())
}

fn folder_of(base: Base, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let absolute = |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = absolute("HOME")?;
    match base {
        Base::Home => Some(home),
        Base::Cache if cfg!(target_os = "macos") => Some(home.join("Library/Caches")),
        Base::Cache => absolute("XDG_CACHE_HOME").or_else(|| Some(home.join(".cache"))),
        Base::Data => absolute("XDG_DATA_HOME").or_else(|| Some(home.join(".local/share"))),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn packages_that_commands_could_have_written_are_not_run() {
        let dir = tempfile::Builder::new().prefix("caches").tempdir_in("/var/tmp");
        let dir = dir.expect("a folder");
        let base = std::fs::canonicalize(dir.path()).expect("canonical");
        let text = |path: PathBuf| path.display().to_string();
        let env = BTreeMap::from([("HOME".to_owned(), text(base.join("ada")))]);
        let home = base.join("ada/.countersign");
        std::fs::create_dir_all(&home).expect("mkdir");
        assert_eq!(moved(&env, &env, &home), []);
        program::guard(&base.join("ada/.npm"));
        program::guard(&base.join("ada/.cache"));
        let found = moved(&env, &env, &home);
        let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
        let expected = [
            "COREPACK_HOME",
            "DENO_DIR",
            "UV_CACHE_DIR",
            "YARN_CACHE_FOLDER",
            "npm_config_cache",
        ];
        assert_eq!(names, expected);
        for (name, folder) in &found {
            assert!(Path::new(folder).starts_with(home.join("private")), "{name}: {folder}");
            assert!(Path::new(folder).is_dir(), "{name}: {folder}");
        }
        // What the person has named, and what leads elsewhere.
        let mut own = env.clone();
        own.insert("npm_config_cache".to_owned(), text(base.join("x")));
        own.insert("XDG_CACHE_HOME".to_owned(), text(base.join("cache")));
        assert_eq!(moved(&own, &env, &home), []);
        // A place that commands can write as well is none.
        program::guard(&home);
        assert_eq!(moved(&env, &env, &home), []);
    }
}

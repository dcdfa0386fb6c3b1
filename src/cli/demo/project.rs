//! The project of the demonstration: a small shop in shell script with two faults, its test, and what the files must
//! be once both are mended. One file is open in the editor and has a line that is not saved; the other is closed.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

pub(super) const OPEN: &str = "price.sh";
pub(super) const CLOSED: &str = "cart.sh";
pub(super) const TEST: &str = "test.sh";

/// The line of the open file that the person has typed and not saved.
pub(super) const UNSAVED: &str = "# TODO: ask Ada about the reduced rate";

/// Longest time that the test may take.
const TEST_LIMIT: Duration = Duration::from_secs(20);

const PRICE_HEAD: &str = "# Prices are whole numbers of cents.\n";
const PRICE_TAIL: &str = "
# with_tax CENTS: the price with 19 % tax, rounded to the nearest cent.
with_tax() {
    echo $(($1 + $1 * 19 / 100))
}
";
/// The fault in the open file, and its remedy: the fraction of a cent is cut off.
pub(super) const PRICE_FIX: (&str, &str) = (
    "    echo $(($1 + $1 * 19 / 100))\n",
    "    echo $(($1 + ($1 * 19 + 50) / 100))\n",
);

const CART: &str = r#". ./price.sh

# total CENTS...: what all the items cost together, with tax.
total() {
    sum=0
    while [ $# -gt 1 ]; do
        sum=$((sum + $1))
        shift
    done
    with_tax "$sum"
}
"#;
/// The fault in the closed file, and its remedy: the last item is never counted.
pub(super) const CART_FIX: (&str, &str) = ("    while [ $# -gt 1 ]; do\n", "    while [ $# -gt 0 ]; do\n");

const TESTS: &str = r#". ./cart.sh

tests=0
failed=0
check() {
    tests=$((tests + 1))
    [ "$2" = "$3" ] && return
    failed=$((failed + 1))
    echo "FAILED  $1: $3 instead of $2"
}

check "with_tax 1000" 1190 "$(with_tax 1000)"
check "with_tax 1999" 2379 "$(with_tax 1999)"
check "total" 0 "$(total)"
check "total 1000 500" 1785 "$(total 1000 500)"

if [ $failed -gt 0 ]; then
    echo "$failed of $tests tests failed"
    exit 1
fi
echo "all $tests tests passed"
"#;

/// The project in its folder.
pub(super) struct Project {
    pub(super) folder: PathBuf,
}

/// What the test said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tested {
    pub(super) passed: bool,
    /// Exit status; absent where a signal ended it.
    pub(super) status: Option<i32>,
    pub(super) output: String,
}

impl Project {
    /// Writes the files into a folder that is there.
    pub(super) fn write(folder: PathBuf) -> io::Result<Self> {
        let project = Self { folder };
        std::fs::write(project.path(OPEN), saved_price())?;
        std::fs::write(project.path(CLOSED), CART)?;
        std::fs::write(project.path(TEST), TESTS)?;
        Ok(project)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn on_disk(&self, name: &str) -> io::Result<String> {
        std::fs::read_to_string(self.path(name))
    }

    /// Runs the test here, without server, agent and sandbox, to know what it really says.
    pub(super) async fn test(&self) -> io::Result<Tested> {
        let command = tokio::process::Command::new("/bin/sh")
            .arg(TEST)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(TEST_LIMIT, command)
            .await
            .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "it did not end in time"))??;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok(Tested {
            passed: output.status.success(),
            status: output.status.code(),
            output: text,
        })
    }
}

impl Tested {
    /// The first failure that is about a function of this text: the line of its definition, from 0, and the words.
    pub(super) fn failure_in(&self, text: &str) -> Option<(u32, String)> {
        let failures = self.output.lines().filter_map(|line| line.strip_prefix("FAILED"));
        failures.map(str::trim).find_map(|failure| {
            let function = failure.split(' ').next()?;
            let definition = format!("{function}() {{");
            let line = text.lines().position(|line| line.starts_with(&definition))?;
            Some((u32::try_from(line).ok()?, failure.to_owned()))
        })
    }
}

/// The open file as it is on the disk at first.
pub(super) fn saved_price() -> String {
    format!("{PRICE_HEAD}{PRICE_TAIL}")
}

/// The open file as it is in the editor, with or without its fault.
pub(super) fn edited_price(mended: bool) -> String {
    let text = format!("{PRICE_HEAD}{UNSAVED}\n{PRICE_TAIL}");
    mend(&text, PRICE_FIX, mended)
}

/// The closed file, with or without its fault.
pub(super) fn cart(mended: bool) -> String {
    mend(CART, CART_FIX, mended)
}

fn mend(text: &str, (fault, remedy): (&str, &str), mended: bool) -> String {
    if mended {
        text.replace(fault, remedy)
    } else {
        text.to_owned()
    }
}

/// The folder's name, as people say it.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_faults_are_there_once_and_the_remedies_are_others() {
        assert_eq!(saved_price().matches(PRICE_FIX.0).count(), 1);
        assert_eq!(CART.matches(CART_FIX.0).count(), 1);
        assert_ne!(edited_price(true), edited_price(false));
        assert_ne!(cart(true), cart(false));
    }

    #[test]
    fn a_failure_is_found_at_the_function_it_is_about() {
        let tested = |output: &str| Tested {
            passed: false,
            status: Some(1),
            output: output.to_owned(),
        };
        let text = "# x\ntotal() {\n}\n";
        let output = "FAILED  with_tax 1: 2 instead of 3\nFAILED  total 1: 0 instead of 1\n2 of 4 tests failed\n";
        assert_eq!(
            tested(output).failure_in(text),
            Some((1, "total 1: 0 instead of 1".to_owned()))
        );
        assert_eq!(tested("sh: test.sh: not found").failure_in(text), None);
    }
}

"""tests/all changed: what a developer runs before a commit, in at most three minutes with a warm build."""

import fnmatch
import subprocess
from pathlib import Path

import editors
import extension
import scenes
from cargo import Cargo
from long import Long
from pool import Job, Pool

# The tests of each room: those of the library (`lib`), those of `it`, scenes (`scene`). What no row fits is tested by all.
ROOMS: list[tuple[str, list[str]]] = [
    ("src/account", ["lib account::*", "it account::*"]),
    ("src/keyring", ["lib keyring::*", "it account::*"]),
    ("src/acp", ["lib acp::*", "it acp::*"]),
    ("src/agent", ["lib agent::*", "it agent::*", "it chat::journey::*"]),
    ("src/chat", ["lib chat::*", "it chat::*"]),
    ("src/cli", ["lib cli::*", "it doctor::*", "it config::cli::*", "it demo::*", "it packed::*"]),
    ("src/config", ["lib config::*", "it config::*", "it editor_config::*"]),
    ("src/exec/decide", ["lib exec::decide::*", "it rules::*", "it exec::words::*", "it attacks::grants::*"]),
    ("src/exec/command", ["lib exec::command::*", "it rules::*", "it exec::words::*"]),
    ("src/exec", ["lib exec::*", "it exec::*", "it rules::*"]),
    ("src/feedback", ["lib feedback::*", "it agent::feedback::*"]),
    ("src/handlers", ["lib handlers::*", "it server::*", "it surface::*", "it protocol::*"]),
    ("src/lsp", ["lib lsp::*", "it surface::*", "it protocol::*"]),
    ("src/mcp", ["lib mcp::*", "it agent::mcp*", "it attacks::tool_servers::*"]),
    ("src/model", ["lib model::*", "it model::*"]),
    ("src/patch", ["lib patch::*", "it patch::*", "it apply_patch::*", "it hostile::killed::*"]),
    ("src/protocol", ["lib protocol::*", "it protocol::*"]),
    ("src/realtime", ["lib realtime::*", "it agent::realtime::*"]),
    ("src/rehearsal", ["lib rehearsal::*", "it model::rehearsal::*", "it demo::*"]),
    ("src/server", ["lib server::*", "it server::*", "it surface::*", "it attacks::connections::*"]),
    ("src/shown", ["lib shown::*", "it attacks::hidden_text::*"]),
    ("src/snapshot", ["lib snapshot::*", "it agent::undo::*"]),
    ("src/store", ["lib store::*", "it store::*"]),
    ("src/telemetry", ["lib telemetry::*", "it agent::telemetry::*"]),
    ("src/tools", ["lib tools::*", "it agent::tools::*"]),
    ("src/workspace", ["lib workspace::*", "it surface::*"]),
    ("editors/vscode", ["extension", "scene vscode:fix", "scene vscode-chat:panel"]),
    ("editors/nvim", ["nvim", "scene nvim-current:fix", "scene nvim-plugin-current:chat"]),
    ("editors/helix", ["scene helix:newcomer"]),
    ("editors/emacs", ["scene emacs:newcomer"]),
    ("editors/", ["it editor_config::*"]),
    ("docs/", []),
    ("tests/editors/nvim", ["nvim", "scene nvim-current:fix", "scene nvim-plugin-current:fix"]),
    ("tests/editors/vscode", ["scene vscode:fix", "scene vscode-chat:panel"]),
    ("tests/editors/helix", ["scene helix:fix"]),
    ("tests/editors/emacs", ["scene emacs:fix"]),
    ("tests/editors/", ["scene nvim-current:fix"]),
    ("tests/runner/", ["runner"]),
    ("tests/all", ["runner"]),
    ("tests/long.md", ["runner"]),
    ("tests/time.md", []),
    ("README.md", []),
    ("ARCHITECTURE.md", []),
    ("SECURITY.md", []),
    ("LICENSE", []),
]
# What holds for any change.
ALWAYS = ["it tidy::*"]
# Tests that are expected to take more seconds are left to `tests/all`.
LONGEST = 20


def add(root: Path, pool: Pool, long: Long) -> bool:
    """Adds what differs from main needs; false where the table does not know all of it, and everything has to be run."""
    files = differing(root)
    lints(root, pool, files)
    patterns = wanted(files)
    if patterns is None:
        print(f"{len(files)} files differ from main; for some of them there is no row in {Path(__file__).name}: everything is run", flush=True)
        return False
    print(f"{len(files)} files differ from main: {', '.join(patterns)}", flush=True)
    if "runner" in patterns:
        editors.runner(root, pool)
    if "nvim" in patterns:
        editors.nvim_units(root, pool, long)
    left = []

    def is_wanted(name: str) -> bool:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return False
        if long.of(name).expected > LONGEST:
            left.append(name)
            return False
        return True

    cargo = Cargo(root, pool, long, is_wanted)
    cargo.build(tests=True)
    names = [pattern.removeprefix("scene ") for pattern in patterns if pattern.startswith("scene ")]
    played = scenes.chosen(root, names) if names else []
    if played or "nvim" in patterns:
        editors.setup(root, pool)
    in_vscode = any(journey.startswith("vscode") for journey, _ in played)
    if in_vscode or "extension" in patterns:
        extension.add(root, pool, package=in_vscode, checks="extension" in patterns, after=frozenset({"editors"}))
    scenes.add(root, pool, long, cargo.server(), played, frozenset({"editors"}))
    pool.notes.append(lambda: f"left to tests/all, since they take long: {len(left)}" if left else "")
    return True


def lints(root: Path, pool: Pool, files: list[str]) -> None:
    pool.add(Job("formatting", "lints", ["cargo", "fmt", "--check"], editors.judge_status, cwd=root, expected=9_000))
    if any(path.endswith(".rs") or path.startswith("Cargo.") for path in files):
        # A folder of its own, so that it and the build do not wait for each other.
        command = ["cargo", "clippy", "--locked", "--all-targets", "--color=never", "--target-dir", "target/clippy", "--", "-D", "warnings"]
        pool.add(Job("clippy", "lints", command, editors.judge_status, limit=None, cwd=root, expected=9_000))


def differing(root: Path) -> list[str]:
    """What differs from main, committed or not."""
    base = git(root, "merge-base", "main", "HEAD").strip() or "HEAD"
    return sorted({*git(root, "diff", "--name-only", base).splitlines(), *git(root, "ls-files", "--others", "--exclude-standard").splitlines()})


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True).stdout


def wanted(files: list[str]) -> list[str] | None:
    """The patterns of what tests these files; none where the table does not know one."""
    patterns = set(ALWAYS)
    for path in files:
        if path.startswith("tests/it/"):
            patterns.add(f"it {path.removeprefix('tests/it/').removesuffix('.rs').replace('/', '::')}*")
        elif path.startswith("tests/editors/scenes/"):
            patterns.add(f"scene :{path.split('/')[3]}")
        else:
            row = next((tests for start, tests in ROOMS if path.startswith(start)), None)
            if row is None:
                return None
            patterns.update(row)
    return sorted(patterns)

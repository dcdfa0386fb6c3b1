"""tests/all changed: what a developer runs before a commit."""

import fnmatch
import subprocess
from pathlib import Path

import editors
import extension
from cargo import Cargo
from long import Long
from pool import Job, Pool

# The tests of each room: those of the library, those of `it`. What no row fits is tested by all.
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
    ("editors/", []),
    ("docs/", []),
    ("tests/editors/", []),
    ("tests/runner/", []),
    ("README.md", []),
    ("ARCHITECTURE.md", []),
]
# What holds for any change.
ALWAYS = ["it tidy::*"]


def add(root: Path, pool: Pool, long: Long) -> str:
    files = differing(root)
    patterns = wanted(files)
    print(f"{len(files)} files differ from main: {', '.join(patterns) if patterns else 'all tests'}", flush=True)
    pool.add(Job("formatting", "lints", ["cargo", "fmt", "--check"], editors.judge_status, cwd=root, expected=9_000))
    rust = [path for path in files if path.endswith(".rs") or path.startswith("Cargo.")]
    if rust:
        clippy = ["cargo", "clippy", "--locked", "--all-targets", "--color=never", "--", "-D", "warnings"]
        # Its own folder, so that it and the build do not wait for each other.
        env = {"CARGO_TARGET_DIR": str(root / "target/clippy")}
        pool.add(Job("clippy", "lints", clippy, editors.judge_status, limit=None, cwd=root, env=env, expected=9_000))
    if not patterns or any(path.startswith("editors/vscode") for path in files):
        extension.add(root, pool, package=False, checks=True)
    if not patterns or any(path.startswith(("editors/nvim", "tests/editors/nvim")) for path in files):
        editors.setup(root, pool)
        editors.nvim_units(root, pool, long)
    Cargo(root, pool, long, lambda name: not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)).build(tests=True)
    return "changed"


def differing(root: Path) -> list[str]:
    """What differs from main, committed or not."""
    base = subprocess.run(["git", "merge-base", "main", "HEAD"], cwd=root, capture_output=True, text=True).stdout.strip() or "HEAD"
    found = subprocess.run(["git", "diff", "--name-only", base], cwd=root, capture_output=True, text=True).stdout.splitlines()
    new = subprocess.run(["git", "ls-files", "--others", "--exclude-standard"], cwd=root, capture_output=True, text=True).stdout.splitlines()
    return sorted({*found, *new})


def wanted(files: list[str]) -> list[str]:
    """The patterns of the tests for these files; none where the table does not know one, so that all are run."""
    patterns = set(ALWAYS)
    for path in files:
        if path.startswith("tests/it/"):
            patterns.add(f"it {path.removeprefix('tests/it/').removesuffix('.rs').replace('/', '::')}*")
            continue
        row = next((tests for start, tests in ROOMS if path.startswith(start)), None)
        if row is None:
            return []
        patterns.update(row)
    return sorted(patterns)

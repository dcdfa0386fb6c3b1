"""tests/all changed: what a developer runs before a commit, in at most three minutes with a warm build."""

import fnmatch
import re
import subprocess
from pathlib import Path

import editors
import extension
import scenes
from cargo import Cargo
from long import Long
from pool import Job, Pool

# The tests of each room: those of the library (`lib`), those of `it`, scenes (`scene`), and other parts by their names. The first row
# that fits counts; what none fits is tested by all.
ROOMS: list[tuple[str, list[str]]] = [
    ("src/account", ["lib account::*", "it account::*"]),
    ("src/keyring", ["it account::*", "it agent::mcp_login::*"]),
    ("src/acp", ["lib acp::*", "it acp::*"]),
    ("src/agent", ["lib agent::*", "it agent::*", "it chat::journey::*"]),
    ("src/chat", ["lib chat::*", "it chat::*"]),
    ("src/cli", ["lib cli::*", "it doctor::*", "it config::cli::*", "it demo::*", "it packed::*", "it cli::*"]),
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
    ("docs/protocol.md", ["it agent::catalogue::*", "it protocol::*", "nvim"]),
    ("docs/sandbox.md", ["it attacks::later_files::*"]),
    ("docs/permissions.md", ["lib config::permissions::*"]),
    ("docs/rehearsal.md", ["lib rehearsal::*"]),
    # Of the others a test may read any.
    ("docs/", ["lib rehearsal::*", "lib config::*", "it agent::catalogue::*", "it config::*", "it editor_config::*"]),
    ("tests/editors/acp", ["acp"]),
    ("tests/editors/nvim", ["nvim", "scene nvim-current:fix", "scene nvim-plugin-current:fix"]),
    ("tests/editors/vscode", ["scene vscode:fix", "scene vscode-chat:panel"]),
    ("tests/editors/helix", ["scene helix:fix"]),
    ("tests/editors/emacs", ["scene emacs:fix"]),
    ("tests/editors/", ["scene nvim-current:fix"]),
    ("tests/runner/", ["runner"]),
    ("tests/all", ["runner"]),
    ("tests/long.md", ["runner"]),
    ("tests/time.md", []),
    # Built by clippy.
    ("benches/", []),
    ("README.md", []),
    ("ARCHITECTURE.md", []),
    ("SECURITY.md", []),
    ("LICENSE", []),
]
# What holds for any change.
ALWAYS = ["it tidy::*"]
# Tests and scenes that are expected to take more seconds are left to `tests/all`.
LONGEST, LONGEST_SCENE = 20, 60


class NoBase(Exception):
    """It cannot be said what differs from main."""


def add(root: Path, pool: Pool, long: Long) -> bool:
    """Adds what differs from main needs; false where that is not known for all of it, and everything has to be run."""
    try:
        files = differing(root)
    except NoBase as error:
        lints(root, pool, [])
        print(f"it cannot be said what differs from main ({error}): everything is run", flush=True)
        return False
    lints(root, pool, files)
    unknown = [path for path in files if wanted(root, [path]) is None]
    if unknown:
        print(f"{len(files)} files differ from main; {unknown[0]} is in no row of {Path(__file__).name}: everything is run", flush=True)
        return False
    patterns = wanted(root, files)
    print(f"{len(files)} files differ from main: {', '.join(patterns)}", flush=True)
    left: list[str] = []

    def is_wanted(name: str) -> bool:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return False
        return is_short(name, LONGEST)

    def is_short(name: str, longest: float) -> bool:
        if long.of(name).expected > longest:
            left.append(name)
            return False
        return True

    cargo = Cargo(root, pool, long, is_wanted)
    cargo.build(tests=True)
    names = [pattern.removeprefix("scene ") for pattern in patterns if pattern.startswith("scene ")]
    played = scenes.chosen(root, names) if names else []
    played = [(journey, scene) for journey, scene in played if is_short(f"{journey}:{scene}", LONGEST_SCENE)]
    parts = {scenes.editor(journey) for journey, _ in played} | {part for part in ("nvim", "acp") if part in patterns}
    editors.setup(root, pool, tuple(part for part in editors.PARTS if part in parts))
    if "runner" in patterns:
        editors.runner(root, pool)
    if "nvim" in patterns:
        editors.nvim_units(root, pool, long)
    if "acp" in patterns:
        cargo.with_server(lambda server: editors.acp_client(root, pool, server))
    in_vscode = "vscode" in parts
    if in_vscode or "extension" in patterns:
        extension.add(root, pool, package=in_vscode, checks="extension" in patterns)
    cargo.with_server(lambda server: scenes.add(root, pool, long, server, played))
    pool.notes.append(lambda: f"left to tests/all, since they take long: {len(left)}: {', '.join(left)}"[:400] if left else "")
    return True


def lints(root: Path, pool: Pool, files: list[str]) -> None:
    pool.add(Job("formatting", "lints", ["cargo", "fmt", "--check"], editors.judge_status, alone="cargo fmt", cwd=root, expected=9_000))
    if not files or any(path.endswith(".rs") or path.startswith("Cargo.") for path in files):
        # A folder of its own, so that it and the build do not wait for each other.
        command = ["cargo", "clippy", "--locked", "--all-targets", "--color=never", "--target-dir", "target/clippy", "--", "-D", "warnings"]
        alone = "cargo clippy --all-targets"
        pool.add(Job("clippy", "lints", command, editors.judge_status, alone=alone, limit=None, cwd=root, expected=9_000))


def differing(root: Path) -> list[str]:
    """What differs from main, committed or not; of what is renamed both names."""
    base = ""
    for main in ("main", "origin/main"):
        try:
            base = git(root, "merge-base", main, "HEAD").strip()
            break
        except NoBase as error:
            problem = error
    if not base:
        raise problem
    changed = git(root, "diff", "--name-only", "--no-renames", "-z", base).split("\0")
    return sorted({*changed, *git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")} - {""})


def git(root: Path, *arguments: str) -> str:
    result = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if result.returncode != 0:
        raise NoBase(f"git {arguments[0]}: {(result.stderr.strip().splitlines() or ['no answer'])[0]}")
    return result.stdout


def wanted(root: Path, files: list[str]) -> list[str] | None:
    """The patterns of what tests these files; none where one of them may matter to any test."""
    patterns = set(ALWAYS)
    for path in files:
        if path.startswith("tests/it/"):
            found = integration(root, path)
        elif path.startswith("tests/editors/scenes/"):
            scene = path.split("/")[3]
            # One that is gone is played by nobody.
            found = [f"scene :{scene}"] if (root / "tests/editors/scenes" / scene).is_dir() else []
        else:
            found = next((tests for start, tests in ROOMS if path.startswith(start)), None)
        if found is None:
            return None
        patterns.update(found)
    return sorted(patterns)


def integration(root: Path, path: str) -> list[str] | None:
    """The tests that a file below tests/it holds, else those of the innermost folder around it that has any."""
    top = root / "tests/it"
    if path in ("tests/it/main.rs",) or path.startswith("tests/it/support"):
        return None
    place = root / path
    if place.suffix == ".rs" and has_tests(place):
        name = place.relative_to(top).with_suffix("").as_posix().replace("/", "::")
        return [f"it {name}::*"]
    for folder in place.parents:
        if folder == top:
            return None
        if any(map(has_tests, [folder.with_suffix(".rs"), *folder.rglob("*.rs")])):
            return [f"it {folder.relative_to(top).as_posix().replace('/', '::')}::*"]
    return None


def has_tests(source: Path) -> bool:
    try:
        return bool(re.search(r"^\s*#\[(\w+::)?test\b", source.read_text(), re.M))
    except OSError:
        return False

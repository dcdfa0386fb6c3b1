"""What surrounds the journeys: setting the editors up, the Neovim plugin's unit tests, a client of the Agent Client Protocol."""

import os
import re
import shlex
import sys
from pathlib import Path

from long import Long
from pool import Job, Pool, Result

# What tests/editors/setup/setup.sh can set up, each by itself.
PARTS = ("nvim", "helix", "emacs", "vscode", "acp")


def needs(part: str) -> str:
    """What a job waits for that needs a part."""
    return f"editors: {part}"


def setup(root: Path, pool: Pool, parts: tuple[str, ...] = PARTS) -> None:
    """Sets the parts up one after the other, since they share a package manager; one that fails holds up only what needs it."""
    before: frozenset[str] = frozenset()
    for at, part in enumerate(parts):
        job = Job(
            name=f"setting up {part}",
            part="setting up",
            command=[str(root / "tests/editors/setup/setup.sh"), part],
            judge=judge_status,
            alone=f"tests/editors/setup/setup.sh {part}",
            # It downloads up to 1 GB on an empty machine.
            limit=1_500,
            expected=9_500 - at,
            after=before,
            cwd=root,
            leaves=True,
        )
        before = frozenset({f"tried {part}"})
        job.on_end = ended(pool, part)
        pool.add(job)


def ended(pool: Pool, part: str):
    def on_end(results: list[Result]) -> None:
        if results[0].passed:
            pool.reach(needs(part))
        else:
            pool.miss(needs(part), f"{part} could not be set up")
        pool.reach(f"tried {part}")

    return on_end


def nvim_units(root: Path, pool: Pool, long: Long) -> None:
    folder = root / "tests/editors/nvim/unit"
    for topic in sorted(path.stem for path in folder.glob("*.lua") if path.stem != "run"):
        row = long.of(f"nvim {topic}")
        pool.add(Job(
            name=f"nvim {topic}",
            part="Neovim unit tests",
            command=[str(folder / "run"), topic],
            judge=judge_lines,
            alone=f"tests/editors/nvim/unit/run {topic}",
            limit=row.limit,
            expected=row.expected,
            after=frozenset({needs("nvim")}),
            cwd=root,
        ))


def acp_client(root: Path, pool: Pool, server: Path) -> None:
    command = [f"{os.environ['COUNTERSIGN_EDITORS']}/acp/bin/python", "tests/editors/acp/client.py", str(server)]
    pool.add(Job(
        name="acp client",
        part="ACP client",
        command=command,
        judge=judge_lines,
        alone=shlex.join(command),
        after=frozenset({needs("acp"), "server"}),
        expected=10,
        cwd=root,
    ))


def runner(root: Path, pool: Pool) -> None:
    """What runs all tests is tested itself."""
    pool.add(Job(
        name="the runner",
        part="the runner",
        command=[sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests/runner"],
        judge=judge_unittest,
        alone="python3 -B -m unittest discover -s tests/runner",
        expected=20,
        cwd=root,
    ))


def judge_status(job: Job, status: int | None, text: str) -> list[Result]:
    ended = f"it was stopped after {job.limit:.0f} s" if status is None else f"it ended with status {status}"
    reason = "" if status == 0 else "\n".join([ended, *text.splitlines()[-14:]])
    return [Result(job.name, status == 0, reason, checks=(0, 0 if status == 0 else 1))]


def judge_unittest(job: Job, status: int | None, text: str) -> list[Result]:
    """Python's own test runner: how many it ran stands in a line at the end."""
    result = judge_status(job, status, text)[0]
    ran = re.search(r"^Ran (\d+) tests?", text, re.M)
    result.checks = (int(ran.group(1)) if ran and result.passed else 0, 0 if result.passed else 1)
    return [without_checks(result)]


def judge_lines(job: Job, status: int | None, text: str) -> list[Result]:
    """A line for each check: `ok` or `FAIL`, and what it says of itself below."""
    result = judge_status(job, status, text)[0]
    passed, failed = (len(re.findall(rf"^{word} ", text, re.M)) for word in ("ok", "FAIL"))
    result.checks = (passed, failed)
    result.passed = status == 0 and failed == 0
    found = re.search(r"^FAIL .*?(?=^ok |\Z)", text, re.M | re.S)
    if found and status is not None:
        result.reason = found.group(0)
    return [without_checks(result)]


def without_checks(result: Result) -> Result:
    """Where nothing was checked, nothing has passed."""
    if result.passed and not result.checks[0]:
        result.passed, result.reason = False, "it ended well without having checked anything"
    return result

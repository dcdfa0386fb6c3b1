"""What surrounds the journeys: setting the editors up, the Neovim plugin's unit tests, a client of the Agent Client Protocol."""

import os
import re
import sys
from pathlib import Path

from long import Long
from pool import Job, Pool, Result


def setup(root: Path, pool: Pool) -> None:
    job = Job(
        name="setting the editors up",
        part="setting up",
        command=[str(root / "tests/editors/setup/setup.sh")],
        judge=judge_status,
        # It downloads about 1.5 GB on an empty machine.
        limit=1_500,
        expected=9_500,
        cwd=root,
    )
    job.on_end = lambda results: (
        pool.reach("editors") if results[0].passed else pool.miss("editors", "the editors could not be set up")
    )
    pool.add(job)


def nvim_units(root: Path, pool: Pool, long: Long) -> None:
    folder = root / "tests/editors/nvim/unit"
    for topic in sorted(path.stem for path in folder.glob("*.lua") if path.stem != "run"):
        row = long.of(f"nvim {topic}")
        pool.add(Job(
            name=f"nvim {topic}",
            part="Neovim unit tests",
            command=[str(folder / "run"), topic],
            judge=judge_lines,
            limit=row.limit,
            expected=row.expected,
            after=frozenset({"editors"}),
            cwd=root,
        ))


def acp_client(root: Path, pool: Pool, server: Path) -> None:
    pool.add(Job(
        name="acp client",
        part="ACP client",
        command=[f"{os.environ['COUNTERSIGN_EDITORS']}/acp/bin/python", "tests/editors/acp/client.py", str(server)],
        judge=judge_lines,
        after=frozenset({"editors", "server"}),
        expected=10,
        cwd=root,
    ))


def runner(root: Path, pool: Pool) -> None:
    """What runs all tests is tested itself."""
    pool.add(Job(
        name="the runner",
        part="the runner",
        command=[sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests/runner"],
        judge=judge_status,
        expected=20,
        cwd=root,
    ))


def judge_status(job: Job, status: int | None, text: str) -> list[Result]:
    ended = f"it was stopped after {job.limit:.0f} s" if status is None else f"it ended with status {status}"
    reason = "" if status == 0 else "\n".join([ended, *text.splitlines()[-14:]])
    return [Result(job.name, status == 0, reason, alone=" ".join(job.command), checks=(0, 0 if status == 0 else 1))]


def judge_lines(job: Job, status: int | None, text: str) -> list[Result]:
    """A line for each check: `ok` or `FAIL`, and what it says of itself below."""
    result = judge_status(job, status, text)[0]
    passed, failed = (len(re.findall(rf"^{word} ", text, re.M)) for word in ("ok", "FAIL"))
    result.checks = (passed, failed)
    result.passed = status == 0 and failed == 0 and passed > 0
    found = re.search(r"^FAIL .*?(?=^ok |\Z)", text, re.M | re.S)
    if found and status is not None:
        result.reason = found.group(0)
    return [result]

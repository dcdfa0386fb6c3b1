"""The program and its Rust tests: one build, from which each part begins as soon as it is linked; each test of `it` in a
process of its own, the unit tests in batches."""

import itertools
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Callable, Iterable

from long import Long
from pool import Job, Pool, Result

# Unit tests of one process; most take milliseconds.
BATCH = 40
# Lines of a reason that is kept.
REASON = 15

UNIT, IT = "unit tests", "integration tests"


class Cargo:
    def __init__(self, root: Path, pool: Pool, long: Long, wanted: Callable[[str], bool], limit: float | None = None):
        self.root, self.pool, self.long, self.wanted, self.limit = root, pool, long, wanted, limit
        self.env = {"CARGO_MANIFEST_DIR": str(root), "CARGO": os.environ.get("CARGO", "cargo")}

    def server(self) -> Path:
        return Path(os.environ.get("CARGO_TARGET_DIR", self.root / "target")) / "debug" / "countersign"

    def build(self, tests: bool) -> None:
        """Builds the program and, if they are wanted, its tests, which begin as they are ready."""
        what = ["test", "--no-run"] if tests else ["build"]
        slots = self.pool.slots - 2
        self.pool.add(Job(
            name="building the tests" if tests else "building the program",
            part="building",
            command=["cargo", *what, "--locked", "--color=never", "--message-format=json-render-diagnostics"],
            judge=self._built,
            # The pool's own limit is the only one: how long a build takes says nothing about what is built.
            limit=None,
            expected=10_000,
            slots=max(1, slots),
            cwd=self.root,
            on_line=self._artifact,
        ))

    def _built(self, job: Job, status: int | None, text: str) -> list[Result]:
        passed = status == 0
        if not passed:
            self.pool.miss("server", "the build failed")
        reason = "" if passed else "\n".join(errors(text))
        return [Result(job.name, passed, reason, alone=" ".join(job.command[:3]), checks=(0, 0 if passed else 1))]

    def _artifact(self, line: str) -> None:
        """A line of cargo's: what was linked begins to run."""
        try:
            message = json.loads(line)
        except ValueError:
            return
        if message.get("reason") != "compiler-artifact" or not message.get("executable"):
            return
        binary, kind, is_test = Path(message["executable"]), message["target"]["kind"][0], message["profile"]["test"]
        if kind == "bin" and not is_test:
            if message["target"]["name"] == "countersign":
                self.pool.reach("server")
        elif is_test:
            self.pool.call(lambda: self._add_tests(binary, message["target"]["name"], kind))

    def _add_tests(self, binary: Path, target: str, kind: str) -> None:
        listed = subprocess.run([binary, "--list", "--format", "terse"], capture_output=True, text=True, cwd=self.root)
        names = [line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test")]
        selector = {"lib": "--lib", "test": f"--test {target}", "bin": f"--bin {target}"}[kind]
        prefix = target if kind == "test" else "lib" if kind == "lib" else "bin"
        names = [name for name in names if self.wanted(f"{prefix} {name}")]
        if kind == "test":
            for name in names:
                self._add(binary, selector, prefix, [name], IT)
            return
        # Those that are known to take long get a process each.
        quick = [name for name in names if not self.long.has(f"{prefix} {name}")]
        for name in sorted(set(names) - set(quick)):
            self._add(binary, selector, prefix, [name], UNIT)
        for _, group in itertools.groupby(quick, key=lambda name: name.split("::")[0]):
            for batch in batches(list(group), BATCH):
                self._add(binary, selector, prefix, batch, UNIT)

    def _add(self, *tests) -> None:
        self.pool.add(self._job(*tests))

    def _job(self, binary: Path, selector: str, prefix: str, names: list[str], part: str, attempt: int = 1) -> Job:
        row = self.long.of(f"{prefix} {names[0]}")
        is_batch = len(names) > 1
        room = os.path.commonprefix(names).rpartition("::")[0] or names[0].split("::")[0]
        job = Job(
            name=f"{prefix} {room} ({len(names)} from {names[0]})" if is_batch else f"{prefix} {names[0]}",
            part=part,
            command=[str(binary), "--exact", *names, "--color=never", *(["--test-threads=2"] if is_batch else [])],
            judge=lambda job, status, text: judge(prefix, selector, names, status, text, job.limit),
            # Each test's own; a batch has that of one as well, since all of it takes seconds.
            limit=self.limit or row.limit,
            expected=5 if is_batch else row.expected,
            cwd=self.root,
            env=self.env,
            attempt=attempt,
        )

        def single(result: Result, attempt: int = 2) -> Job:
            return self._job(binary, selector, prefix, [result.name.removeprefix(f"{prefix} ")], part, attempt)

        def end(results: list[Result]) -> None:
            # What its process has not come to is tried by itself.
            for result in results:
                if not result.tried and not self.pool.stopping:
                    self.pool.add(single(result, attempt=1))

        if is_batch:
            job.single, job.on_end = single, end
        return job


def batches(names: list[str], size: int) -> Iterable[list[str]]:
    for start in range(0, len(names), size):
        yield names[start:start + size]


def judge(prefix: str, selector: str, names: list[str], status: int | None, text: str, limit: float | None) -> list[Result]:
    """What became of the tests of one process."""
    outcomes = dict(re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", text, re.M))
    passed = sum(map(int, re.findall(r"^test result: ok\. (\d+) passed", text, re.M)))
    results = []
    for name in names:
        alone = f"cargo test {selector} -- --exact {name}"
        result = Result(f"{prefix} {name}", False, alone=alone)
        if outcomes.get(name) == "ignored":
            result.passed = result.ignored = True
            result.checks = (0, 0)
        elif status == 0 and (passed == len(names) or outcomes.get(name) == "ok"):
            result.passed = True
        elif len(names) == 1:
            result.reason = reason(name, status, text, limit)
        elif outcomes.get(name) == "ok":
            result.passed = True
        elif outcomes.get(name) == "FAILED":
            result.reason = reason(name, status, text, limit)
        else:
            result.tried = False
            result.checks = (0, 0)
        results.append(result)
    return results


def reason(name: str, status: int | None, text: str, limit: float | None) -> str:
    """Why a test failed, in few lines."""
    said = re.search(rf"^---- {re.escape(name)} stdout ----\n(.*?)(?=^---- |^failures:|\Z)", text, re.M | re.S)
    lines = said.group(1).split("stack backtrace:")[0].splitlines() if said else text.splitlines()
    lines = [line for line in lines if line.strip() and "RUST_BACKTRACE" not in line]
    kept = lines[:REASON] if said else lines[-REASON:]
    if status is None:
        return "\n".join([f"it was stopped after {limit:.0f} s", *kept[:REASON - 1]])
    if not said:
        kept = [f"it ended with status {status}", *kept[:REASON - 1]]
    return "\n".join(kept)


def errors(text: str) -> list[str]:
    """The first error of a build, and what it says of itself."""
    lines = text.splitlines()
    first = next((at for at, line in enumerate(lines) if re.match(r"error(\[|:)", line)), max(0, len(lines) - REASON))
    return lines[first:first + REASON]

"""The program and its Rust tests: one build, from which each part begins as soon as it is linked; each test of `it` in a
process of its own, the unit tests in batches."""

import itertools
import json
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Callable, Iterable

from long import Long
from pool import Job, Pool, Result

# Unit tests of one process; most take milliseconds.
BATCH = 40
# Lines of a reason that is kept.
REASON = 15
# How a test program ends in which a test has failed.
TESTS_FAILED = 101

UNIT, IT = "unit tests", "integration tests"


class Cargo:
    """What is built, and the tests that come of it. `variables` are given to those that fit a pattern."""

    def __init__(
        self,
        root: Path,
        pool: Pool,
        long: Long,
        wanted: Callable[[str], bool] = lambda name: True,
        limit: float | None = None,
        variables: Callable[[str], dict[str, str]] = lambda name: {},
    ):
        self.root, self.pool, self.long, self.wanted, self.limit, self.variables = root, pool, long, wanted, limit, variables
        self.env = {"CARGO_MANIFEST_DIR": str(root), "CARGO": os.environ.get("CARGO", "cargo")}
        self.binary: Path | None = None
        self.waiting: list[Callable[[Path], None]] = []
        self.unlisted = False

    def with_server(self, action: Callable[[Path], None]) -> None:
        """Calls an action once cargo has said where the program is, or that there is none: what it adds waits for `server`."""
        self.waiting.append(action)

    def _server(self, binary: Path) -> None:
        actions, self.waiting = self.waiting, []
        for action in actions:
            action(binary)

    def build(self, tests: bool) -> None:
        """Builds the program and, if they are wanted, its tests, which begin as they are ready."""
        what = ["test", "--no-run"] if tests else ["build"]
        slots = self.pool.slots - 2
        self.pool.add(Job(
            name="building the tests" if tests else "building the program",
            part="building",
            command=["cargo", *what, "--locked", "--color=never", "--message-format=json-render-diagnostics"],
            judge=self._built,
            alone=shlex.join(["cargo", *what]),
            # The pool's own limit is the only one: how long a build takes says nothing about what is built.
            limit=None,
            expected=10_000,
            slots=max(1, slots),
            cwd=self.root,
            on_line=self._artifact,
            leaves=True,
        ))
        self.unlisted = tests

    def _built(self, job: Job, status: int | None, text: str) -> list[Result]:
        passed = status == 0
        if not passed:
            self._server(default_server(self.root))
            self.pool.miss("server", "the build failed")
            if self.unlisted:
                self.pool.not_run.append((Job("Rust tests that could not be built", UNIT, [], lambda *_: []), "the build failed"))
        reason = "" if passed else "\n".join(errors(text))
        return [Result(job.name, passed, reason, checks=(0, 0 if passed else 1))]

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
                self.pool.call(lambda: self._server(binary))
                self.pool.reach("server")
        elif is_test:
            self.pool.call(lambda: self._list(binary, message["target"]["name"], kind))

    def _list(self, binary: Path, target: str, kind: str) -> None:
        """Asks a test program for its tests."""
        prefix = {"lib": "lib", "test": target, "bin": "bin"}[kind]
        selector = {"lib": "--lib", "test": f"--test {target}", "bin": f"--bin {target}"}[kind]
        names: list[str] = []

        def listed(job: Job, status: int | None, text: str) -> list[Result]:
            found = re.findall(r"^(\S+): test$", text, re.M)
            names[:] = found
            passed = status == 0 and (bool(found) or kind == "bin")
            said = [how_it_ended(status, job.limit), *text.splitlines()[-REASON + 1:]]
            return [Result(job.name, passed, "" if passed else "\n".join(said), checks=(0, 0 if passed else 1))]

        self.pool.add(Job(
            name=f"{prefix}: the list of its tests",
            part=IT if kind == "test" else UNIT,
            command=[str(binary), "--list", "--format", "terse"],
            judge=listed,
            alone=f"cargo test {selector} -- --list",
            expected=9_000,
            cwd=self.root,
            on_end=lambda results: self._add_tests(binary, selector, prefix, kind, names) if results[0].passed else None,
        ))

    def _add_tests(self, binary: Path, selector: str, prefix: str, kind: str, names: list[str]) -> None:
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
        variables = self.variables(f"{prefix} {names[0]}")
        command = "".join(f"{name}={value} " for name, value in variables.items()) + f"cargo test {selector} -- --exact"
        job = Job(
            name=f"{prefix} {room} ({len(names)} from {names[0]})" if is_batch else f"{prefix} {names[0]}",
            part=part,
            command=[str(binary), "--exact", *names, "--color=never", *(["--test-threads=2"] if is_batch else [])],
            judge=lambda job, status, text: judge(job, prefix, command, names, status, text),
            alone=f"{command} {' '.join(names)}",
            # Each test's own; a batch has that of one as well, since all of it takes seconds.
            limit=self.limit or row.limit,
            expected=5 if is_batch else row.expected,
            cwd=self.root,
            env=self.env | variables,
            attempt=attempt,
        )

        def single(result: Result, attempt: int = 2) -> Job:
            if result.name == job.name:
                return replace(job, attempt=attempt, single=None, on_end=None)
            return self._job(binary, selector, prefix, [result.name.removeprefix(f"{prefix} ")], part, attempt)

        def end(results: list[Result]) -> None:
            # What its process has not come to is tried by itself.
            for result in results:
                if not result.tried and not self.pool.stopping:
                    self.pool.add(single(result, attempt=1))

        if is_batch:
            job.single, job.on_end = single, end
        return job


def default_server(root: Path) -> Path:
    """Where the program is unless cargo is configured otherwise."""
    return Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "debug" / "countersign"


def batches(names: list[str], size: int) -> Iterable[list[str]]:
    for start in range(0, len(names), size):
        yield names[start:start + size]


def judge(job: Job, prefix: str, command: str, names: list[str], status: int | None, text: str) -> list[Result]:
    """What became of the tests of one process, and of the process itself where it has not ended as those do."""
    outcomes = dict(re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", text, re.M))
    passed = sum(map(int, re.findall(r"^test result: ok\. (\d+) passed", text, re.M)))
    results = []
    for name in names:
        result = Result(f"{prefix} {name}", False, alone=f"{command} {name}")
        if outcomes.get(name) == "ignored":
            result.passed = result.ignored = True
            result.checks = (0, 0)
        elif status == 0 and (passed == len(names) or outcomes.get(name) == "ok"):
            result.passed = True
        elif len(names) == 1:
            result.reason = reason(name, status, text, job.limit)
        elif outcomes.get(name) == "ok":
            result.passed = True
        elif outcomes.get(name) == "FAILED":
            result.reason = reason(name, status, text, job.limit)
        else:
            result.tried = False
            result.checks = (0, 0)
        results.append(result)
    if len(names) == 1:
        return results
    as_tests_do = status == 0 or status == TESTS_FAILED and "FAILED" in outcomes.values()
    whole = Result(job.name, as_tests_do and all(result.tried for result in results), checks=(0, 0))
    if not whole.passed:
        left = sum(not result.tried for result in results)
        said = [f"{how_it_ended(status, job.limit)}; of {len(names)} tests it did not come to {left}", *text.splitlines()[-REASON + 1:]]
        whole.reason, whole.checks = "\n".join(said), (0, 1)
    if job.attempt > 1:
        # Its tests have been judged before.
        return [whole]
    return results if whole.passed else [*results, whole]


def how_it_ended(status: int | None, limit: float | None) -> str:
    return f"it was stopped after {limit:.0f} s" if status is None else f"it ended with status {status}"


def reason(name: str, status: int | None, text: str, limit: float | None) -> str:
    """Why a test failed, in few lines."""
    said = re.search(rf"^---- {re.escape(name)} stdout ----\n(.*?)(?=^---- |^failures:|\Z)", text, re.M | re.S)
    lines = said.group(1).split("stack backtrace:")[0].splitlines() if said else text.splitlines()
    lines = [line for line in lines if line.strip() and "RUST_BACKTRACE" not in line]
    kept = lines[:REASON] if said else lines[-REASON:]
    if status is None or not said:
        kept = [how_it_ended(status, limit), *kept[:REASON - 1]]
    return "\n".join(kept)


def errors(text: str) -> list[str]:
    """The first error of a build, and what it says of itself."""
    lines = text.splitlines()
    first = next((at for at, line in enumerate(lines) if re.match(r"error(\[|:)", line)), max(0, len(lines) - REASON))
    return lines[first:first + REASON]

"""tests/all and tests/editors/run, once what they need is there. See tests/all for what can be asked for."""

import fcntl
import fnmatch
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import replace
from pathlib import Path

import changed
import editors
import extension
import report
import scenes
from cargo import Cargo, default_server
from long import Long
from pool import Job, Pool, Result

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("rust", "vscode", "editors")
# All together, well under what a CI gives.
LIMIT = 70 * 60
# Of each test that is played in full length.
NIGHTLY_LIMIT = 60 * 60
# More that fail are no accident, and are not tried again.
TRIED_AGAIN = 20
# Megabytes that a slot is counted with.
SLOT_MEMORY = 1_000
# Of these parts nothing is tried again: what they do is repeated by who does it, or comes out the same.
TRIED_ONCE = ("building", "setting up", "lints")
# What is played by itself, and longer: each with the variables that make it so.
NIGHTLY = {
    "lib agent::schedules::*": {"COUNTERSIGN_SCHEDULES": "10000"},
    "lib model::fuzz::*": {"COUNTERSIGN_FUZZ": "200000"},
    "it crash::*": {"COUNTERSIGN_CRASH_RUNS": "300"},
    "it attacks::later_files::no_entry*": {"COUNTERSIGN_ALL_NAMES": "1"},
    "it attacks::races::a_variable*": {"COUNTERSIGN_ALL_NAMES": "1"},
}


def say(text: str) -> None:
    """Prints; where nobody reads any more, the run goes on and its sums are in target/tests."""
    try:
        print(text, flush=True)
    except OSError:
        sys.stdout = open(os.devnull, "w")


def slots() -> int:
    """Most of what runs waits for a process, a person or a clock, so there is room for more than there are processors."""
    given = os.environ.get("COUNTERSIGN_SIDE_BY_SIDE")
    if given:
        return max(1, int(given))
    processors = len(os.sched_getaffinity(0))
    available = next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemAvailable"))
    return max(2, min(processors * 3, available // 1_000 // SLOT_MEMORY))


def try_again(pool: Pool) -> None:
    """What failed is run once more, by itself."""
    failed = [(job, result) for job, results in pool.finished for result in results if result.tried and not result.passed]
    failed = [(job, result) for job, result in failed if job.part not in TRIED_ONCE]
    if not failed or pool.stopping:
        return
    if len(failed) > TRIED_AGAIN:
        say(f"\n=== {len(failed)} failed: too many to be tried again")
        return
    say(f"\n=== once more, one by one: {len(failed)} that failed")
    pool.slots = 1
    for job, result in failed:
        pool.add(again(job, result))
    pool.run()


def again(job: Job, result: Result) -> Job:
    return job.single(result) if job.single else replace(job, attempt=2)


def stop_by_signals(pool: Pool) -> None:
    """Whoever stops the run gets the sums of what was run."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Ignored for one that goes on when its terminal is closed.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: pool.stop("somebody stopped the run"))


def only_run() -> bool:
    """Two runs in one checkout would write the same files. The lock ends with this process."""
    page = ROOT / "target/tests/lock"
    page.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(page, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False


def main() -> int:
    started = time.monotonic()
    asked = sys.argv[1:]
    if not only_run():
        print("tests/all: another run is going on in this checkout: wait for its end, or use a checkout of its own", file=sys.stderr)
        return 2
    logs = ROOT / "target/tests/logs"
    shutil.rmtree(logs, ignore_errors=True)
    pool = Pool(logs, slots(), started + float(os.environ.get("COUNTERSIGN_TESTS_LIMIT", LIMIT)), say)
    stop_by_signals(pool)
    long = Long(ROOT / "tests/long.md")
    kind = "all"
    if asked[:1] == ["scenes"]:
        kind = play_scenes(pool, long, asked[1:])
    elif asked == ["nightly"]:
        kind = nightly(pool, long)
    elif asked == ["changed"]:
        kind = "changed"
        if not changed.add(ROOT, pool, long):
            add_parts(pool, long, list(PARTS))
    else:
        parts = asked or list(PARTS)
        if wrong := [part for part in parts if part not in PARTS]:
            print(f"tests/all: there is no part '{wrong[0]}'; there are: {' '.join(PARTS)}, or nightly, or changed", file=sys.stderr)
            return 2
        kind = "all" if set(parts) == set(PARTS) else " ".join(parts)
        add_parts(pool, long, parts)
    if not kind:
        return 2
    if missing := os.environ.get("COUNTERSIGN_TESTS_MISSING"):
        pool.notes.append(lambda: f"tested less, since it is missing here: {missing}")
    say(f"=== {kind}: {pool.slots} side by side; logs: {logs.relative_to(ROOT)}")
    # What is to be found breaks where it is: a second try, with other kills and seeds, says nothing.
    play(pool, again=kind not in ("scenes", "nightly"))
    end = report.Report(pool, started, time.monotonic(), report.kept_time(ROOT / "tests/time.md", kind))
    end.write()
    # The program of the tests' MCP servers (tests/it/support/mcp.rs).
    for link in Path(tempfile.gettempdir()).glob("countersign-tool-server-*"):
        shutil.rmtree(link, ignore_errors=True)
    say("\n" + "\n".join(end.lines()))
    return 0 if end.good() else 1


def play(pool: Pool, again: bool) -> None:
    """To the end, and nothing of it goes on after it; what goes wrong in here is a failure with the others."""
    try:
        pool.run()
        if again:
            try_again(pool)
    except Exception:
        pool.broken.append(traceback.format_exc())
        pool.stop("the runner failed")
        pool.run()


def add_parts(pool: Pool, long: Long, parts: list[str]) -> None:
    wants_rust, wants_vscode, wants_editors = (part in parts for part in PARTS)
    cargo = Cargo(ROOT, pool, long)
    if wants_rust or wants_editors:
        cargo.build(tests=wants_rust)
    if wants_rust:
        editors.runner(ROOT, pool)
    if wants_vscode or wants_editors:
        extension.add(ROOT, pool, package=wants_editors, checks=wants_vscode)
    if wants_editors:
        editors.setup(ROOT, pool)
        editors.nvim_units(ROOT, pool, long)
        cargo.with_server(lambda server: editors.acp_client(ROOT, pool, server))
        cargo.with_server(lambda server: scenes.add(ROOT, pool, long, server, scenes.chosen(ROOT, [])))


def play_scenes(pool: Pool, long: Long, wanted: list[str]) -> str:
    server = Path(os.environ.get("COUNTERSIGN_BIN") or default_server(ROOT)).resolve()
    if not os.access(server, os.X_OK):
        print(f"no server at {server}: run 'cargo build' first, or set COUNTERSIGN_BIN", file=sys.stderr)
        return ""
    try:
        chosen = scenes.chosen(ROOT, wanted)
    except scenes.Unknown as error:
        print(f"tests/editors/run: {error}", file=sys.stderr)
        return ""
    pool.reach("server")
    if any(journey.startswith("vscode") for journey, _ in chosen):
        extension.add(ROOT, pool, package=True, checks=False, after=frozenset())
    scenes.add(ROOT, pool, long, server, chosen, is_set_up=True)
    return "scenes"


def nightly(pool: Pool, long: Long) -> str:
    def wanted(name: str) -> bool:
        return bool(variables(name))

    def variables(name: str) -> dict[str, str]:
        return next((given for pattern, given in NIGHTLY.items() if fnmatch.fnmatchcase(name, pattern)), {})

    Cargo(ROOT, pool, long, wanted, NIGHTLY_LIMIT, variables).build(tests=True)
    return "nightly"


if __name__ == "__main__":
    sys.exit(main())

"""One pool for everything that is started: builds, tests, scenes in editors. The longest begin first, as many at a time as
there are slots; each has its own time limit, and what passes it is ended and named."""

import os
import queue
import re
import signal
import subprocess
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

# The variable by which all that a job has started is found again.
MARK = "COUNTERSIGN_TEST_JOB"
# Seconds from SIGTERM, with which a scene puts away what it has started, to SIGKILL; and as many until what is left is given up.
GRACE = 10
# Seconds within which what a job has started ends with it.
LEAVE = 2


@dataclass(eq=False)
class Result:
    """One check that was made: a test, a scene, a step of the build."""

    name: str
    passed: bool
    # What it said of the failure.
    reason: str = ""
    # The command that runs it by itself.
    alone: str = ""
    # Single checks that passed and failed in it, where it makes several.
    checks: tuple[int, int] | None = None
    # False if its process ended before this test ran.
    tried: bool = True
    ignored: bool = False
    seconds: float = 0.0
    log: Path | None = None

    def counts(self) -> tuple[int, int]:
        if self.checks:
            passed, failed = self.checks
            return passed, max(failed, 0 if self.passed else 1)
        return (1, 0) if self.passed else (0, 1)


@dataclass(eq=False)
class Job:
    name: str
    part: str
    command: list[str]
    # From how the process ended (None: at its time limit) and what it printed.
    judge: Callable[["Job", int | None, str], list[Result]]
    # How a person runs it by itself, where its results do not say so.
    alone: str = ""
    # Seconds after which it is ended. None: only the limit of the whole run ends it.
    limit: float | None = 60
    # Seconds that it is expected to take.
    expected: float = 1
    slots: int = 1
    # What must have been reached before: see Pool.reach.
    after: frozenset[str] = frozenset()
    cwd: Path | None = None
    env: dict[str, str] = field(default_factory=dict)
    # What is printed when it ends: "all" that it said, or "failures".
    prints: str = "failures"
    # Called with each line while it runs.
    on_line: Callable[[str], None] | None = None
    # Called after its results are judged, for instance to start others.
    on_end: Callable[[list[Result]], None] | None = None
    # Of one that makes many: the job that makes one of them by itself.
    single: Callable[[Result], "Job"] | None = None
    # Whether what it starts may go on after it, as a build's or a package's own services do.
    leaves: bool = False
    attempt: int = 1
    # In the environment of all that it starts.
    mark: str = ""
    started: float = 0.0
    ended: float = 0.0
    # Seconds of processor time that it took with all that it waited for.
    processor: float = 0.0
    # Why it was ended, where it was not left to its end.
    stopped: str = ""
    # The programs that were still running after it and had to be ended.
    left: list[str] = field(default_factory=list)


class Process(subprocess.Popen):
    """One that says how much processor time it took with its children."""

    processor = 0.0

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        try:
            pid, status, used = os.wait4(self.pid, wait_flags)
        except ChildProcessError:
            return self.pid, 0
        if pid:
            self.processor = used.ru_utime + used.ru_stime
        return pid, status


class Pool:
    """Runs jobs until none is left or the time of the whole run is over."""

    def __init__(self, logs: Path, slots: int, deadline: float, say: Callable[[str], None]):
        self.logs, self.slots, self.deadline, self.say = logs, slots, deadline, say
        self.waiting: list[Job] = []
        self.running: dict[Job, Process] = {}
        self.finished: list[tuple[Job, list[Result]]] = []
        # Never started: the job, and why.
        self.not_run: list[tuple[Job, str]] = []
        self.reached: set[str] = set()
        self.missed: dict[str, str] = {}
        # What went wrong in the runner itself.
        self.broken: list[str] = []
        self.events: queue.Queue = queue.Queue()
        self.stopping = ""
        self.started = 0
        # What is said beside the sums.
        self.notes: list[Callable[[], str]] = []

    def add(self, job: Job) -> None:
        self.waiting.append(job)

    def reach(self, what: str) -> None:
        """What jobs wait for is there. From any thread."""
        self.events.put(("reached", what, ""))

    def miss(self, what: str, why: str) -> None:
        """What jobs wait for will never be there. From any thread."""
        self.events.put(("missed", what, why))

    def call(self, action: Callable[[], None]) -> None:
        """Runs an action on the pool's own thread. From any thread."""
        self.events.put(("call", action, ""))

    def stop(self, why: str) -> None:
        """Ends all that runs and starts nothing more. From any thread, and from a signal's handler."""
        self.stopping = self.stopping or why

    def run(self) -> None:
        while self.waiting or self.running:
            if not self.stopping and time.monotonic() > self.deadline:
                self.stop("the time of the whole run was over")
            if self.stopping:
                self._end_all()
            self._start_what_fits()
            if not self.running:
                # What is left waits for what nobody provides any more.
                if self.events.empty():
                    self._give_up(self.waiting, "what it needs was never there")
                    continue
            self._wait()

    def _start_what_fits(self) -> None:
        for job in [job for job in self.waiting if job.after & self.missed.keys()]:
            self.waiting.remove(job)
            missing = sorted(job.after & self.missed.keys())[0]
            self.not_run.append((job, self.missed[missing]))
        ready = [job for job in self.waiting if job.after <= self.reached]
        for job in sorted(ready, key=lambda job: -job.expected):
            used = sum(running.slots for running in self.running)
            # In order: what needs two slots must not wait until all that needs one is done.
            if self.running and used + job.slots > self.slots:
                return
            self.waiting.remove(job)
            self._start(job)

    def _start(self, job: Job) -> None:
        log = self.log(job)
        log.parent.mkdir(parents=True, exist_ok=True)
        job.started = time.monotonic()
        self.started += 1
        job.mark = f"{os.getpid()}-{self.started}"
        env = os.environ | job.env | {MARK: job.mark}
        piped = job.on_line is not None
        try:
            with log.open("wb") as out:
                process = Process(
                    job.command,
                    cwd=job.cwd,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE if piped else out,
                    stderr=out if piped else subprocess.STDOUT,
                    # Its own group, so that all of it ends with it.
                    start_new_session=True,
                )
        except OSError as error:
            log.write_text(f"{job.command[0]}: {error}\n")
            self._finish(job, 127)
            return
        self.running[job] = process
        threading.Thread(target=self._watch, args=(job, process), daemon=True).start()

    def _watch(self, job: Job, process: "Process") -> None:
        for line in process.stdout or ():
            try:
                job.on_line(line.decode(errors="replace"))
            except Exception:
                self.events.put(("broken", traceback.format_exc(), ""))
        if process.stdout:
            process.stdout.close()
        status: int | None = None
        try:
            status = process.wait(timeout=job.limit)
        except subprocess.TimeoutExpired:
            end(process, job.mark)
        job.processor = process.processor
        if not job.leaves:
            job.left = end_what_is_left(job.mark)
        self.events.put(("ended", job, status))

    def _wait(self) -> None:
        try:
            kind, what, value = self.events.get(timeout=0.5)
        except queue.Empty:
            return
        if kind == "reached":
            self.reached.add(what)
        elif kind == "missed":
            self.missed[what] = value
        elif kind == "call":
            self._guard(what)
        elif kind == "broken":
            self.broken.append(what)
        elif self.running.pop(what, None):
            self._finish(what, value)

    def _guard(self, action: Callable, *arguments):
        """What an action returns; None where it fails, which then is a failure of the run."""
        try:
            return action(*arguments)
        except Exception:
            self.broken.append(traceback.format_exc())
            return None

    def _finish(self, job: Job, status: int | None) -> None:
        job.ended = time.monotonic()
        text = self.log(job).read_text(errors="replace")
        results = self._guard(job.judge, job, status, text)
        if results is None:
            results = [Result(job.name, False, "it could not be judged: see below")]
        if job.stopped and status != 0:
            results = [Result(job.name, False, f"it was stopped: {job.stopped}", checks=(0, 1))]
        for result in results:
            result.alone = result.alone or job.alone
            result.log = self.log(job)
            if not result.seconds:
                result.seconds = (job.ended - job.started) / max(1, len(results))
        self.finished.append((job, results))
        failed = [result for result in results if result.tried and not result.passed]
        if job.prints == "all" or failed:
            self.say(text.rstrip("\n"))
        for result in results:
            if result.tried and not result.ignored:
                took = f" ({job.ended - job.started:.1f} s)" if len(results) == 1 else ""
                self.say(f"{'ok  ' if result.passed else 'FAIL'}  {result.name}{took}")
        if job.on_end:
            self._guard(job.on_end, results)

    def _end_all(self) -> None:
        self._give_up(self.waiting, self.stopping)
        for job, process in self.running.items():
            # Its watcher sees it end.
            job.stopped = self.stopping
            signal_group(process, signal.SIGTERM)
        for job, process in list(self.running.items()):
            end(process, job.mark)
            if process.returncode is None:
                # Nobody waits for what cannot be ended.
                self.running.pop(job)
                self._finish(job, None)

    def _give_up(self, jobs: list[Job], why: str) -> None:
        self.not_run += [(job, why) for job in jobs]
        jobs.clear()

    def log(self, job: Job) -> Path:
        name = re.sub(r"[^\w.:-]+", "_", job.name)
        return self.logs / (f"{name}.txt" if job.attempt == 1 else f"{name}.{job.attempt}.txt")


def end(process: Process, mark: str) -> None:
    """Ends a process, its group, and whatever else of it carries the mark."""
    signal_group(process, signal.SIGTERM)
    try:
        process.wait(timeout=GRACE)
    except subprocess.TimeoutExpired:
        pass
    signal_group(process, signal.SIGKILL)
    kill_marked(mark)
    try:
        process.wait(timeout=GRACE)
    except subprocess.TimeoutExpired:
        # Another user's, or the kernel does not let go of it: the run goes on without.
        pass


def end_what_is_left(mark: str) -> list[str]:
    """Ends what is still running of a job that has ended, and names those programs."""
    until = time.monotonic() + LEAVE
    # Twice: see kill_marked.
    while (found := marked(mark) or marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    names = sorted(filter(None, map(program, found)))
    if found:
        kill_marked(mark)
    return names


def kill_marked(mark: str) -> None:
    # One that is about to become another program has no environment for a moment, so once more when there seems to be none.
    quiet, until = 0, time.monotonic() + GRACE
    while quiet < 2 and time.monotonic() < until:
        found = marked(mark)
        quiet = 0 if found else quiet + 1
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.05)


def signal_group(process: Process, number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except OSError:
        pass


def program(pid: int) -> str:
    """What a process calls itself; empty for one that is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def marked(mark: str) -> list[int]:
    """The processes whose environment has the mark of a job."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if wanted in Path(entry.path, "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                pass
    return found

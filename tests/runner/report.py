"""The end of a run, in at most 80 lines: whoever reads a run sees its end only."""

import re
from pathlib import Path

from pool import Pool, Result

LINES = 80
# Shown of those that took longest.
SLOWEST = 10
# Shown of those that took most of the processor.
HUNGRIEST = 12
# Lines of the reason of one failure.
REASON = 15
# So many flaky ones are a failure.
FLAKY = 3
# Lines of the reason of a flaky one: its log is seldom at hand where only the end of a run is.
FLAKY_REASON = 4


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


class Report:
    def __init__(self, pool: Pool, started: float, ended: float, kept: float | None):
        self.pool, self.started, self.ended, self.kept = pool, started, ended, kept
        first: dict[str, Result] = {}
        second: dict[str, Result] = {}
        for job, results in pool.finished:
            for result in results:
                tries = first if job.attempt == 1 else second
                # Of two by one name the one that failed.
                if result.tried and (result.name not in tries or tries[result.name].passed):
                    tries[result.name] = result
        self.last = first | second
        self.failed = [result for result in self.last.values() if not result.passed]
        self.failed += [Result("the runner itself", False, reason) for reason in pool.broken]
        self.flaky = [(first[name], second[name]) for name in second if name in first and second[name].passed and not first[name].passed]
        self.passed_checks = sum(result.counts()[0] for result in self.last.values())
        self.failed_checks = sum(result.counts()[1] for result in self.last.values()) + len(pool.broken)
        self.ignored = sum(result.ignored for result in self.last.values())

    def good(self) -> bool:
        return not self.failed and not self.pool.not_run and len(self.flaky) < FLAKY and self.passed_checks > 0

    def lines(self) -> list[str]:
        head = [f"=== sums (at {clock(self.ended - self.started)})", *self.parts(), *self.slowest()]
        tail = [*self.flaky_lines(), *self.not_run_lines(), *self.time_lines(), *self.sum_lines()]
        return head + self.failure_lines(LINES - len(head) - len(tail)) + tail

    def parts(self) -> list[str]:
        parts: dict[str, list] = {}
        for job, _ in self.pool.finished:
            parts.setdefault(job.part, []).append(job)
        lines = []
        for part, jobs in parts.items():
            names = {result.name for job, results in self.pool.finished if job.part == part for result in results}
            results = [self.last[name] for name in names if name in self.last]
            counts = [sum(column) for column in zip(*(result.counts() for result in results))] or [0, 0]
            first, last = min(job.started for job in jobs), max(job.ended for job in jobs)
            work = sum(job.ended - job.started for job in jobs)
            processor = sum(job.processor for job in jobs)
            lines.append(
                f"{part:<22} {counts[0]:5d} passed {counts[1]:4d} failed   {clock(first - self.started)} to {clock(last - self.started)}, {clock(work)} of work, {clock(processor)} of processor"
            )
        return lines

    def slowest(self) -> list[str]:
        longest = sorted(self.pool.finished, key=lambda entry: entry[0].started - entry[0].ended)
        jobs = [job for job, _ in longest if job.part != "building"][:SLOWEST]
        named = [f"{job.ended - job.started:.0f} s {job.name}" for job in jobs]
        hungry = sorted(jobs_of(self.pool), key=lambda job: -job.processor)[:HUNGRIEST]
        most = ", ".join(f"{job.processor:.0f} s {job.name}" for job in hungry if job.processor >= 1)
        lines = ["slowest:", *(f"  {entry}" for entry in named)] if named else []
        return [*lines, *([f"most of processor: {most}"[:900]] if most else [])]

    def failure_lines(self, room: int) -> list[str]:
        if not self.failed:
            return []
        lines = []
        for at, result in enumerate(self.failed):
            left = len(self.failed) - at
            # Each has its name and how to run it; what is left over is for reasons.
            share = min(REASON, (room - len(lines) - 1) // left - 2)
            if share < 1 and left > 1 and room - len(lines) < 2 * left + 1:
                lines.append(f"FAILED: {left} more; see {self.pool.logs.parent / 'failed.txt'}")
                break
            reason = [line[:300] for line in result.reason.splitlines() if line.strip()][:max(share, 1)]
            lines += [f"FAILED: {result.name}", *(f"    {line}" for line in reason)]
            if result.alone:
                lines.append(f"    alone: {result.alone}")
        return lines

    def flaky_lines(self) -> list[str]:
        lines = []
        for first, second in self.flaky[:6]:
            lines_of = [line.strip() for line in first.reason.splitlines() if line.strip() and not line.startswith("thread '")]
            said = (lines_of or ["it failed"])[:FLAKY_REASON]
            lines.append(f"flaky: {first.name}: failed after {first.seconds:.0f} s, then passed in {second.seconds:.0f} s by itself")
            lines += [f"    {line[:200]}" for line in said]
            lines.append(f"    log: {first.log}")
        if len(self.flaky) > 6:
            lines.append(f"flaky: {len(self.flaky) - 6} more")
        if len(self.flaky) >= FLAKY:
            lines.append(f"FAILED: {len(self.flaky)} flaky ones; from {FLAKY} on they are a failure")
        return lines

    def not_run_lines(self) -> list[str]:
        why: dict[str, list[str]] = {}
        for job, reason in self.pool.not_run:
            why.setdefault(reason, []).append(job.name)
        return [
            f"NOT RUN, {reason}: {len(names)}: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}"[:400] for reason, names in why.items()
        ]

    def time_lines(self) -> list[str]:
        if self.kept is None:
            return []
        took = self.ended - self.started
        change = round((took - self.kept) / self.kept * 100)
        return [f"time: {clock(took)}; tests/time.md has {clock(self.kept)} ({change:+d} %)"]

    def sum_lines(self) -> list[str]:
        notes = [note for note in (note() for note in self.pool.notes) if note]
        left = [f"{job.name} ({', '.join(job.left)})" for job, _ in self.pool.finished if job.left]
        notes += [f"ended with processes left, which were stopped: {len(left)}: {'; '.join(left)}"[:400]] if left else []
        notes += [f"ignored (see #[ignore] for each reason): {self.ignored}"] if self.ignored else []
        notes += [f"flaky: {len(self.flaky)}"] if self.flaky else []
        return [*notes, f"{self.passed_checks} passed, {self.failed_checks} failed"]

    def write(self) -> None:
        """The end, all failures whole, and what each job took, for who reads more than the end."""
        texts = [f"{result.name}\n{result.reason}\nalone: {result.alone}\nlog: {result.log}\n" for result in self.failed]
        self.pool.logs.parent.mkdir(parents=True, exist_ok=True)
        (self.pool.logs.parent / "failed.txt").write_text("\n".join(texts))
        took = sorted(((job.processor, job.ended - job.started, job.name) for job, _ in self.pool.finished), reverse=True)
        lines = [f"{processor:7.1f} s of processor in {seconds:6.1f} s  {name}" for processor, seconds, name in took]
        (self.pool.logs.parent / "took.txt").write_text("\n".join([*lines, ""]))
        (self.pool.logs.parent / "sums.txt").write_text("\n".join([*self.lines(), ""]))


def jobs_of(pool: Pool) -> list:
    return [job for job, _ in pool.finished if job.part != "building"]


def kept_time(page: Path, kind: str) -> float | None:
    """The seconds that the page has for a kind of run: the last row of that kind."""
    found = re.findall(rf"^\| {re.escape(kind)} \|[^|]*\| (\d+) min (\d+) s \|", page.read_text(), re.M)
    return int(found[-1][0]) * 60.0 + int(found[-1][1]) if found else None

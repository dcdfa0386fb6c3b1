"""What a run does with tests that hang, fail once, fail twice, or cannot begin; and what its end says."""

import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cargo  # noqa: E402
import changed  # noqa: E402
import long  # noqa: E402
import main  # noqa: E402
import report  # noqa: E402
import scenes  # noqa: E402
from editors import judge_status  # noqa: E402
from pool import Job, Pool, Result, marked  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        self.said = []
        self.pool = Pool(self.path / "logs", 2, time.monotonic() + 30, self.said.append)

    def job(self, name, script, **more):
        return Job(name, "part", ["sh", "-c", script], more.pop("judge", judge_status), **more)

    def run_all(self, *jobs):
        started = time.monotonic()
        for job in jobs:
            self.pool.add(job)
        self.pool.run()
        main.say, kept = self.said.append, main.say
        try:
            main.try_again(self.pool)
        finally:
            main.say = kept
        return report.Report(self.pool, started, time.monotonic(), None)

    def test_what_passes_is_counted(self):
        judge = lambda job, status, text: [Result(job.name, status == 0)]
        end = self.run_all(self.job("one", "true", judge=judge), self.job("two", "true", judge=judge))
        self.assertTrue(end.good())
        self.assertEqual(end.lines()[-1], "2 passed, 0 failed")

    def test_what_hangs_is_ended_and_named_with_all_that_it_started(self):
        script = "echo begun; setsid sleep 77 & sleep 77"
        started = time.monotonic()
        end = self.run_all(self.job("it hangs", script, limit=0.3))
        self.assertLess(time.monotonic() - started, 10)
        self.assertFalse(end.good())
        lines = "\n".join(end.lines())
        self.assertIn("FAILED: it hangs", lines)
        self.assertIn("it was stopped after 0 s", lines)
        self.assertIn("begun", lines)
        for job, _ in self.pool.finished:
            self.assertEqual(marked(job.mark), [])
        sleeping = [path for path in Path("/proc").glob("[0-9]*/cmdline") if read(path) == b"sleep\x0077\x00"]
        self.assertEqual(sleeping, [])

    def test_what_fails_once_is_flaky_and_three_of_them_are_a_failure(self):
        def once(name):
            return self.job(name, f"test -e {self.path}/{name} || {{ touch {self.path}/{name}; echo the first time; exit 1; }}", judge=judge_one)

        end = self.run_all(once("a"), once("b"))
        self.assertTrue(end.good())
        self.assertIn("flaky: a: failed after", "\n".join(end.lines()))
        self.assertIn("2 passed, 0 failed", end.lines())
        log = end.flaky[0][0].log
        self.assertEqual(log.read_text(), "the first time\n")
        for name in "ab":
            (self.path / name).unlink()
        self.pool = Pool(self.path / "logs", 2, time.monotonic() + 30, self.said.append)
        self.assertFalse(self.run_all(once("a"), once("b"), once("c")).good())

    def test_what_fails_twice_has_its_name_reason_and_command(self):
        def judge(job, status, text):
            return [Result(job.name, False, text, alone="cargo test --lib -- --exact x")]

        end = self.run_all(self.job("lib x", "seq 100", judge=judge))
        at = end.lines().index("FAILED: lib x")
        self.assertEqual(end.lines()[at + 1], "    1")
        self.assertEqual(end.lines()[at + 15], "    15")
        self.assertEqual(end.lines()[at + 16], "    alone: cargo test --lib -- --exact x")
        self.assertEqual(end.lines()[-1], "0 passed, 1 failed")

    def test_what_waits_for_a_failed_build_is_said_not_to_have_run(self):
        build = self.job("the build", "echo error: no; exit 1")
        build.part = "building"
        build.on_end = lambda results: self.pool.miss("server", "the build failed")
        end = self.run_all(build, self.job("a scene", "true", after=frozenset({"server"})))
        self.assertFalse(end.good())
        self.assertIn("NOT RUN, the build failed: 1: a scene", end.lines())
        self.assertIn("    error: no", end.lines())

    def test_where_the_time_is_over_the_rest_is_named(self):
        self.pool.deadline = time.monotonic() + 0.5
        end = self.run_all(self.job("long", "sleep 30", slots=2, expected=9), self.job("later", "true", slots=2))
        self.assertFalse(end.good())
        lines = "\n".join(end.lines())
        self.assertIn("NOT RUN, the time of the whole run was over: 1: later", lines)
        self.assertIn("FAILED: long", lines)

    def test_the_end_has_at_most_80_lines(self):
        def judge(job, status, text):
            return [Result(job.name, False, "why\n" * 40, alone="run it") for _ in range(1)]

        for count in (1, 3, 20, 60):
            with self.subTest(count=count):
                self.pool = Pool(self.path / "logs", 8, time.monotonic() + 30, self.said.append)
                end = self.run_all(*(self.job(f"test {at}", "true", judge=judge) for at in range(count)))
                lines = end.lines()
                self.assertLessEqual(len(lines), 80)
                self.assertEqual(lines[-1], f"0 passed, {count} failed")
                named = sum(line.startswith("FAILED: test") for line in lines)
                more = next((int(line.split()[1]) for line in lines if " more; see" in line), 0)
                self.assertEqual(named + more, count)

    def test_tests_that_a_process_did_not_come_to_are_tried_by_themselves(self):
        text = "test a::one ... ok\ntest a::two ... FAILED\n\nfailures:\n\n---- a::two stdout ----\nit is broken\n\n"
        results = cargo.judge("lib", "--lib", ["a::one", "a::two", "a::three"], 101, text, 60)
        self.assertEqual([(result.passed, result.tried) for result in results], [(True, True), (False, True), (False, False)])
        self.assertEqual(results[1].reason, "it is broken")
        self.assertEqual(results[1].alone, "cargo test --lib -- --exact a::two")

    def test_a_test_that_ends_at_its_limit_says_so(self):
        result = cargo.judge("it", "--test it", ["a"], None, "\nrunning 1 test\n", 60)[0]
        self.assertEqual(result.reason.splitlines()[0], "it was stopped after 60 s")

    def test_a_name_that_no_test_has_does_not_pass(self):
        text = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n"
        self.assertFalse(cargo.judge("it", "--test it", ["gone"], 0, text, 60)[0].passed)

    def test_rows_of_what_takes_long_are_read(self):
        table = long.Long(ROOT / "tests/long.md")
        self.assertEqual(table.of("vscode-chat:edits").expected, 87)
        self.assertEqual(table.of("vscode-chat:keys").limit, 240)
        self.assertEqual(table.of("it agent::turn::x").limit, 60)

    def test_scenes_are_chosen_and_wrong_ones_named(self):
        everything = scenes.chosen(ROOT, [])
        self.assertIn(("vscode-no-server", "start"), everything)
        self.assertGreater(len(everything), 100)
        self.assertEqual(scenes.chosen(ROOT, ["helix:fix"]), [("helix", "fix")])
        self.assertNotIn(("vscode-chat", "fix"), everything)
        for wrong in ("vi", "helix:nothing", "vi:fix"):
            with self.assertRaises(scenes.Unknown):
                scenes.chosen(ROOT, [wrong])

    def test_a_room_has_its_tests_and_an_unknown_file_all(self):
        self.assertEqual(changed.wanted(["src/patch/apply.rs"]), sorted({"it tidy::*", "lib patch::*", "it patch::*", "it apply_patch::*", "it hostile::killed::*"}))
        self.assertIn("it agent::turn*", changed.wanted(["tests/it/agent/turn.rs"]))
        self.assertIn("scene :typing", changed.wanted(["tests/editors/scenes/typing/scene.mjs"]))
        self.assertIsNone(changed.wanted(["src/ids.rs", "src/patch.rs"]))

    def test_the_rooms_of_the_table_are_there(self):
        for start, _ in changed.ROOMS:
            self.assertTrue((ROOT / start).exists(), start)


def judge_one(job, status, text):
    return [Result(job.name, status == 0, text)]


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    unittest.main()

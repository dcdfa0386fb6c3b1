"""What a run does with tests that hang, fail once, fail twice, or cannot begin; and what its end says."""

import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cargo  # noqa: E402
import changed  # noqa: E402
import extension  # noqa: E402
import long  # noqa: E402
import main  # noqa: E402
import report  # noqa: E402
import scenes  # noqa: E402
from editors import judge_lines, judge_status, judge_unittest  # noqa: E402
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
        script = "echo begun; setsid sleep 600 & sleep 600"
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

    def test_what_a_job_leaves_behind_is_ended_and_named(self):
        end = self.run_all(self.job("it leaves", "setsid sleep 600 & sleep 0.3", judge=judge_one))
        self.assertTrue(end.good())
        self.assertIn("ended with processes left, which were stopped: 1: it leaves (sleep)", end.lines())
        self.assertEqual(marked(self.pool.finished[0][0].mark), [])

    def test_what_a_job_takes_of_the_processor_is_said(self):
        burn = "import time\nwhile time.process_time() < 1.2: pass"
        end = self.run_all(self.job("it burns", f"python3 -c '{burn}'", judge=judge_one), self.job("it sleeps", "sleep 0.3", judge=judge_one))
        self.assertIn("most of processor: 1 s it burns", end.lines())

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

    def test_a_program_that_is_not_there_is_named(self):
        end = self.run_all(Job("no program", "part", ["/nowhere/at-all"], judge_status, alone="at-all"))
        self.assertIn("/nowhere/at-all: [Errno 2]", end.failed[0].reason)
        self.assertIn("    alone: at-all", end.lines())

    def test_two_of_one_name_are_both_judged(self):
        end = self.run_all(self.job("twice", "sleep 0.2; exit 1", judge=judge_one), self.job("twice", "sleep 0.4", judge=judge_one))
        self.assertEqual([(result.name, result.passed) for _, results in self.pool.finished for result in results],
                         [("twice", False), ("twice", True), ("twice", False)])
        self.assertFalse(end.good())

    def test_what_breaks_in_the_runner_is_a_failure_of_the_run(self):
        def broken(job, status, text):
            raise ValueError("no sense in it")

        def adds(results):
            raise KeyError("who knows")

        end = self.run_all(self.job("judged", "true", judge=broken), self.job("ends", "true", judge=judge_one, on_end=adds),
                           self.job("reads", "echo line", judge=judge_one, on_line=lambda line: 1 / 0))
        self.assertFalse(end.good())
        lines = "\n".join(end.lines())
        for said in ("FAILED: judged", "no sense in it", "who knows", "division by zero", "FAILED: the runner itself"):
            self.assertIn(said, lines)

    def test_whoever_stops_a_run_gets_its_sums_and_nothing_goes_on(self):
        script = f"""
import sys, time
sys.path.insert(0, {str(ROOT / "tests/runner")!r})
import main, report
from pathlib import Path
from pool import Job, Pool
from editors import judge_status
sys.modules["pool"].GRACE = 1
pool = Pool(Path({str(self.path)!r}) / "logs", 2, time.monotonic() + 60, main.say)
main.stop_by_signals(pool)
pool.add(Job("stubborn", "part", ["sh", "-c", "trap '' TERM; echo it runs; sleep 600 & wait; sleep 600"], judge_status, limit=100))
pool.add(Job("later", "part", ["true"], judge_status, slots=2))
main.play(pool, again=True)
print("\\n".join(report.Report(pool, 0, 1, None).lines()), pool.finished[0][0].mark)
"""
        for number, at_once in ((signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGHUP, False)):
            with self.subTest(number=number):
                # Whoever started this may ignore it.
                run = subprocess.Popen([sys.executable, "-B", "-c", script], stdout=subprocess.PIPE, text=True,
                                       preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, signal.SIGHUP)])
                log = self.path / "logs/stubborn.txt"
                while not (log.exists() and "it runs" in log.read_text()):
                    time.sleep(0.02)
                for _ in range(2 if at_once else 1):
                    run.send_signal(number)
                    time.sleep(0.3)
                said = run.communicate(timeout=60)[0]
                self.assertEqual(run.returncode, 0, said)
                self.assertIn("FAILED: stubborn\n    it was stopped: somebody stopped the run", said)
                self.assertIn("NOT RUN, somebody stopped the run: 1: later", said)
                self.assertEqual(marked(said.split()[-1]), [])
                log.unlink()

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
        results = tests_of(["a::one", "a::two", "a::three"], 101, text)
        self.assertEqual([(result.passed, result.tried) for result in results], [(True, True), (False, True), (False, False), (False, True)])
        self.assertEqual(results[1].reason, "it is broken")
        self.assertEqual(results[1].alone, "cargo test --lib -- --exact a::two")

    def test_a_process_that_does_not_end_as_tests_do_fails_whatever_its_tests_said(self):
        said = "test a::one ... ok\ntest a::two ... ok\n\ntest result: ok. 2 passed; 0 failed\n"
        for status, text, good in [
            (0, said, True),
            (-6, said, False),
            (None, said, False),
            (101, said, False),
            (3, said.replace("two ... ok", "two ... FAILED"), False),
            (101, said.replace("two ... ok", "two ... FAILED"), True),
            (-11, "test a::one ... ok\n", False),
        ]:
            with self.subTest(status=status, text=text):
                results = tests_of(["a::one", "a::two"], status, text)
                process = [result for result in results if result.name == "the batch"]
                self.assertEqual([result.passed for result in process], [] if good else [False])
                again = tests_of(["a::one", "a::two"], status, text, attempt=2)
                self.assertEqual([(result.name, result.passed) for result in again], [("the batch", good)])

    def test_a_batch_that_dies_is_tried_again_whole_and_is_flaky_if_it_then_passes(self):
        program = self.path / "program"
        program.write_text(f"""#!/bin/sh
if [ "$1" = --list ]; then printf 'a::one: test\\na::two: test\\n'; exit; fi
test -e {self.path}/died || {{ touch {self.path}/died; echo 'test a::one ... ok'; kill -SEGV $$; }}
shift; n=0
for name; do case $name in a::*) echo "test $name ... ok"; n=$((n+1));; esac; done
echo; echo "test result: ok. $n passed; 0 failed"
""")
        program.chmod(0o700)
        build = cargo.Cargo(ROOT, self.pool, long.Long(ROOT / "tests/long.md"))
        build._list(program, "countersign", "lib")
        end = self.run_all()
        self.assertEqual([first.name for first, _ in end.flaky], ["lib a (2 from a::one)"])
        self.assertIn("it ended with status -11; of 2 tests it did not come to 1", end.flaky[0][0].reason)
        self.assertEqual(end.lines()[-1], "2 passed, 0 failed")

    def test_a_test_program_that_does_not_list_its_tests_is_a_failure(self):
        for script in ("exit 3", "kill -SEGV $$", "echo nothing"):
            with self.subTest(script=script):
                program = self.path / "program"
                program.write_text(f"#!/bin/sh\n{script}\n")
                program.chmod(0o700)
                self.pool = Pool(self.path / "logs", 2, time.monotonic() + 30, self.said.append)
                cargo.Cargo(ROOT, self.pool, long.Long(ROOT / "tests/long.md"))._list(program, "it", "test")
                end = self.run_all()
                self.assertEqual([result.name for result in end.failed], ["it: the list of its tests"])

    def test_a_test_that_ends_at_its_limit_says_so(self):
        self.assertEqual(tests_of(["a"], None, "\nrunning 1 test\n")[0].reason.splitlines()[0], "it was stopped after 60 s")

    def test_a_name_that_no_test_has_does_not_pass(self):
        text = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n"
        self.assertFalse(tests_of(["gone"], 0, text)[0].passed)

    def test_what_checks_nothing_does_not_pass(self):
        job = Job("x", "part", [], judge_status)
        for judge, text in ((judge_lines, ""), (judge_unittest, "Ran 0 tests in 0.0s\n"), (extension.judge_tap, "# pass 0\n# fail 0\n"), (scenes.judge, "")):
            with self.subTest(judge=judge):
                self.assertFalse(judge(job, 0, text)[0].passed)

    def test_rows_of_what_takes_long_are_read(self):
        page = self.path / "long.md"
        page.write_text("# Long\n\n| name | expected s | limit s | why |\n|---|---|---|---|\n| `a:b` | 8 | 240 | one | or two |\n| `a:*` | 5 | 90 | |\n")
        table = long.Long(page)
        self.assertEqual([(row.expected, row.limit) for row in map(table.of, ("a:b", "a:c", "b:a"))], [(8, 240), (5, 90), (1, 60)])
        self.assertGreater(len(long.Long(ROOT / "tests/long.md").rows), 20)

    def test_scenes_are_chosen_and_wrong_ones_named(self):
        everything = scenes.chosen(ROOT, [])
        self.assertIn(("vscode-no-server", "start"), everything)
        self.assertGreater(len(everything), 100)
        self.assertEqual(scenes.chosen(ROOT, ["helix:fix"]), [("helix", "fix")])
        self.assertEqual(scenes.chosen(ROOT, ["helix:fix", "helix:fix"]), [("helix", "fix")])
        self.assertEqual(len(set(scenes.chosen(ROOT, [":fix", "helix"]))), len(scenes.chosen(ROOT, [":fix", "helix"])))
        self.assertNotIn(("vscode-chat", "fix"), everything)
        for wrong in ("vi", "helix:nothing", "vi:fix"):
            with self.assertRaises(scenes.Unknown):
                scenes.chosen(ROOT, [wrong])

    def test_a_room_has_its_tests_and_an_unknown_file_all(self):
        for path, patterns in [
            ("src/patch/apply.rs", {"lib patch::*", "it patch::*", "it apply_patch::*", "it hostile::killed::*"}),
            ("tests/it/agent/turn.rs", {"it agent::turn::*"}),
            # They hold no test: those of the folder around them.
            ("tests/it/agent/stage.rs", {"it agent::*"}),
            ("tests/it/agent/gone.rs", {"it agent::*"}),
            ("tests/editors/scenes/typing/scene.mjs", {"scene :typing"}),
            ("tests/editors/scenes/gone/scene.mjs", set()),
        ]:
            with self.subTest(path=path):
                self.assertEqual(changed.wanted(ROOT, [path]), sorted({"it tidy::*", *patterns}))
        for path in ("src/ids.rs", "tests/it/main.rs", "tests/it/support/mcp.rs", "tests/it/corpus/x", "tests/it/gone.rs", "Cargo.toml"):
            with self.subTest(path=path):
                self.assertIsNone(changed.wanted(ROOT, ["src/patch/apply.rs", path]))

    def test_where_nobody_knows_what_differs_everything_is_run(self):
        def git(*arguments):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=self.path, check=True, capture_output=True)

        with self.assertRaises(changed.NoBase):
            changed.differing(self.path)
        git("init", "-q", "-b", "other")
        for name in ("one", "a name\nof two lines"):
            (self.path / name).write_text("text\n")
        git("add", ".")
        git("commit", "-q", "-m", "x")
        with self.assertRaises(changed.NoBase):
            changed.differing(self.path)
        git("branch", "main")
        git("mv", "one", "two")
        (self.path / "new").touch()
        self.assertEqual(changed.differing(self.path), ["new", "one", "two"])

    def test_the_rooms_of_the_table_and_their_tests_are_there(self):
        for start, patterns in changed.ROOMS:
            self.assertTrue((ROOT / start).exists(), start)
            for pattern in patterns:
                kind, _, name = pattern.partition(" ")
                if kind in ("lib", "it"):
                    place = ROOT / ("src" if kind == "lib" else "tests/it") / name.removesuffix("::*").removesuffix("*").replace("::", "/")
                    found = [*place.parent.glob(f"{place.name}*.rs"), *place.rglob("*.rs")]
                    self.assertTrue(any(map(changed.has_tests, found)), pattern)
                elif kind == "scene":
                    self.assertTrue(scenes.chosen(ROOT, [name]), pattern)


def tests_of(names, status, text, attempt=1):
    job = Job("the batch", "part", [], judge_status, attempt=attempt)
    return cargo.judge(job, "lib", "cargo test --lib -- --exact", names, status, text)


def judge_one(job, status, text):
    return [Result(job.name, status == 0, text)]


if __name__ == "__main__":
    unittest.main()

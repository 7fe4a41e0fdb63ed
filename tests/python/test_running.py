# SPDX-License-Identifier: Apache-2.0
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
import warnings
from pathlib import Path

import heddle
import numpy
import support
from heddle import errors, experiment, progress


def processes(folder):
    """Those whose command line names the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if b"sweep" in words and os.fsencode(folder) in words:
            found.append(path)
    return found


def wait_until(what, seconds=60):
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.05)
    return what()


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(support.folder()) if hasattr(self, "enterContext") else self._enter()

    def _enter(self):  # Python 3.10.
        context = support.folder()
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()


class RunTest(Case):
    def test_a_dict_gives_the_results_of_the_same_file(self):
        run = heddle.run(support.experiment(), out="dict", progress=False)
        Path("small.yaml").write_text("""
name: small
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}
transport: dctcp
lb: ecmp
workload: [{kind: poisson, sizes: small, load: 0.5, flows: 60}]
""", encoding="utf-8")
        subprocess.run([heddle.find_program(), "run", "small.yaml", "--out", "file", "--quiet"], check=True)
        self.assertEqual(support.contents(run.folder), support.contents("file"))
        self.assertEqual(run.experiment["lb"]["kind"], "ecmp")
        self.assertTrue(run.is_complete)
        self.assertEqual(heddle.load("file").totals["name"], "small")

    def test_what_has_results_is_not_run_again(self):
        first = heddle.run(support.experiment(), progress=False)
        self.assertEqual(first.folder.parents[1], Path("results/small"))
        changed = first.folder.joinpath("summary.json").stat().st_mtime_ns
        again = heddle.run(support.experiment(), progress=False)
        self.assertEqual(again.folder, first.folder)
        self.assertEqual(again.folder.joinpath("summary.json").stat().st_mtime_ns, changed)
        other = heddle.run(support.experiment(), seed=2, progress=False)
        self.assertNotEqual(other.folder, first.folder)
        forced = heddle.run(support.experiment(), progress=False, force=True)
        self.assertNotEqual(forced.folder.joinpath("summary.json").stat().st_mtime_ns, changed)

    def test_settings_change_an_experiment(self):
        run = heddle.run(support.experiment(), settings={"lb": {"kind": "letflow", "gap": "70us"}, "name": "other"},
                         seed=9, threads=2, progress=False)
        self.assertEqual(run.experiment["lb"]["gap"], "70us")
        self.assertEqual(run.totals["seed"], 9)
        self.assertEqual(run.folder.parents[1], Path("results/other"))

    def test_paths_in_a_dict_start_in_the_current_folder(self):
        Path("flows.csv").write_text("src,dst,size_bytes,start_ps\n0,2,1000,0\n", encoding="utf-8")
        flows = {"workload": [{"kind": "trace", "file": "flows.csv"}]}
        try:
            heddle.check({**support.experiment(), **flows})
        except heddle.BadInput as error:
            self.assertNotIn("cannot be read", str(error))

    def test_results_of_another_experiment_are_never_returned(self):
        few = support.experiment(sweep={"seeds": 2})
        heddle.sweep(few, out="other", progress=False)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))  # As on a full disk.
        try:
            with self.assertRaisesRegex(heddle.Failed, "File too large"):
                heddle.sweep(support.experiment(lb="rps", sweep={"seeds": 120}), out="other", progress=False)
            with self.assertRaises(heddle.Failed):
                heddle.sweep(few, out="other", progress=False, force=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertEqual(len(heddle.load("other")), 2)

    def test_a_sweep_is_not_a_run(self):
        with self.assertRaisesRegex(heddle.BadInput, "sweep of 16 points; heddle.sweep"):
            heddle.run(support.SWEEP)

    def test_numpy_values_are_values(self):
        self.assertEqual(experiment.plain({"a": numpy.float64(0.5), "b": numpy.arange(3), "c": (1e-7, True, None)}, ""),
                         {"a": 0.5, "b": [0, 1, 2], "c": ["0.0000001", True, None]})


class ErrorsTest(Case):
    def test_all_mistakes_come_at_once_with_their_keys(self):
        with self.assertRaises(heddle.BadInput) as caught:
            heddle.run({**support.experiment(), "lb": "ecpm", "topology": {**support.TOPOLOGY, "spines": 0}})
        problems = {problem.key: problem for problem in caught.exception.problems}
        self.assertIn('did you mean "ecmp"', problems["lb.kind"].message)
        self.assertIn("out of range", problems["topology.spines"].message)
        self.assertEqual(problems["topology.spines"].place, "")
        self.assertNotIn("experiment.yaml", str(caught.exception))

    def test_mistakes_in_a_file_have_places(self):
        Path("bad.yaml").write_text("lb: ecpm\n", encoding="utf-8")
        with self.assertRaises(heddle.BadInput) as caught:
            heddle.sweep("bad.yaml", settings={"nix": 1})
        places = {problem.key: problem.place for problem in caught.exception.problems}
        self.assertEqual(places["lb.kind"], "bad.yaml:1:5")
        self.assertEqual(places["nix"], "--set nix=1")
        with self.assertRaisesRegex(heddle.BadInput, "none.yaml"):
            heddle.sweep("none.yaml")

    def test_what_is_no_value_is_named(self):
        with self.assertRaisesRegex(heddle.BadInput, r"^workload\[0\]\.load: .* is a complex"):
            heddle.run(support.experiment(workload=[{"load": 1j}]))
        with self.assertRaisesRegex(heddle.BadInput, "the key 3 is a int"):
            heddle.run({3: 4})

    def test_incomplete_results_are_an_error_with_the_results(self):
        short = support.experiment(measure={"t_max": "100us"})
        with self.assertRaisesRegex(heddle.Failed, "1 incomplete") as caught:
            heddle.run(short, progress=False)
        self.assertEqual(list(caught.exception.results.points().state), ["incomplete"])
        self.assertFalse(heddle.run(short, progress=False, check=False).is_complete)

    def test_a_program_that_is_not_there(self):
        with unittest.mock.patch.dict(os.environ, HEDDLE="/no/heddle"):
            with self.assertRaisesRegex(heddle.NoProgram, "HEDDLE=/no/heddle"):
                heddle.run(support.experiment())

    def test_exit_codes(self):
        from heddle import program, running
        for code, kind in ((1, heddle.Failed), (3, heddle.BrokenInvariant), (143, heddle.Stopped), (9, heddle.Error)):
            with self.assertRaisesRegex(kind, "^why"):
                running.raise_for(program.Ended(code, "", "heddle: why"))

    def test_warnings_of_runs_are_warnings(self):
        from heddle import running
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            running.pass_on_warnings("a: warning: beware\nheddle: 8 of 8 points are there already\na: warning: beware")
        self.assertEqual([(w.category, str(w.message)) for w in caught], [(heddle.RunWarning, "a: beware")])

    def test_a_message_without_a_place(self):
        self.assertEqual(errors.bad_input("heddle: no\n1 error").problems, [heddle.Problem("", "", "no")])


class ProgressTest(Case):
    def test_a_function_gets_text_and_share(self):
        seen = []
        heddle.sweep(support.experiment(flows=20_000, sweep={"lb": ["ecmp", "rps", "letflow"]}), jobs=1,
                     progress=lambda text, share: seen.append((text, share)))
        self.assertTrue(seen)
        for text, share in seen:
            self.assertRegex(text, r"^\d of 3 points done, \d running, \d+ % of the work")
            self.assertTrue(0 <= share <= 1)

    def test_messages_are_told_from_progress(self):
        from heddle import program
        shown = []
        messages = program._Messages(shown.append)
        messages.add(b"\r1 of 2 points done\033[K\r2 of")
        messages.add(b" 2 points done\033[K\r\033[Ka: warning: x\nheddle: b")
        self.assertEqual(shown, ["1 of 2 points done", "2 of 2 points done"][:len(shown)])
        self.assertEqual(messages.text(), "a: warning: x\nheddle: b")

    def test_share(self):
        self.assertEqual(progress.share_of("1 of 2 points done, 38 % of the work, ? left"), 0.38)


class StopTest(Case):
    def test_an_interrupt_stops_the_program_and_leaves_nothing(self):
        threading.Thread(target=self._interrupt).start()
        with self.assertRaises(KeyboardInterrupt):
            heddle.sweep(support.LONG, out=self.folder / "long", progress=lambda *_: None)
        self.assertEqual(processes(self.folder / "long"), [])
        self.assertEqual([path for path in Path("long/points").iterdir() if path.is_dir()], [])

    def _interrupt(self):
        wait_until(lambda: len(processes(self.folder / "long")) > 1)
        os.kill(os.getpid(), signal.SIGINT)

    def test_the_program_ends_with_its_parent(self):
        out = self.folder / "orphan"
        code = f"import heddle, support; heddle.sweep(support.LONG, out={str(out)!r})"
        parent = subprocess.Popen([sys.executable, "-c", code],
                                  env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        # The parent, the program, which has asked the kernel for the signal by then, and one that runs a point.
        self.assertTrue(wait_until(lambda: len(processes(out)) > 2))
        parent.kill()
        parent.wait()
        self.assertTrue(wait_until(lambda: not processes(out)))


if __name__ == "__main__":
    unittest.main()

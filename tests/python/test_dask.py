# SPDX-License-Identifier: Apache-2.0
"""Sweeps on a cluster of Dask on this machine: a scheduler and two workers, each a process."""

import os
import signal
import threading
import unittest
import unittest.mock
import warnings
from pathlib import Path

import heddle
import support
from test_running import processes, wait_until


@unittest.skipUnless(support.has("distributed"), "distributed is not installed")
class DaskTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from distributed import Client, LocalCluster
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls.cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                                       silence_logs=60)
        cls.client = Client(cls.cluster)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.cluster.close()

    def setUp(self):
        context = support.folder()
        self.folder = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def test_results_are_those_of_the_local_sweep(self):
        seen = []
        sweep = heddle.sweep(support.SWEEP, out="dask", client=self.client,
                             progress=lambda text, share: seen.append(share))
        sweep.collect()
        support.sweep().collect()
        local, there = support.contents(support.sweep().folder), support.contents("dask")
        for files in (local, there):  # Where relative paths start, which is another folder.
            files["sweep.yaml"] = [line for line in files["sweep.yaml"] if not line.startswith(b"relative_to")]
        self.assertEqual(there, local)
        self.assertEqual(len(there), 16 * 7 + 4)
        self.assertEqual((len(seen), seen[-1]), (16, 1))

    def test_only_what_is_missing_runs(self):
        heddle.sweep(support.SWEEP, settings={"sweep.seeds": 1}, out="more", progress=False)
        seen = []
        heddle.sweep(support.SWEEP, out="more", client=self.client, progress=lambda text, share: seen.append(share))
        self.assertEqual(len(seen), 8)
        heddle.sweep(support.SWEEP, out="more", client=self.client, progress=lambda text, share: seen.append(share))
        self.assertEqual(len(seen), 8)

    def test_a_lost_worker_costs_nothing_but_time(self):
        longer = support.experiment(flows=100_000, sweep={"lb": ["ecmp", "rps"]})
        out = self.folder / "lost"
        threading.Thread(target=self._lose_worker, args=(out,)).start()
        sweep = heddle.sweep(longer, out=out, client=self.client, progress=False)
        self.assertEqual(set(sweep.points().state), {"done"})
        self.assertTrue(self.lost)

    def _lose_worker(self, out):
        wait_until(lambda: len(processes(out)) > 1)
        pid = next(iter(self.cluster.workers.values())).pid
        os.kill(pid, signal.SIGKILL)
        self.lost = True

    def test_an_interrupt_stops_the_points_on_all_workers(self):
        out = self.folder / "long"

        def interrupt():
            wait_until(lambda: len(processes(out)) > 2)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with self.assertRaises(KeyboardInterrupt):
            heddle.sweep(support.LONG, out=out, client=self.client, progress=False)
        self.assertEqual(processes(out), [])
        self.assertEqual([path for path in Path("long/points").iterdir() if path.is_dir()], [])

    def test_incomplete_points_and_mistakes_are_those_of_the_local_sweep(self):
        short = support.experiment(measure={"t_max": "100us"}, sweep={"lb": ["ecmp", "rps"]})
        with self.assertWarnsRegex(heddle.RunWarning, "t_max ends the run"):
            with self.assertRaisesRegex(heddle.Failed, "2 incomplete"):
                heddle.sweep(short, out="short", client=self.client, progress=False)
        with self.assertRaisesRegex(heddle.BadInput, "^lb.kind: .*did you mean"):
            heddle.sweep(support.experiment(sweep={"lb": ["ecpm"]}), client=self.client)

    def test_a_worker_with_another_program_is_refused(self):
        with unittest.mock.patch("heddle.program.version", lambda: "heddle 0.0.1"):
            with self.assertRaisesRegex(heddle.Failed, "the worker on .* has heddle .*; the client has heddle 0.0.1"):
                heddle.sweep(support.SWEEP, out="other", client=self.client, progress=False)


class WorkerTest(unittest.TestCase):
    def test_a_folder_that_the_worker_does_not_see(self):
        from heddle import cluster
        with self.assertRaisesRegex(heddle.Failed, "does not see the client's folder /no/folder"):
            cluster._refuse_other_worker("/no/folder", heddle.version())


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
import io
import subprocess
import sys
import unittest
from pathlib import Path

import heddle
import support


@unittest.skipUnless(support.has("matplotlib"), "matplotlib is not installed")
class FiguresTest(unittest.TestCase):
    def setUp(self):
        self.part = support.sweep().select({"transport.min_rto": "1ms"})

    def test_slowdown_and_fct_by_load(self):
        for function, name, scale in ((heddle.figures.slowdown, "slowdown", "linear"),
                                      (heddle.figures.fct, "FCT (µs)", "log")):
            figure = function(self.part, classes=["all", "S"])
            self.assertEqual(len(figure.axes), 6)  # Mean, median, p99 of two classes.
            first = figure.axes[0]
            self.assertEqual((first.get_ylabel(), first.get_yscale()), (f"mean {name}", scale))
            self.assertEqual([tuple(line.get_xdata()) for line in first.lines], [(0.2, 0.6)] * 2)
            self.assertIn("Means over 2 seeds", figure.caption)

    def test_a_line_shows_the_means(self):
        means = self.part.means()
        means = means[(means.metric == "avg_slowdown") & (means["class"] == "all") & (means.lb == "ecmp")]
        drawn = heddle.figures.slowdown(self.part, classes=["all"]).axes[0].lines[0]
        self.assertEqual(list(drawn.get_ydata()), list(means.sort_values("workload[0].load")["mean"]))

    def test_means_of_some_seeds_are_refused(self):
        with self.assertRaisesRegex(heddle.BadInput, "means are over all seeds"):
            heddle.figures.slowdown(self.part.select(seed=1))

    def test_the_scale_is_chosen(self):
        self.assertEqual(heddle.figures.slowdown(self.part, log=True).axes[0].get_yscale(), "log")
        self.assertEqual(heddle.figures.fct(self.part, log=False).axes[0].get_yscale(), "linear")

    def test_a_notebook_shows_a_figure(self):
        figure = heddle.figures.costs(self.part)
        self.assertTrue(figure._repr_png_().startswith(b"\x89PNG"))
        drawn = io.BytesIO()
        figure.savefig(drawn, format="pdf")
        self.assertTrue(drawn.getvalue().startswith(b"%PDF"))

    def test_single_runs(self):
        self.assertIn("S", heddle.figures.distribution(self.part, "fct", classes="S").axes[0].get_title())
        self.assertTrue(heddle.figures.links(self.part).axes)
        self.assertTrue(heddle.figures.slowdown(next(iter(self.part))).axes)

    def test_jobs_over_the_size_of_messages_and_their_time_line(self):
        with support.folder():
            results = heddle.sweep(support.experiment(
                transport="rocev2", workload=[{"kind": "collective", "op": "all_reduce", "size": "8KB", "ranks": 4}],
                measure={"operations": True},
                sweep={"lb": ["ecmp", "rps"], "workload[0].size": ["8KB", "80KB"], "seeds": 2}), out="jobs", progress=False)
            drawn = heddle.figures.jobs(results)
            self.assertEqual([axes.get_ylabel() for axes in drawn.axes], [
                "mean time of an iteration (µs)", "p99 time of an iteration (µs)", "bus bandwidth (GB/s)"])
            means = results.means()
            means = means[(means.metric == "run_busbw_gbs") & (means["class"] == "all") & (means.lb == "rps")]
            self.assertEqual(list(drawn.axes[2].lines[1].get_ydata()), list(means["mean"]))
            line = heddle.figures.time_line(results)
            self.assertEqual(len(line.axes), 2)  # A panel for each load balancer.
            self.assertIn("exposed communication", line.caption)
            with self.assertRaisesRegex(heddle.BadInput, "no figure is called 'timeline-2'; there are: jobs, .*timeline-1"):
                heddle.figures.time_line(results, job=2)

    def test_what_cannot_be_drawn_is_named(self):
        with self.assertRaisesRegex(heddle.BadInput, r"select\(\) one of: min_rto=900us; min_rto=1ms"):
            heddle.figures.slowdown(support.sweep())
        with self.assertRaisesRegex(heddle.BadInput, "no recording of queues; set measure.record"):
            heddle.figures.over_time(self.part, "queues")
        with self.assertRaisesRegex(heddle.BadInput, "'Q'; there are: all, S"):
            heddle.figures.fct(self.part, classes="Q")

    def test_the_backend_stays_as_it_is(self):
        code = ("import matplotlib; matplotlib.use('svg'); import heddle; heddle.figures.Figure; "
                "assert matplotlib.get_backend() == 'svg', matplotlib.get_backend()")
        subprocess.run([sys.executable, "-c", code], check=True)

    @unittest.skipUnless(support.has("plotly"), "plotly is not installed")
    def test_the_page_of_the_report(self):
        with support.folder():
            page = support.sweep().report(Path("page.html").resolve())
            self.assertIn("min_rto", page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()

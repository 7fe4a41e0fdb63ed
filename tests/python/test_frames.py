# SPDX-License-Identifier: Apache-2.0
import csv
import unittest
from fractions import Fraction
from pathlib import Path

import heddle
import pandas
import support
from heddle import units


class UnitsTest(unittest.TestCase):
    def test_names_of_columns_have_units(self):
        for name, unit in (("start_ps", "ps"), ("late_p99_ns", "ns"), ("avg_fct_us", "us"), ("bytes", "B"),
                           ("ooo_max_bytes", "B"), ("rate_bps", "bps"), ("goodput_gbps", "Gbps"), ("pkts", "1"),
                           ("busbw_gbs", "GB/s"),
                           ("slowdown", "1"), ("timeouts", "1"), ("unfinished", "1")):
            self.assertEqual(units.of_column(name), unit, name)

    def test_quantities_become_numbers_of_the_smallest_unit(self):
        self.assertEqual(units.numbers({"10us", "1ms", "0.5us"}), ({"10us": 10, "1ms": 1000, "0.5us": 0.5}, "us"))
        self.assertEqual(units.numbers({"10Gbps", "400Mbps"}), ({"10Gbps": 10_000, "400Mbps": 400}, "Mbps"))
        self.assertEqual(units.numbers({"1KiB", "1KB"}), ({"1KiB": float(Fraction(1024, 1000)), "1KB": 1.0}, "KB"))
        self.assertEqual(units.numbers({"1/16", "2"}), ({"1/16": 0.0625, "2": 2.0}, "1"))
        self.assertEqual(units.numbers({"3", "1"}), ({"3": 3, "1": 1}, "1"))
        for texts in ({"auto", "1us"}, {"ecmp"}, {"1us", "1KB"}, set()):
            self.assertIsNone(units.numbers(texts))


class FramesTest(unittest.TestCase):
    def test_a_row_is_a_flow(self):
        flows = support.sweep().flows()
        self.assertEqual(len(flows), 16 * 60)
        self.assertEqual(list(flows.columns[:5]), ["lb", "workload[0].load", "transport.min_rto", "seed", "point"])
        self.assertEqual(set(flows.lb), {"ecmp", "letflow.gap=50us"})
        self.assertEqual(set(flows["transport.min_rto"]), {900, 1000})
        wanted = {"fct_rx_ns": "ns", "size_bytes": "B", "start_ps": "ps", "slowdown": "1", "workload[0].load": "1",
                  "transport.min_rto": "us"}
        self.assertEqual({name: flows.attrs["units"][name] for name in wanted}, wanted)
        self.assertNotIn("class", flows.attrs["units"])

    def test_cells_are_those_of_the_files(self):
        run = next(iter(support.sweep()))
        with open(run.folder / "flows.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        frame = run.flows()
        self.assertEqual(list(frame.columns), list(rows[0]))
        for name in frame.columns:
            self.assertEqual([str(v) if isinstance(v, str) else float(v) for v in frame[name]],
                             [row[name] if isinstance(frame[name][0], str) else float(row[name]) for row in rows])

    def test_columns_are_chosen(self):
        frame = support.sweep().flows(columns=["slowdown", "class"])
        self.assertEqual(list(frame.columns[-2:]), ["slowdown", "class"])
        with self.assertRaisesRegex(heddle.BadInput, "no column 'fct'; there are: flow_id"):
            support.sweep().flows(columns=["fct"])

    def test_other_tables(self):
        sweep = support.sweep()
        self.assertEqual(sweep.tables(), ["flows", "lb", "links", "reorder", "summary"])
        self.assertEqual(len(sweep.summary()), 16 * 5)
        self.assertEqual(len(sweep.reorder()), 16 * 5)
        self.assertEqual(len(sweep.links()), 16 * 16)
        self.assertIn("counter", sweep.table("lb").columns)
        with self.assertRaisesRegex(heddle.BadInput, "no run has series_queue.csv; there are: flows"):
            sweep.table("series_queue")

    def test_points_have_a_row_each(self):
        points = support.sweep().points()
        self.assertEqual(list(points.number), list(range(1, 17)))
        self.assertEqual(set(points.state), {"done"})
        self.assertEqual(points.attrs["units"]["run_end_ps"], "ps")
        self.assertTrue((points.run_data_packets_sent > 0).all())

    def test_means_are_long(self):
        means = support.sweep().means()
        wide = pandas.read_csv(support.sweep().folder / "means.csv")
        one = means[(means.metric == "p99_fct_us") & (means["class"] == "S")].reset_index(drop=True)
        expected = wide[wide["class"] == "S"].reset_index(drop=True)
        self.assertEqual(len(one), 8)
        self.assertEqual(set(one.unit), {"us"})
        self.assertEqual(list(one.columns), ["lb", "workload[0].load", "transport.min_rto", "class_set", "class",
                                             "metric", "unit", "mean", "ci95", "n"])
        pandas.testing.assert_series_equal(one["mean"], expected.p99_fct_us, check_names=False)
        pandas.testing.assert_series_equal(one.ci95, expected.p99_fct_us_ci95, check_names=False)
        self.assertEqual(set(one.n), {2})
        self.assertEqual(set(means["transport.min_rto"]), {900, 1000})

    def test_means_are_those_of_the_rows(self):
        sweep = support.sweep()
        rows = sweep.summary()
        expected = rows[rows["class"] == "all"].groupby("lb").avg_slowdown.mean()
        means = sweep.means()
        found = means[(means.metric == "avg_slowdown") & (means["class"] == "all")].groupby("lb")["mean"].mean()
        for lb in expected.index:
            self.assertAlmostEqual(found[lb], expected[lb])

    def test_labels_select_as_values_do(self):
        with support.folder():
            sweep = heddle.sweep(support.experiment(flows=5, sweep={
                "lb": ["ecmp", "rps"], "labels": {"lb": {"ecmp": "ECMP"}}}), out="labelled", progress=False)
            self.assertEqual([p.choices for p in sweep.select(lb="ECMP").planned()], [("ecmp",)])
            self.assertEqual(len(sweep.select(lb=["ECMP", "rps"])), 2)
            self.assertEqual(list(sweep.summary().lb.unique()), ["ecmp", "rps"])  # Frames keep the values.
            legend = heddle.figures.slowdown(sweep).legends[0].get_texts()
            self.assertEqual([text.get_text() for text in legend], ["ECMP", "rps"])

    def test_a_part_is_selected(self):
        part = support.sweep().select({"workload[0].load": [0.2]}, lb="ecmp")
        self.assertEqual(len(part), 4)
        self.assertEqual(set(part.flows().lb), {"ecmp"})
        self.assertEqual(len(part.points()), 4)
        self.assertEqual(set(part.means().lb), {"ecmp"})
        self.assertEqual(len(support.sweep().select({"transport.min_rto": "1ms"})), 8)
        self.assertEqual(len(support.sweep().select({"transport.min_rto": 1000, "seed": 2})), 4)
        for wrong, message in (({"nix": 1}, "no axis is called 'nix'"), ({"lb": "rps"}, "no point has lb='rps'")):
            with self.assertRaisesRegex(heddle.BadInput, message):
                support.sweep().select(wrong)
        with self.assertRaisesRegex(heddle.BadInput, "only some of them"):
            support.sweep().select(seed=1).means()


class FolderTest(unittest.TestCase):
    def setUp(self):
        context = support.folder()
        self.folder = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def test_series_and_an_axis_with_the_name_of_a_column(self):
        recorded = support.experiment(measure={"record": {"queues": "10us", "marks": "50us"}},
                                      sweep={"transport": ["dctcp", "rocev2"]})
        sweep = heddle.sweep(recorded, progress=False)
        queue = sweep.series("queue")
        self.assertEqual({k: queue.attrs["units"][k] for k in ("time_ns", "bytes")}, {"time_ns": "ns", "bytes": "B"})
        self.assertTrue(set(queue.transport) <= {"dctcp", "rocev2"})
        flows = sweep.flows()
        self.assertEqual(list(flows.transport), list(flows["flows.transport"]))

    def test_damage_is_found(self):
        run = heddle.run(support.experiment(), progress=False)
        flows = run.folder / "flows.csv"
        flows.write_bytes(flows.read_bytes().replace(b",1,1\n", b",1,0\n", 1))
        with self.assertRaisesRegex(heddle.Damaged, "other contents"):
            run.flows()
        flows.write_bytes(flows.read_bytes()[:-10])
        with self.assertRaisesRegex(heddle.Damaged, "bytes"):
            run.flows(columns=["slowdown"])

    def test_points_without_results_are_listed_and_in_no_other_frame(self):
        half = heddle.sweep(support.SWEEP, settings={"sweep.workload[0].load": [0.2]}, out="half", progress=False)
        with open(half.folder / "plan.csv", encoding="utf-8") as file:
            first = file.read().splitlines()[1].split(",")[1]
        for path in (half.folder / "points" / first).iterdir():
            path.unlink()
        (half.folder / "points" / first).rmdir()
        loaded = heddle.load("half")
        self.assertEqual(list(loaded.points().state), ["missing"] + ["done"] * 7)
        self.assertEqual(len(loaded.flows()), 7 * 60)
        self.assertIn("1 missing", loaded.problems())

    def test_tables_made_while_the_sweep_ran_are_made_anew(self):
        sweep = heddle.sweep(support.SWEEP, settings={"sweep.workload[0].load": [0.2]}, out="running", progress=False)
        last = sweep.folder / "points" / sweep.planned()[-1].id
        aside = Path("aside").absolute()
        last.rename(aside)  # As if it had not ended yet.
        seeds = lambda loaded: list(loaded.means().query("metric == 'avg_fct_us' and `class` == 'all'").n)
        self.assertEqual(seeds(heddle.load("running")), [2, 2, 2, 1])
        aside.rename(last)
        whole = heddle.load("running")
        self.assertEqual(seeds(whole), [2, 2, 2, 2])
        self.assertFalse(whole.points().run_end_ps.isna().any())

    def test_damaged_points_leave_the_means(self):
        sweep = heddle.sweep(support.SWEEP, settings={"sweep.workload[0].load": [0.2]}, out="damaged", progress=False)
        seeds = lambda loaded: list(loaded.means().query("metric == 'avg_fct_us' and `class` == 'all'").n)
        self.assertEqual(seeds(heddle.load("damaged")), [2, 2, 2, 2])
        summary = sweep.folder / "points" / sweep.planned()[0].id / "summary.csv"
        summary.write_bytes(summary.read_bytes()[:-10])
        loaded = heddle.load("damaged")
        self.assertEqual(loaded.planned()[0].state, "damaged")
        self.assertEqual(seeds(loaded), [1, 2, 2, 2])

    def test_a_folder_without_results(self):
        Path("empty").mkdir()
        with self.assertRaisesRegex(heddle.BadInput, "neither the plan.csv of a sweep nor the run.yaml"):
            heddle.load("empty")


if __name__ == "__main__":
    unittest.main()

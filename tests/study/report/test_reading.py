# SPDX-License-Identifier: Apache-2.0
"""What is read, from files whose numbers are known."""

import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import folders
from heddle_report import __main__ as report
from heddle_report import axes, charts, fabric, files, ports, results, runs, shown, style, words
from test_page import has


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "out"


class QuantityTest(unittest.TestCase):
    def test_is_what_the_setting_means(self):
        for text, number in (("0.3", 0.3), ("1/16", 0.0625), ("50us", 5e-5), ("4KiB", 4096),
                             ("40Gbps", 4e10), ("1e3", 1000), ("0B", 0)):
            self.assertAlmostEqual(axes.quantity(text), number, delta=1e-12 * number, msg=text)

    def test_is_none_of_names(self):
        for text in ("ecmp", "50 us", "us", "1/0", "1.2.3", "letflow.gap=50us", "", "off", "10m"):
            self.assertIsNone(axes.quantity(text), text)


class LayoutTest(unittest.TestCase):
    def choose(self, names, rows):
        return axes.choose(names, [results.Combination(tuple(row)) for row in rows])

    def test_load_is_the_x_axis_and_balancers_are_lines(self):
        rows = [(k, lb, load) for k in ("4", "6", "8") for lb in ("ecmp", "rps")
                for load in ("0.3", "0.5")]
        self.assertEqual(self.choose(["topology.k", "lb", "workload[0].load"], rows),
                         axes.Layout(series=1, main=2, slices=(0,), followers=((),)))

    def test_without_a_load_the_longest_axis_of_numbers(self):
        rows = [(g, s, t) for g in ("1us", "2us") for s in ("1KB", "2KB", "4KB")
                for t in ("tcp", "dctcp")]
        self.assertEqual(self.choose(["gap", "size", "transport"], rows),
                         axes.Layout(series=2, main=1, slices=(0,), followers=((),)))

    def test_axes_that_change_together_are_one(self):
        rows = [("4", "1", "0.3"), ("2", "2", "0.3"), ("4", "1", "0.5"), ("2", "2", "0.5")]
        self.assertEqual(
            self.choose(["topology.spines", "topology.links_per_pair", "w.load"], rows),
            axes.Layout(series=None, main=2, slices=(0,), followers=((1,),)))

    def test_a_choice_names_what_changes_with_it(self):
        rows = [("4", "1", "0.3"), ("2", "2", "0.3"), ("4", "1", "0.5"), ("2", "2", "0.5")]
        layout = self.choose(["topology.spines", "topology.links_per_pair", "w.load"], rows)
        self.assertEqual(layout.followers, ((1,),))

    def test_axes_have_short_names_unless_two_end_alike(self):
        self.assertEqual(axes.names(["lb", "workload[0].load", "topology.port.memory.size"]),
                         ["lb", "load", "size"])
        self.assertEqual(axes.names(["workload[0].load", "workload[1].load", "a[0]"]),
                         ["workload[0].load", "workload[1].load", "a[0]"])

    def test_legends_leave_out_parameters_that_tell_no_lines_apart(self):
        self.assertEqual(axes.short_values(["ecmp", "letflow.gap=100us", "drill"]), ["ecmp", "letflow", "drill"])
        both = ["letflow.gap=100us", "letflow.gap=1ms", "0.5"]
        self.assertEqual(axes.short_values(both), both)

    def test_numbers_mixed_with_words_are_a_choice(self):
        rows = [("ecmp", "off"), ("ecmp", "10us"), ("rps", "off"), ("rps", "10us")]
        self.assertEqual(self.choose(["lb", "timeout"], rows),
                         axes.Layout(series=0, main=None, slices=(1,), followers=((),)))


class SweepTest(Folder):
    AXES = ("lb", "workload[0].load")
    ROWS = [(lb, load) for lb in ("ecmp", "rps") for load in ("0.5", "0.3")]

    def read(self, **how):
        folders.write_sweep(self.folder, self.AXES, self.ROWS, **how)
        return charts.Sweep(results.read(self.folder))

    def test_lines_go_up_the_axis_with_their_intervals(self):
        chart = self.read().charts()[0][0]
        self.assertEqual((chart.kind, chart.x, chart.x_names), ("lines", [0.3, 0.5], ["0.3", "0.5"]))
        self.assertEqual([(line.name, line.style, line.y, line.ci) for line in chart.panels[0].lines],
                         [("ecmp", 0, [2, 1], [0.5, 0.5]), ("rps", 1, [4, 3], [0.5, 0.5])])
        self.assertIn("Means over 2 seeds", chart.caption)

    def test_lines_have_short_names_in_charts_of_means_and_of_runs(self):
        folders.write_sweep(self.folder, self.AXES, [("ecmp", "0.3"), ("letflow.gap=1us", "0.3")])
        sweep = charts.Sweep(results.read(self.folder))
        for chart in (sweep.charts()[0][0], runs.charts(sweep)[0]):
            self.assertEqual([line.name for line in chart.panels[0].lines], ["ecmp", "letflow"])
        self.assertEqual(dict(words.experiment(sweep))["Load balancers"], "ecmp, letflow.gap=1us")

    def test_every_axis_names_its_metric(self):
        for axes_of, rows in ((self.AXES, [("ecmp", "0.3"), ("ecmp", "0.5")]), (("lb",), [("ecmp",), ("rps",)])):
            self.setUp()
            folders.write_sweep(self.folder, axes_of, rows)
            sweep = charts.Sweep(results.read(self.folder))
            for chart in sweep.charts()[0] + runs.charts(sweep):
                self.assertTrue(chart.x_title, chart.id)
                for panel in chart.panels:
                    self.assertRegex(chart.z_title or panel.y_title, r"slowdown$|^share of flows$|\((µs|%|count)\)$")

    def test_the_axis_of_a_load_names_the_links(self):
        rows = [("ecmp", "0.3"), ("ecmp", "0.5")]
        folders.write_sweep(self.folder, self.AXES, rows)
        sweep = charts.Sweep(results.read(self.folder))
        self.assertEqual(sweep.charts()[0][0].x_title, "load (of host links)")
        self.setUp()
        folders.write_sweep(self.folder, ("lb", "lb.gap"), [("ecmp", "1us"), ("ecmp", "2us")])
        self.assertEqual(charts.Sweep(results.read(self.folder)).charts()[0][0].x_title, "gap")

    def test_pause_frames_are_said_to_count_in_the_time_of_links_csv(self):
        def caption(value):
            self.setUp()
            folders.write_sweep(self.folder, ("lb",), [("ecmp",), ("rps",)], value=value)
            [costs] = [chart for chart in charts.Sweep(results.read(self.folder)).charts()[0] if chart.id == "costs"]
            return costs.caption
        self.assertIn("Drops and ECN marks count all flows. Pause frames count all flows, but only in the time that links.csv "
                      "covers", caption(lambda *_: 2))
        self.assertNotIn("Pause frames", caption(lambda _, metric: 0 if metric == "run_pause_frames" else 2))

    def test_labels_of_the_sweep_stand_for_its_values(self):
        axes_of = ("lb", "workload[0].load", "gap")
        rows = [(lb, load, gap) for lb in ("ecmp", "letflow.gap=1us", "drill.d=2") for load in ("0.3", "0.5")
                for gap in ("1us", "2us")]
        folders.write_sweep(self.folder, axes_of, rows)
        (self.folder / "sweep.yaml").write_text(
            "sweep: {labels: {lb: {letflow.gap=1us: LetFlow, ecmp: drill}, 'workload[0].load': {0.5: half}, "
            "gap: {2us: wide}}}\n")
        sweep = charts.Sweep(results.read(self.folder))
        self.assertEqual(sweep.choices, ["gap=1us", "gap=wide"])
        for chart in (sweep.charts()[0][0], runs.charts(sweep)[0]):  # A short form must not look like a label.
            self.assertEqual([line.name for line in chart.panels[0].lines], ["drill", "LetFlow", "drill.d=2"])
        self.assertEqual(sweep.charts()[0][0].x_names, ["0.3", "half"])
        self.assertIn("load=half", runs.where_of(sweep, shown.points(sweep)))
        told = words.experiment(sweep)
        self.assertEqual(dict(told)["Load balancers"], "drill (ecmp), LetFlow (letflow.gap=1us), drill.d=2")
        self.assertIn(("Swept", "workload[0].load: 0.3, half (0.5)"), told)
        self.assertEqual(results.read(self.folder).combinations[-1].choices, rows[-1])

    def test_labels_that_are_none_are_left_out(self):
        for text in ("sweep: {labels: [a]}\n", "sweep: {labels: {lb: a}}\n", "[]\n", "sweep:\n"):
            self.setUp()
            folders.write_sweep(self.folder, ("lb",), [("ecmp",), ("rps",)])
            (self.folder / "sweep.yaml").write_text(text)
            self.assertEqual(charts.Sweep(results.read(self.folder)).labels, ["ecmp", "rps"])

    def test_infinite_values_are_gaps_and_said_to_be(self):
        chart = self.read(value=lambda i, _: math.inf if i == 1 else 2).charts()[0][0]
        self.assertEqual(chart.panels[0].lines[0].y, [math.inf, 2])
        self.assertIn("Gaps: unfinished flows", chart.caption)

    def test_one_bad_scheme_makes_the_axis_logarithmic(self):
        self.assertFalse(self.read(value=lambda i, _: (5, 5, 9, 9)[i], width=0.5).charts()[0][0].y_log)
        self.setUp()
        slowdown = self.read(value=lambda i, _: (5, 5, 50, 5)[i], width=0.5).charts()[0][0]
        self.assertTrue(slowdown.y_log and slowdown.can_log)
        self.setUp()  # Its interval does, too.
        self.assertTrue(self.read(value=lambda i, _: 5, width=45).charts()[0][0].y_log)

    def test_bars_become_dots_on_a_logarithmic_axis_for_all_choices(self):
        rows = [(lb, k) for lb in ("ecmp", "rps") for k in ("a", "b")]
        folders.write_sweep(self.folder, ("lb", "k"), rows, value=lambda i, _: (2, 2, 2, 40)[i])
        sweep = charts.Sweep(results.read(self.folder))
        self.assertEqual([(of[0].kind, of[0].y_log) for of in sweep.charts()], [("dots", True)] * 2)

    def test_combinations_that_were_left_out_are_gaps(self):
        folders.write_sweep(self.folder, self.AXES, self.ROWS[:3])
        lines = charts.Sweep(results.read(self.folder)).charts()[0][0].panels[0].lines
        self.assertEqual(lines[1].y[1], 3)
        self.assertTrue(math.isnan(lines[1].y[0]))

    def test_classes_without_flows_are_not_drawn(self):
        sweep = self.read(value=lambda i, metric: 0 if metric == "n" else 1)
        self.assertEqual(sweep.classes, [])

    def test_shares_are_of_packets_sent(self):
        values = {"run_data_packets_sent": 200, "run_retransmissions_spurious": 4,
                  "reordered_ratio": 0.25}
        chart = self.read(value=lambda i, metric: values.get(metric, 0 if metric != "n" else 1),
                          width=1).charts()[0][2]
        found = {panel.y_title: panel.lines[0] for panel in chart.panels}
        self.assertEqual(set(found), {"reordered packets (%)", "spurious retransmissions (%)"})
        self.assertEqual(found["spurious retransmissions (%)"].y, [2, 2])
        self.assertEqual(found["spurious retransmissions (%)"].ci, [0.5, 0.5])
        self.assertEqual(found["reordered packets (%)"].y, [25, 25])

    def test_every_point_without_results_is_listed_with_its_reason(self):
        folders.write_sweep(self.folder, self.AXES, self.ROWS, without=(1, 2, 5))
        (self.folder / "points/p0_2.failed").write_text(
            json.dumps({"status": "exit code 3", "message": "broken"}))
        (self.folder / "points/p2_2").mkdir()
        absent = results.read(self.folder).absent
        self.assertEqual([(a.label, a.state) for a in absent],
                         [("ecmp,0.5,seed=2", "failed"), ("ecmp,0.3,seed=1", "missing"),
                          ("rps,0.5,seed=2", "left out")])
        self.assertEqual(absent[0].message, "exit code 3: broken")

    def test_the_run_shown_is_at_the_end_of_the_axis_with_the_first_seed(self):
        sweep = self.read(without=(0,))
        self.assertEqual([(style, name, point.id) for style, name, point in shown.points(sweep)],
                         [(0, "ecmp", "p0_2"), (1, "rps", "p2_1")])

    def test_the_runs_shown_are_named_even_if_they_differ(self):
        sweep = self.read(without=(0, 1))  # All of ecmp at load 0.5.
        self.assertEqual(runs.where_of(sweep, shown.points(sweep)),
                         "Single runs with load=0.3 or 0.5, seed 1.")

    def test_tables_may_lie_elsewhere(self):
        before = self.read()
        tables = self.folder.with_name("tables")
        tables.mkdir()
        for name in ("points.csv", "means.csv"):
            (self.folder / name).rename(tables / name)
        sweep = charts.Sweep(results.read(self.folder, tables))
        self.assertEqual(sweep.charts(), before.charts())

    def test_the_digest_is_of_all_points(self):
        digest = self.read().results.digest
        other = self.folder.with_name("other")
        folders.write_sweep(other, self.AXES, self.ROWS[:3])
        self.assertNotEqual(results.read(other).digest, digest)


class RunTest(Folder):
    def read(self, **summary):
        folders.write_run(self.folder, **summary)
        return charts.Sweep(results.read(self.folder))

    def test_is_a_sweep_of_one_point(self):
        sweep = self.read()
        self.assertEqual(sweep.series, ["ecmp"])
        slowdown, fct, costs = sweep.charts()[0]
        self.assertEqual((slowdown.kind, slowdown.x_names), ("bars", ["all flows", "S"]))
        self.assertEqual(slowdown.panels[2].lines[0].y, [4, 4])
        self.assertEqual(fct.kind, "dots")  # Bars have no foot on a logarithmic axis.
        self.assertEqual({p.y_title: p.lines[0].y[0] for p in costs.panels},
                         {"reordered packets (%)": 25, "spurious retransmissions (%)": 2,
                          "retransmissions after loss (%)": 0.5, "dropped packets (count)": 5,
                          "ECN marks (count)": 7})
        self.assertIn("no confidence intervals", slowdown.caption)

    def test_captions_name_the_metric_and_its_unit(self):
        sweep = self.read()
        said = {chart.id: chart.caption for chart in sweep.charts()[0] + runs.charts(sweep)}
        for id_, words_of_it in (("slowdown", "99th percentile of the slowdown, a number without a unit"),
                                 ("fct", "flow completion time (FCT) in µs"),
                                 ("cdf-slowdown", "share of flows whose slowdown"),
                                 ("cdf-fct", "share of flows whose flow completion time (FCT) in µs"),
                                 ("links", "the percentage of the measured time")):
            self.assertIn(words_of_it, said[id_])
        self.assertEqual([caption for caption in said.values() if ".." in caption], [])
        self.assertIn("Classes of flow sizes: S, up to 10 KB.", said["slowdown"])  # Their names alone are on the axis.

    def test_an_incomplete_one_says_so(self):
        self.assertEqual([a.state for a in self.read(complete=False).results.absent],
                         ["incomplete"])

    def test_settings_stay_the_text_they_are(self):
        self.read()
        run = results.read_yaml(self.folder / "run.yaml")
        self.assertEqual(run["measure"]["record"]["links"], "off")

    def test_is_told_in_words(self):
        said = dict(words.experiment(self.read()))
        self.assertEqual(said["Fabric"], "leaf-spine of 2 leaves with 1 hosts each and 2 spines; ")
        self.assertEqual(said["Workload"], "Poisson arrivals at load 0.5 of the hosts' links, "
                         "3 flows, sizes small, pairs any")


class SweptWordsTest(Folder):
    ROWS = [(lb, k, n) for lb in ("ecmp", "rps") for k, n in (("4", "1"), ("2", "2"))]

    def said(self, document):
        folders.write_sweep(self.folder, ("lb", "topology.spines", "topology.links_per_pair"), self.ROWS)
        (self.folder / "sweep.yaml").write_text(document)
        told = words.experiment(charts.Sweep(results.read(self.folder)))
        return [(heading, text) for heading, text in told if heading in ("Swept", "Left out")]

    def test_what_changes_together_is_one_line_and_what_is_left_out_is_said(self):
        said = self.said(
            "sweep: {lb: [ecmp, rps], together: [{topology.spines: [4, 2], topology.links_per_pair: [1, 2], seed: [1]}],"
            " exclude: [{lb: [rps, drb], topology.spines: 2, topology.links_per_pair: 2}, {lb: {kind: tr, gap: 1us}}]}")
        self.assertEqual(said, [
            ("Swept", "topology.spines and topology.links_per_pair together: 4 with 1, 2 with 2"),
            ("Swept", "lb: ecmp, rps"),
            ("Left out", "lb rps or drb with topology.spines 2 and topology.links_per_pair 2"),
            ("Left out", "lb tr, gap 1us")])

    def test_a_document_that_says_nothing_of_it_is_none(self):
        for document in ("sweep: {}", "[]", "sweep: [1]", ""):
            self.assertEqual([heading for heading, _ in self.said(document)], ["Swept"] * 3)
            self.setUp()


HEDDLE = os.environ.get("HEDDLE_BINARY", "")


@unittest.skipUnless(HEDDLE, "HEDDLE_BINARY does not say which heddle to run")
class ResolvedTest(unittest.TestCase):
    """run.yaml, heddle check and the report name the same values."""

    def test_defaults_are_told_as_check_prints_them(self):
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "small.yaml"
            path.write_text("topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2, "
                            "fabric_link: {rate: 40Gbps, delay: 1us}, port: {pfc: {classes: [3]}}}\n"
                            "transport: rocev2\nlb: ecmp\nworkload: [{kind: permutation, size: 20KB}]\n")
            checked = subprocess.run([HEDDLE, "check", path], capture_output=True, text=True, check=True).stdout
            subprocess.run([HEDDLE, "run", path, "-q", "--out", Path(temporary) / "out"], check=True)
            run = results.read_yaml(Path(temporary) / "out" / "run.yaml")
        said = ports.said(run)
        for tier, rate in (("leaf_down", "10Gbps"), ("leaf_up", "40Gbps"), ("spine_down", "40Gbps")):
            [line] = re.findall(rf"{tier} of {rate}: (.*)", checked)
            buffer, least, most, share, at, above, headroom = re.fullmatch(
                r"buffer (\S+), ECN marks from (\S+) to (\S+) \(up to (\S+) %\) at (\S+), pauses an input above (\S+), "
                r"headroom (\S+)", line).groups()
            for value in (buffer, least, most, above, headroom):
                self.assertIn(f"{value} ({rate})", said)
        self.assertIn("rai 10Mbps", words._defaults(run))
        self.assertIn("cc.rai 10Mbps", checked)


class WordsTest(unittest.TestCase):
    def ports(self, transport="dctcp", resolved=None, **port):
        return ports.said({"resolved": resolved, "topology": {"port": port}, "transport": {"kind": transport, "cc": {"kind": "dcqcn"}}})

    def test_ports_are_told(self):
        self.assertEqual(self.ports(buffer="1MB", ecn_above="65KB", pfc={"classes": []}),
                         "a buffer of 1MB for each port; ECN marks above 65KB; no PFC")
        self.assertEqual(
            self.ports("rocev2", buffer="auto", memory={"model": "dt", "size": "4MB"},
                       pfc={"classes": ["3", "4"], "xoff": "20KB"}),
            "a buffer of 4MB that a switch's ports share (dt: each queue may hold a multiple of the free buffer); "
            "ECN marks with RED, between the default thresholds; PFC for classes 3, 4 with a pause threshold of 20KB")
        self.assertEqual(self.ports(buffer="unlimited", marking="red", red={"min": "5KB", "max": "9KB"}),
                         "unlimited buffers; ECN marks with RED, from 5KB to 9KB; no PFC")

    def test_defaults_have_their_numbers_by_rate(self):
        slow = {"tier": "leaf_down", "rate": "10Gbps", "buffer": "379.5KB", "ecn_above": "97.5KB",
                "red_min": "10KB", "red_max": "40KB", "xoff": "371KB", "headroom": "6KB"}
        fast = {"tier": "leaf_up", "rate": "40Gbps", "buffer": "1.518MB", "ecn_above": "120KB",
                "red_min": "40KB", "red_max": "160KB", "xoff": "1.5MB", "headroom": "6KB"}
        self.assertEqual(
            self.ports(resolved={"ports": [slow, fast]}, buffer="auto", pfc={"classes": ["3"]}),
            "a buffer of 379.5KB (10Gbps) or 1.518MB (40Gbps) for each port; "
            "ECN marks above 97.5KB (10Gbps) or 120KB (40Gbps); "
            "PFC for class 3 with a pause threshold of 371KB (10Gbps) or 1.5MB (40Gbps) and a headroom of 6KB")
        self.assertEqual(
            self.ports("rocev2", resolved={"ports": [slow, dict(slow, tier="leaf_up")]}, buffer="1MB"),
            "a buffer of 1MB for each port; ECN marks with RED, from 10KB to 40KB; no PFC")
        self.assertEqual(
            self.ports(resolved={"ports": [dict(slow, xoff_share="0.0625")], "memory": {"size": "9MB"}},
                       memory={"model": "dt", "size": "auto"}, pfc={"classes": ["3"], "headroom": "9KB"}),
            "a buffer of 9MB that a switch's ports share (dt: each queue may hold a multiple of the free buffer); "
            "ECN marks above 97.5KB; PFC for class 3 with a pause threshold of 0.0625 times the free buffer")

    def test_defaults_of_the_transport_and_the_warm_up_have_their_numbers(self):
        run = {"resolved": {"warm_up": "1ms", "transport": {"mtu": "1024", "cc": {"kind": "dcqcn", "rai": "10Mbps"}}}}
        self.assertEqual(words._defaults(run), "congestion control dcqcn: mtu 1024, rai 10Mbps")
        self.assertEqual(words._measured(run), "flows that start after 1ms")
        run["resolved"]["warm_up"] = "142604166ps"
        self.assertEqual(words._measured(run), "flows that start after 142.6us")
        run["resolved"]["warm_up"] = "1500us"
        self.assertEqual(words._measured(run), "flows that start after 1.5ms")
        self.assertEqual(words._defaults({"resolved": {"transport": {"cc": {"kind": "reno"}}}}), "")
        self.assertEqual(words._defaults({}), "")

    def test_links_that_differ_are_named(self):
        self.assertEqual(words._exception({"spines": [3], "rate": "40Gbps"}), "the links of spine3: rate 40Gbps")
        self.assertEqual(words._exception({"links": [], "spines": [1, 2], "delay": "2us"}),
                         "the links of spine1 and spine2: delay 2us")
        self.assertEqual(words._exception({"links": ["leaf0-spine1"], "rate": "1Gbps"}), "leaf0-spine1: rate 1Gbps")

    def test_one_of_a_thing_is_singular(self):
        self.assertEqual([words.count(n, "point") for n in (0, 1, 2)], ["0 points", "1 point", "2 points"])

    def test_ports_that_are_swept_are_told_to_be(self):
        self.assertEqual(self.ports(buffer="swept", ecn_above="swept", pfc="swept"),
                         "a buffer of a swept size for each port; ECN marks above a swept threshold; "
                         "PFC as swept")
        self.assertEqual(ports.said({"topology": {"port": "swept"}}), "")

    def test_measuring_is_told_in_sentences(self):
        self.assertEqual(
            words._measured({"measure": {"warm_up": "5ms", "unfinished": "drop", "percentiles": "nearest"}}),
            "flows that start after 5ms; unfinished ones don't count; percentiles are samples, ranks rounded up")
        self.assertTrue(words._measured({"measure": {"warm_up": "0ps"}}).startswith("all flows"))

    def test_what_is_left_at_nothing_is_not_told(self):
        entry = {"at": "1ms", "links": ["leaf0-spine0"], "switches": [], "random_links": "0",
                 "state": "unchanged", "rate": "5Gbps", "blackhole": dict(words._NO_BLACKHOLE)}
        self.assertEqual(words._change(entry), "at 1ms: leaf0-spine0, rate 5Gbps")
        entry["blackhole"]["from"] = ["0", "1"]
        self.assertIn("blackhole (from (0, 1), share of pairs 1", words._change(entry))

    def test_a_change_tells_only_what_its_entry_sets(self):
        defaults = {"at": "2ms", "links": [], "switches": [], "random_links": "0", "random_switches": "0", "share_of_links": "none",
                    "keep_connected": "true", "direction": "both", "state": "unchanged", "silent": "false",
                    "flap": dict(words._NO_FLAP), "rate": "unchanged", "delay": "unchanged", "loss": "unchanged",
                    "bursts": dict(words._NO_BURSTS), "drop": "unchanged", "blackhole": dict(words._NO_BLACKHOLE)}
        for text, entry in (
                ("leaf0-spine1 down", {"links": ["leaf0-spine1"], "state": "down"}),
                ("spine3 and 2 random switches up", {"switches": ["spine3"], "random_switches": "2", "state": "up"}),
                ("1 random link, loss 0", {"random_links": "1", "loss": "0"}),
                ("10 % of the links between switches down, nobody notices, direction up",
                 {"share_of_links": "0.1", "state": "down", "silent": "true", "direction": "up"}),
                ("5 % of the links between switches even if leaves are cut off down",
                 {"share_of_links": "0.05", "keep_connected": "false", "state": "down"}),
                ("leaf0-spine1, flap (down 1us, up 2us, until 9us)",
                 {"links": ["leaf0-spine1"], "flap": {"down": "1us", "up": "2us", "jitter": "0", "until": "9us"}}),
                ("a swept number of random links down", {"random_links": "swept", "state": "down"})):
            self.assertEqual(words._change(defaults | entry), f"at 2ms: {text}")

    def test_whole_sections_may_be_swept(self):
        run = folders.RUN_YAML.replace("schedule: []", "schedule: [{at: 1ms, links: [leaf0-spine0], state: down}]\n"
                                       "background: [{rate: 1Gbps}]")
        for axis in ("schedule", "schedule[0]", "workload", "workload[0]", "background", "topology", "measure"):
            with self.subTest(axis), tempfile.TemporaryDirectory() as temporary:
                folder = folders.write_sweep(Path(temporary) / "out", (axis,), [("a",), ("b",)])
                for path in (folder / "points").glob("*/run.yaml"):
                    path.write_text(run)
                told = words.experiment(charts.Sweep(results.read(folder)))
                self.assertIn(("Swept", f"{axis}: a, b"), told)

    def test_what_is_swept_is_not_told_as_if_it_were_fixed(self):
        run = {"workload": [{"load": "0.5"}], "lb": "ecmp"}
        for key in ("workload[0].load", "lb", "workload[7].load", "nothing.there.at.all"):
            words._put(run, key, "swept")
        self.assertEqual(run, {"workload": [{"load": "swept"}], "lb": "swept"})


class BadInputTest(Folder):
    def refuses(self, pattern):
        with self.assertRaisesRegex(results.BadInput, pattern):
            charts.Sweep(results.read(self.folder))

    def test_neither_sweep_nor_run(self):
        self.folder.mkdir()
        self.refuses("neither the plan.csv of a sweep nor the run.yaml of a run")

    def test_missing_columns_and_short_rows_are_named(self):
        folders.write_run(self.folder)
        (self.folder / "reorder.csv").write_text("scope,class,ratio\n")
        self.refuses("reorder.csv:1: has no column late_p99_ns")
        (self.folder / "reorder.csv").write_text("scope,class,ratio,late_p99_ns\nall,all,1\n")
        self.refuses("reorder.csv:2: 3 cells; expected 4")

    def test_files_that_are_not_as_they_were_written(self):
        folders.write_run(self.folder)
        folders.write_manifest(self.folder)
        results.read(self.folder)
        flows = self.folder / "flows.csv"
        whole = flows.read_bytes()
        flows.write_bytes(whole[:-3])
        with self.assertRaisesRegex(results.Damaged, f"flows.csv: has {len(whole) - 3} bytes; "
                                                     f"{len(whole)} were written"):
            results.read_flows(self.folder)
        flows.write_bytes(whole.replace(b"3000", b"3001"))
        with self.assertRaisesRegex(results.Damaged, "flows.csv: has other contents"):
            results.read_flows(self.folder)
        (self.folder / "links.csv").unlink()
        with self.assertRaisesRegex(results.Damaged, "links.csv: "):
            results.read_links(self.folder)
        (self.folder / "extra.csv").write_text("a\n")
        with self.assertRaisesRegex(results.Damaged, "extra.csv: is not in manifest.csv"):
            list(results.rows_of(self.folder / "extra.csv"))
        (self.folder / "manifest.csv").write_text("file,bytes\n")
        self.refuses("manifest.csv: is damaged")

    @unittest.skipUnless(has("plotly"), "plotly is not installed")
    def test_without_memory_it_says_so_in_one_line(self):
        folders.write_run(self.folder)
        for raised in (MemoryError(), SystemError("error return without exception set")):
            with mock.patch.object(results, "read", side_effect=raised):
                self.assertEqual(self.fails(), "heddle: out of memory\n")

    # Python raised these errors in tries with little memory.
    def test_modules_that_cannot_be_loaded_are_told_of_in_one_line(self):
        folders.write_run(self.folder)
        for raised, said in ((ValueError("field 'target' is required"), "(ValueError: field 'target' is required)"),
                             (ImportError("libx.so: failed to map"), "(ImportError: libx.so: failed to map)"),
                             (MemoryError(), "out of memory")):
            with mock.patch.object(report, "_loaded", side_effect=raised):
                self.assertIn(said, self.fails())

    def fails(self):
        """What `heddle report` says, which is one line."""
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            self.assertEqual(report.main([str(self.folder)]), 1)
        self.assertRegex(stderr.getvalue(), r"\Aheddle: [^\n]*\n\Z")
        return stderr.getvalue()

    # Limits on the address space of a Python that has loaded its modules. Until then Python may even
    # be ended by a signal, of which `heddle` itself tells.
    @unittest.skipUnless(has("plotly"), "plotly is not installed")
    def test_it_prints_no_traceback_whatever_memory_it_has(self):
        folders.write_run(self.folder)
        package = str(Path(results.__file__).parent.parent)
        start = "import os, resource, sys; sys.path.insert(0, sys.argv[1]); " \
                "from heddle_report.__main__ import main; from heddle_report import command, page; page.plotly(); " \
                "now = int(open('/proc/self/statm').read().split()[0]) * os.sysconf('SC_PAGE_SIZE'); " \
                "resource.setrlimit(resource.RLIMIT_AS, (now + int(sys.argv[2]),) * 2); " \
                "sys.exit(main(sys.argv[3:]))"
        codes = []
        for megabytes in (0, 4, 16, 32, 200):
            done = subprocess.run([sys.executable, "-c", start, package, str(megabytes << 20), str(self.folder)],
                                  capture_output=True, text=True)
            codes.append(done.returncode)
            if done.returncode != 0:
                self.assertRegex(done.stderr, r"\Aheddle: [^\n]*\n\Z", f"{megabytes} MB")
        self.assertEqual((codes[0], codes[-1]), (1, 0))
        self.assertLessEqual(set(codes), {0, 1})

    def test_a_missing_manifest(self):
        folders.write_run(self.folder, manifest="manifest.csv")
        self.refuses("manifest.csv: is missing")

    def test_damaged_json(self):
        folders.write_run(self.folder)
        (self.folder / "summary.json").write_text("{")
        self.refuses("summary.json: ")


class WritingTest(Folder):
    def setUp(self):
        super().setUp()
        self.folder.mkdir()

    def test_a_link_stays_and_leads_to_the_new_file(self):
        page, link = self.folder / "page.html", self.folder / "link.html"
        page.write_text("old")
        link.symlink_to("page.html")
        files.write_whole(link, b"new")
        self.assertTrue(link.is_symlink())
        self.assertEqual(page.read_text(), "new")
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"page.html", "link.html"})

    def test_a_pipe_gets_the_text_and_stays(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            files.write_whole(pipe, b"new")
            self.assertEqual(os.read(reader, 100), b"new")
        finally:
            os.close(reader)
        self.assertTrue(pipe.is_fifo())


class FlowSampleTest(Folder):
    def test_unfinished_flows_are_infinite_and_unmeasured_ones_are_none(self):
        folders.write_run(self.folder)
        samples = results.read_flows(self.folder)
        self.assertEqual(samples["all"].sorted("slowdown"), [1, 3, math.inf])
        self.assertEqual(samples["S"].sorted("fct_us"), [1, 3, math.inf])
        self.assertEqual(samples["all"].unfinished, 1)

    def test_is_bounded_and_even(self):
        sample = results.FlowSample()
        sample.LIMIT = 64
        for i in range(1000):
            sample.add(i, 0)
        kept = sample.sorted("fct_us")
        self.assertTrue(sample.thinned)
        self.assertEqual(kept, list(range(0, 1000, 16)))

    def test_the_distribution_is_that_of_the_values(self):
        xs, shares = shown.distribution([1, 2, 3, 4])
        self.assertEqual((xs, shares), ([1, 2, 3, 4], [0.25, 0.5, 0.75, 1]))

    def test_the_curve_ends_below_one_if_flows_are_unfinished(self):
        xs, shares = shown.distribution([1, 2, 3, math.inf])
        self.assertEqual((xs[-1], shares[-1]), (3, 0.75))

    def test_of_equal_values_the_curve_rises_at_once(self):
        xs, shares = shown.distribution([1, 1, 1, 2])
        self.assertEqual((xs, shares), ([1, 2], [0.75, 1]))

    def test_nothing_is_no_curve(self):
        self.assertEqual(shown.distribution([]), ([], []))


class TimeBinsTest(unittest.TestCase):
    def test_intervals_are_named_by_their_ends(self):
        bins = results.TimeBins(end_ns=40, step_ns=10, count=2)
        for time, value in ((10, 1), (20, 2), (30, 4), (40, 8)):
            bins.add("key", time, value, "sum")
        self.assertEqual(list(bins.bins["key"]), [3, 12])
        self.assertEqual(bins.times_us(), [0.02, 0.04])
        self.assertEqual(bins.means(), {"key": [1.5, 6]})

    def test_rows_left_out_are_zeros_or_nothing(self):
        for without in (0.0, math.nan):
            bins = results.TimeBins(end_ns=30, step_ns=10, without=without)
            bins.add("key", 20, -1, "max")
            first, at, last = bins.bins["key"]
            self.assertEqual(at, max(-1, 0) if without == 0 else -1)
            self.assertTrue(first == last == 0 or (math.isnan(first) and math.isnan(last)))

    def test_keys_are_bounded(self):
        bins = results.TimeBins(end_ns=10, step_ns=10)
        bins.MOST_KEYS = 2
        for key in "abc":
            bins.add(key, 10, 1, "max")
        self.assertEqual((sorted(bins.bins), bins.left_out), (["a", "b"], 1))


class FabricTest(unittest.TestCase):
    LINKS = [results.Link(*link, 0.5) for link in folders.LINKS]

    def test_marks_what_is_slower_than_others_of_its_kind(self):
        drawn = fabric.Fabric(self.LINKS)
        self.assertTrue(drawn.is_slow("leaf0", "spine1"))
        self.assertFalse(drawn.is_slow("leaf0", "spine0"))
        self.assertFalse(drawn.is_slow("host0", "leaf0"))
        self.assertEqual(drawn.svg().count('class="slow"'), 2)

    def test_marks_what_the_schedule_names_however_it_is_written(self):
        run = {"schedule": [{"links": ["spine0-leaf1"]}, {"switches": "spine1"}]}
        drawn = fabric.Fabric(self.LINKS, words.changed(run))
        self.assertEqual([drawn.changes("leaf1", "spine0"), drawn.changes("leaf0", "spine0"),
                          drawn.changes("leaf0", "spine1")], [True, False, True])

    def test_large_fabrics_are_abbreviated_and_say_so(self):
        links = [results.Link(f"leaf{i}", str(j), f"spine{j}", "leaf_up", 1e9, 0) for i in range(100)
                 for j in range(3)] + [
                 results.Link(f"spine{j}", str(i), f"leaf{i}", "spine_down", 1e9, 0) for i in range(100)
                 for j in range(3)]
        drawn = fabric.Fabric(links)
        self.assertIn("32 of 100 switches of tier 1 are drawn", drawn.notes())
        self.assertIn("96 of 300 pairs of linked switches are drawn", drawn.notes())
        self.assertEqual(drawn.svg().count("<rect"), 32 + 3)

    def test_missing_lines_that_would_be_marked_are_counted(self):
        links = [results.Link(f"leaf{i}", "0", "spine0", "leaf_up", 1e9, 0) for i in range(100)] + [
                 results.Link("spine0", str(i), f"leaf{i}", "spine_down", 1e9, 0) for i in range(100)]
        self.assertIn("68 of the missing lines would be marked.", fabric.Fabric(links, {"spine0"}).notes())
        one = fabric.Fabric(links, {"leaf99"})  # It is drawn before others.
        self.assertNotIn("would be marked", one.notes())
        self.assertEqual(one.svg().count('class="changed"'), 1)

    def fat_tree(self, k, **more):
        half = k // 2
        pairs = [(f"edge{half * pod + e}", f"agg{half * pod + a}", "leaf") for pod in range(k)
                 for e in range(half) for a in range(half)]
        pairs += [(f"agg{half * pod + a}", f"core{half * a + c}", "spine") for pod in range(k)
                  for a in range(half) for c in range(half)]
        return fabric.Fabric([link for low, high, tier in pairs for link in (
            results.Link(low, "0", high, f"{tier}_up", 1e9, 0),
            results.Link(high, "0", low, {"leaf": "spine", "spine": "core"}[tier] + "_down", 1e9, 0))], **more)

    def test_all_links_of_a_fat_tree_with_k_8_are_drawn(self):
        drawn = self.fat_tree(8)
        self.assertEqual((drawn.svg().count("<line"), drawn.notes()), (256, ""))
        for kind in ("edge", "agg"):  # Boxes of 30 points have numbers; the margin has the name.
            self.assertIn(f">{kind}</text>", drawn.svg())
        self.assertNotIn(">core</text>", drawn.svg())

    def test_whole_pods_of_a_larger_fat_tree_are_drawn(self):
        drawn = self.fat_tree(16)
        # Four pods of 64 lines, and from their 32 aggregation switches to every second core.
        self.assertEqual(drawn.svg().count("<line"), 4 * 64 + 32 * 4)
        self.assertIn("32 of 128 switches of tier 1 are drawn. 32 of 128 switches of tier 2 are drawn.", drawn.notes())
        self.assertIn("384 of 2048 pairs of linked switches are drawn with their lines.", drawn.notes())
        marked = self.fat_tree(16, changed=["edge127"])
        self.assertEqual(marked.svg().count('class="changed"'), 8)

    def test_lines_say_for_how_many_links_they_stand(self):
        self.assertNotIn("×</text>", fabric.Fabric(self.LINKS).svg())
        twice = [results.Link("leaf0", str(9 + i), "spine0", "leaf_up", 40e9, 0.5) for i in range(2)]
        self.assertEqual(fabric.Fabric(self.LINKS + twice).svg().count("3 ×</text>"), 1)

    def test_links_in_parallel_are_numbered(self):
        names = shown.link_names([results.Link("leaf0", port, peer, "leaf_up", 1, 0)
                                  for port, peer in (("2", "spine0"), ("3", "spine0"), ("4", "spine1"))])
        self.assertEqual(names, {("leaf0", "2"): "leaf0 → spine0 #1", ("leaf0", "3"): "leaf0 → spine0 #2",
                                 ("leaf0", "4"): "leaf0 → spine1"})


class OverTimeTest(Folder):
    RECORDING = folders.RUN_YAML.replace("queues: 10us", "queues: 10us, pauses: 10us, marks: 10us")

    def chart(self, name, header, rows, id_):
        folders.write_run(self.folder, run_yaml=self.RECORDING)
        folders.write_csv(self.folder / name, header, rows)
        found = {chart.id: chart for chart in runs.charts(charts.Sweep(results.read(self.folder)))}
        return found.get(id_)

    def queues(self, classes):
        return self.chart("series_queue.csv", ("time_ns", "node", "port", "class", "bytes"),
                          [(10_000, "leaf0", 2, name, 5000 + int(name)) for name in classes]
                          + [(20_000, "leaf0", 7, classes[0], 1)], "queues")

    def test_queues_are_named_as_links_are(self):
        chart = self.queues("3")
        self.assertEqual([line.name for line in chart.panels[0].lines], ["leaf0 → spine1", "leaf0 port 7, class 3"])
        self.assertIn("named by the link that they send on", chart.caption)
        self.assertTrue(chart.shares_x() and chart.shares_y())
        self.assertRegex(chart.caption, r"^The highest value of the queue length in KB in each [\d.]+ µs")
        self.assertEqual((chart.x_title, chart.panels[0].y_title), ("time (µs)", "queue length (KB)"))

    def test_classes_are_named_if_there_are_several(self):
        self.assertEqual([line.name for line in self.queues("13").panels[0].lines][:2],
                         ["leaf0 → spine1, class 3", "leaf0 → spine1, class 1"])

    def test_what_never_happened_is_one_sentence(self):
        chart = self.chart("pfc_rate.csv", ("time_ns", "layer", "paused_links_timeavg"),
                           [(10_000, "host_up", 0), (10_000, "leaf_up", 0)], "pauses")
        self.assertEqual((chart.kind, chart.panels), ("note", []))
        self.assertTrue(chart.caption.startswith("No link was paused. Run with seed 1"))
        self.setUp()
        self.assertIsNone(self.chart("paused_paths.csv", ("time_ns", "paused_paths"), [(10_000, 0)], "paused-paths"))
        self.setUp()
        empty = self.chart("series_marks.csv", ("time_ns", "node", "port", "marked"), [], "marks")
        self.assertTrue(empty.caption.startswith("No packet was marked."))


class StyleTest(unittest.TestCase):
    def test_lines_differ_in_print_too(self):
        looks = [(s["marker"], s["dash"]) for s in map(style.of, range(40))]
        self.assertEqual(len(set(looks)), len(looks))
        for i in range(8):
            self.assertEqual(len({style.of(j)["light"] for j in range(i, i + 8)}), 8)

    def test_the_heat_map_gets_darker_all_the_way(self):
        def lightness(colour):  # Rec. 709 luma.
            r, g, b = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
            return 0.2126 * r + 0.7152 * g + 0.0722 * b
        values = list(map(lightness, style.HEAT))
        self.assertEqual(values, sorted(values, reverse=True))


if __name__ == "__main__":
    unittest.main()

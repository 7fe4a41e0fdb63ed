# SPDX-License-Identifier: Apache-2.0
"""Jobs in reports: time lines, completion times, and what the slowest ranks waited for; from files whose
numbers are known, and from runs of heddle."""

import csv
import json
import os
import random
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import folders
from heddle_report import axes, charts, jobs, lanes, page, results, runs, shown, stragglers
from test_page import has, report

HEDDLE = os.environ.get("HEDDLE_BINARY", "")
US = 1_000_000  # Picoseconds.

RUN_YAML = """\
name: job
seed: 1
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 1, asymmetry: []}
transport: {kind: rocev2}
lb: {kind: ecmp}
workload: [{kind: collective, op: all_reduce, size: 1MB, ranks: 2}]
measure: {unfinished: inf, operations: OPERATIONS, flow_links: FLOW_LINKS, record: {queues: off}}
schedule: []
"""
OPERATIONS = ("job", "iter", "rank", "host", "op", "label", "kind", "peer", "bytes", "tag", "channel", "step", "ready_ps",
              "posted_ps", "start_ps", "end_ps", "flow_id")
FLOWS = ("flow_id", "src", "dst", "dport", "class", "size_bytes", "start_ps", "rx_done_ps", "fct_rx_ns", "slowdown", "retx",
         "rto", "job", "iter", "step", "measured", "finished")


def operation(rank, kind, start, end, peer="", flow="", host=None, iteration=1, ready=None):
    """Times in us."""
    start, end, ready = (round(t * US) for t in (start, end, start if ready is None else ready))
    return (1, iteration, rank, rank if host is None else host, 0, "", kind, peer, 1000, "", "", "", ready, start, start, end, flow)


def flow(number, src, dst, start, end, iteration=1, retx=0, rto=0, job=1, dport=300):
    return (number, src, dst, dport, "S", 1000, round(start * US), round(end * US), (end - start) * 1000, 1.5, retx, rto, job, iteration, number,
            1, 1)


# Two ranks: rank 0 computes for 2 us, sends for 3 us; rank 1 then computes for 1 us, waits, and is sent
# another message, from 8 to 9 us; the iteration is from 10 to 20 us.
RANKS = [operation(0, "compute", 10, 12), operation(0, "send", 12, 16, peer=1, flow=0, ready=12),
         operation(1, "recv", 10, 15, peer=0), operation(1, "compute", 15, 16, ready=15),
         operation(0, "send", 18, 19.5, peer=1, flow=1, ready=18), operation(1, "recv", 10, 19, peer=0),
         operation(1, "compute", 19, 20, ready=19)]
MESSAGES = [flow(0, 0, 1, 12, 15), flow(1, 0, 1, 18, 19, retx=3, rto=1), flow(7, 1, 0, 0, 5, iteration=0),
            flow(8, 1, 0, 11, 19, job=1, dport=200)]


def write_job(folder, operations=RANKS, flows=MESSAGES, flow_links=None):
    """A run with a job of two iterations, of which the second is the slower one."""
    run = RUN_YAML.replace("OPERATIONS", str(operations is not None).lower())
    folders.write_run(folder, run.replace("FLOW_LINKS", str(flow_links is not None).lower()),
                      jobs=[{"job": 1, "mean_iter_us": 10.0, "p99_iter_us": 11.0, "busbw_gbs": 5.5}])
    folder = Path(folder)
    folders.write_csv(folder / "jobs.csv", ("job", "label", "kind", "ranks", "mean_iter_us", "busbw_gbs"),
                      [(1, "mine", "collective", 2, 9.5, 5.5)])
    folders.write_csv(folder / "iterations.csv",
                      ("job", "iter", "measured", "start_ps", "end_ps", "time_us", "exposed_comm_us", "straggler_us", "slowest_rank"),
                      [(1, 0, 1, 0, 9 * US, 9, 8, 1, 0), (1, 1, 1, 10 * US, 20 * US, 10, 8.5, 4, 1)])
    folders.write_csv(folder / "flows.csv", FLOWS, flows)
    if operations is not None:
        folders.write_csv(folder / "operations.csv", OPERATIONS, operations)
    if flow_links is not None:
        folders.write_csv(folder / "flow_links.csv",
                          ("flow_id", "link_id", "node", "port", "peer", "pkts", "dropped", "queue_mean_bytes", "queue_max_bytes"),
                          flow_links)
    return folder


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "out"

    def sweep(self):
        return charts.Sweep(results.read(self.folder))

    def chart(self):
        [chart] = [chart for chart in runs.charts(self.sweep()) if chart.kind == "lanes"]
        return chart

    def stragglers(self):
        sweep = self.sweep()
        table = stragglers.table(shown.points(sweep), "load balancer", "Here.")
        return table, [dict(zip(table["columns"], row)) for row in table["rows"]]


class TimeLineTest(Folder):
    def test_a_rank_computes_communicates_or_is_idle(self):
        write_job(self.folder)
        chart = self.chart()
        [panel] = chart.panels
        self.assertEqual(panel.rows, ["0", "→ 1"])
        idle, talks, computes = lanes.IDLE, lanes.COMMUNICATING, lanes.COMPUTING
        # Rank 0 has received and computed all by 12 us, and what it sends after that is its peer's to wait for.
        self.assertEqual(panel.lanes, [
            [(computes, 0, 2), (idle, 2, 10)],
            [(idle, 0, 2), (talks, 2, 5), (computes, 5, 6), (idle, 6, 8), (talks, 8, 9), (computes, 9, 10)]])
        self.assertEqual(panel.title, "iteration 1, 20 % computation, 20 % exposed communication, 60 % idle")
        self.assertIn("seed 1", chart.caption)

    def test_work_for_other_iterations_is_not_idle(self):
        """Rank 0 begins iteration 1 at 10 us, rank 1 communicates for iteration 0 until 13 us, and waits until 14 us."""
        write_job(self.folder,
                  operations=[operation(1, "recv", 0, 13, peer=0, iteration=0), operation(0, "compute", 0, 10, iteration=0),
                              operation(0, "send", 5, 13, peer=1, flow=7, iteration=0),
                              operation(0, "compute", 10, 20), operation(1, "compute", 14, 20)],
                  flows=[flow(7, 0, 1, 5, 13, iteration=0)])
        path = self.folder / "iterations.csv"
        path.write_text(path.read_text().replace(f",{9 * US},9,", f",{13 * US},13,"))
        self.assertEqual(self.chart().panels[0].title, "iteration 0, 38 % computation, 31 % exposed communication, 19 % idle, "
                         "12 % another iteration")  # Rank 0 computes for iteration 1, from 10 to 13 us.
        path.write_text(path.read_text().replace(f"1,0,1,0,{13 * US},13,", f"1,0,0,0,{13 * US},13,"))  # Not measured.
        chart = self.chart()
        [panel] = chart.panels
        self.assertEqual(panel.lanes, [[(lanes.COMPUTING, 0, 10)],
                                       [(lanes.OTHER_ITERATION, 0, 3), (lanes.IDLE, 3, 4), (lanes.COMPUTING, 4, 10)]])
        self.assertEqual(panel.title, "iteration 1, 80 % computation, 0 % exposed communication, 5 % idle, "
                         "15 % another iteration")
        self.assertEqual(chart.states, lanes.STATES)
        self.assertIn("for an iteration before or after this one", chart.caption)
        self.assertRegex(lanes.svg(chart), r'class="s3" stroke-width="1\d\.\d"')

    def test_iterations_that_do_not_overlap_have_no_state_of_others(self):
        write_job(self.folder)
        self.assertEqual(self.chart().states, ["computation", "exposed communication", "idle"])
        self.assertNotIn("another iteration", self.chart().caption)

    def test_what_lies_under_a_computation_is_not_exposed(self):
        its = jobs.Iteration(1, 0, True, 0, 100, 0, 0, 0)
        ranks = jobs.Ranks(host={0: 0, 1: 1}, begin={0: 0, 1: 0}, end={0: 100, 1: 100}, computed={0: [(20, 40), (30, 50)]},
                           ends_of_flow={5: (0, 1)})
        message = jobs.Message(5, 0, 1, 0, 1, 10, 60, 1, 0, 0)
        found = lanes.lanes_of(its, ranks, [message])
        self.assertEqual(found[0], [(lanes.IDLE, 0, 10), (lanes.COMMUNICATING, 10, 20), (lanes.COMPUTING, 20, 50),
                                    (lanes.COMMUNICATING, 50, 60), (lanes.IDLE, 60, 100)])
        self.assertEqual(found[1], [(lanes.IDLE, 0, 10), (lanes.COMMUNICATING, 10, 60), (lanes.IDLE, 60, 100)])

    def test_messages_of_no_operation_are_those_of_the_ranks_on_their_hosts(self):
        its = jobs.Iteration(1, 0, True, 0, 10, 0, 0, 0)
        ranks = jobs.Ranks(host={0: 4, 1: 4, 2: 5, 3: 6}, local=[(0, 1, 6, 8)],
                           end={rank: 10 for rank in range(4)})
        found = lanes.lanes_of(its, ranks, [jobs.Message(5, 4, 5, 0, 1, 2, 4, 1, 0, 0)])
        talks = {rank: [(start, end) for state, start, end in lane if state == lanes.COMMUNICATING]
                 for rank, lane in found.items()}
        self.assertEqual(talks, {0: [(2, 4), (6, 8)], 1: [(2, 4), (6, 8)], 2: [(2, 4)], 3: []})

    def test_without_operations_iterations_are_shown_and_the_setting_is_named(self):
        write_job(self.folder, operations=None)
        chart = self.chart()
        [panel] = chart.panels
        self.assertEqual(panel.rows, ["0", "1"])
        self.assertEqual(panel.lanes, [[(0, 0, 8), (1, 8, 9)], [(0, 10, 16), (1, 16, 20)]])
        self.assertIn("measure: {operations: true} records what each rank does", chart.caption)

    def test_a_run_without_jobs_has_none_of_it(self):
        folders.write_run(self.folder)
        self.assertEqual([chart.kind for chart in runs.charts(self.sweep()) if chart.kind == "lanes"], [])
        self.assertIsNone(stragglers.table(shown.points(self.sweep()), "", ""))

    def test_many_ranks_stay_readable_and_small(self):
        """512 ranks that change their state 200 times each."""
        rng = random.Random(1)
        operations = []
        for rank in range(512):
            at = 10.0
            while at < 19.95:
                operations.append(operation(rank, "compute", at, at + 0.04 * rng.random()))
                at += 0.05
        write_job(self.folder, operations=operations + [operation(511, "compute", 19.99, 20)])
        path = self.folder / "iterations.csv"
        path.write_text(path.read_text().replace("8.5,4,1\n", "8.5,4,333\n"))
        chart = self.chart()
        self.assertEqual(len(chart.panels[0].rows), lanes.MOST_LANES)
        self.assertIn("→ 333", chart.panels[0].rows)
        self.assertIn("64 of 512 ranks are shown", chart.caption)
        drawn = lanes.svg(chart)
        self.assertLess(len(drawn), 450_000)
        self.assertLess(float(re.search(r'viewBox="0 0 960 (\d+)"', drawn)[1]), 600)
        names = [float(y) for y in re.findall(r'class="row" x="58" y="([\d.]+)"', drawn)]
        self.assertGreater(len(names), 16)
        self.assertTrue(all(b - a >= 10 for a, b in zip(names, names[1:])), names)

    def test_states_are_paths_where_they_belong(self):
        write_job(self.folder)
        drawn = lanes.svg(self.chart())
        scale = (lanes.WIDTH - lanes.LEFT - lanes.RIGHT) / 10
        [path] = re.findall(r'class="s1" stroke-width="1\d\.\d" d="([^"]*)"', drawn)
        spans = [(float(x), float(w)) for x, w in re.findall(r"M([\d.]+) [\d.]+h([\d.]+)", path)]
        for (x, width), (start, end) in zip(spans, [(2, 5), (8, 9)], strict=True):
            self.assertAlmostEqual(x, lanes.LEFT + scale * start, delta=0.06)
            self.assertAlmostEqual(width, scale * (end - start), delta=0.06)

    def test_coarse_lanes_keep_the_state_that_takes_most_of_a_step(self):
        its = jobs.Iteration(1, 0, True, 0, lanes.STEPS * 10, 0, 0, 0)
        lane = [(i % 2, 10 * i + (0 if i % 2 == 0 else -2), 10 * i + (8 if i % 2 == 0 else 10)) for i in range(lanes.STEPS)]
        coarse = lanes._coarse(lane, its)
        self.assertEqual([state for state, *_ in coarse], [i % 2 for i in range(lanes.STEPS)])
        self.assertEqual(coarse[3][1:], (30, 40))


class StragglersTest(Folder):
    LINKS = [(0, 2, "leaf0", 1, "spine0", 10, 0, 500, 900), (1, 2, "leaf0", 2, "spine1", 9, 0, 5000, 7000),
             (1, 9, "spine1", 1, "leaf1", 9, 2, 100, 1000), (1, 5, "leaf1", 0, "host1", 9, 0, 100, 20_000)]

    def test_the_last_message_and_the_worst_link(self):
        write_job(self.folder, flow_links=self.LINKS)
        table, rows = self.stragglers()
        first = rows[0]  # The slowest iteration.
        self.assertEqual((first["job"], first["iteration"], first["slowest rank"], first["host"]), ("job 1 (mine)", 1, 1, "host1"))
        self.assertEqual((first["last message (flow_id)"], first["from"], first["FCT (µs)"], first["retransmissions"],
                          first["timeouts"], first["before the end (µs)"]), (1, "host0", 1, 3, 1, 1))
        self.assertEqual(first["path"], "host0 → leaf0 → spine1 → leaf1 → host1")
        # Drops count more than a long queue.
        self.assertEqual((first["worst link"], first["drops there"], first["highest queue there (KB)"]),
                         ("spine1 → leaf1", 2, 1))
        self.assertNotIn("measure:", table["caption"])

    def test_without_drops_the_longest_queue(self):
        write_job(self.folder, flow_links=[(*row[:6], 0, *row[7:]) for row in self.LINKS])
        self.assertEqual(self.stragglers()[1][0]["worst link"], "leaf1 → host1")

    def test_what_is_not_recorded_is_named(self):
        write_job(self.folder, operations=None)
        table, rows = self.stragglers()
        self.assertIn("measure: {operations: true}", table["caption"])
        self.assertIn("measure: {flow_links: true}", table["caption"])
        # The iteration ends a microsecond after its last message, so the rank's host is not known.
        self.assertEqual((rows[0]["host"], rows[0]["last message (flow_id)"], rows[0]["path"]), (None, 1, None))
        self.assertEqual(rows[0]["worst link"], "host0 → leaf0")
        self.assertEqual(rows[0]["its utilisation (%)"], 50)

    def test_an_iteration_that_ends_with_a_message_tells_the_host(self):
        write_job(self.folder, operations=None, flows=[flow(4, 0, 1, 12, 20), flow(5, 1, 0, 12, 19)])
        first = self.stragglers()[1][0]
        self.assertEqual((first["host"], first["last message (flow_id)"], first["before the end (µs)"]), ("host1", 4, 0))

    def test_ranks_of_one_host_are_told_apart(self):
        """Ranks 1 and 2 on one host: what rank 2 is sent comes later, but rank 1 is the slowest."""
        write_job(self.folder, operations=[
            operation(0, "send", 11, 15, peer=1, flow=0), operation(0, "send", 12, 19, peer=2, flow=1),
            operation(1, "recv", 10, 20, peer=0, host=1), operation(2, "recv", 10, 19, peer=0, host=1)],
            flows=[flow(0, 0, 1, 12, 15), flow(1, 0, 1, 12, 19)])
        first = self.stragglers()[1][0]
        self.assertEqual((first["host"], first["last message (flow_id)"]), ("host1", 0))

    def test_messages_of_no_send_are_those_of_the_host(self):
        write_job(self.folder, flows=[*MESSAGES, flow(9, 0, 1, 18, 19.5), flow(10, 1, 0, 18, 19.75)])
        self.assertEqual(self.stragglers()[1][0]["last message (flow_id)"], 9)

    def test_paths(self):
        def passages(*pairs):
            return [jobs.Passage(node, "0", peer, 5, 0, 0) for node, peer in pairs]
        self.assertEqual(stragglers.path_of("host0", "host1", passages(("leaf0", "host1"))), "host0 → leaf0 → host1")
        self.assertEqual(stragglers.path_of("host0", "host9", passages(
            ("leaf0", "s0"), ("leaf0", "s1"), ("leaf0", "s2"), ("s0", "leaf1"), ("s1", "leaf1"), ("s2", "leaf1"), ("leaf1", "host9"))),
            "host0 → host9 over 7 links, up to 3 from one switch")


@unittest.skipUnless(has("plotly"), "plotly is not installed")
class DamageTest(Folder):
    def refused(self, *patterns):
        result = report(self.folder)
        self.assertEqual(result.returncode, 1, result.stdout)
        for pattern in patterns:
            self.assertRegex(result.stderr, pattern)
        self.assertFalse((self.folder / "report.html").exists())

    def test_missing_files_are_named(self):
        for name in ("jobs.csv", "iterations.csv", "operations.csv", "flow_links.csv"):
            with self.subTest(name):
                self.folder = self.folder.with_name(name)
                write_job(self.folder, flow_links=StragglersTest.LINKS)
                (self.folder / name).unlink()
                self.refused(f"^heddle: .*{name}: No such file or directory\n$")

    def test_cut_lines_and_other_cells_have_their_line(self):
        for name, line in (("jobs.csv", 2), ("iterations.csv", 3), ("operations.csv", 8), ("flow_links.csv", 5)):
            with self.subTest(name):
                self.folder = self.folder.with_name(name + "-cut")
                path = write_job(self.folder, flow_links=StragglersTest.LINKS) / name
                text = path.read_text()
                path.write_text(text[:text.rstrip().rindex(",")] + "\n")
                self.refused(rf"{name}:{line}: \d+ cells; expected \d+")
                path.write_text(re.sub(r"^1,", "x,", text, flags=re.MULTILINE))
                if name in ("jobs.csv", "iterations.csv"):
                    self.refused(rf"{name}:2: job is 'x'; expected a whole number")

    def test_files_of_another_length_than_in_the_manifest_are_damaged(self):
        write_job(self.folder)
        folders.write_manifest(self.folder)
        path = self.folder / "operations.csv"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:-2]))
        self.refused(r"operations\.csv")

    def test_columns_of_another_version(self):
        path = write_job(self.folder) / "operations.csv"
        path.write_text(path.read_text().replace("ready_ps", "ready_us"))
        self.refused(r"operations\.csv:1: has no column ready_ps; was it written by this Heddle\?")

    def test_recorded_operations_that_lack_an_iteration(self):
        write_job(self.folder, operations=[operation(0, "compute", 0, 1, iteration=0)])
        self.refused(r"operations\.csv: has no operations of iteration 1 of job 1")


class CompletionTimesTest(Folder):
    ROWS = [(lb, size, load) for lb in ("ecmp", "drill") for size in ("64KB", "1MB", "8MB") for load in ("0.1", "0.2")]

    def write(self, names=("lb", "workload[0].size", "workload[1].load"), rows=ROWS, metrics=results.JOB_METRICS):
        folders.write_sweep(self.folder, names, rows, names={0})
        with open(self.folder / "means.csv", newline="", encoding="utf-8") as file:
            header, *table = csv.reader(file)
        value = {"run_mean_iter_us": 100, "run_p99_iter_us": 150, "run_busbw_gbs": 7}
        for i, row in enumerate(table):
            for metric in metrics:
                row += [value[metric] + i // len(folders.CLASSES), 2, 5] if metric in value else ["", "", 0]
        header += [name for metric in metrics for name in (metric, metric + "_ci95", metric + "_n")]
        folders.write_csv(self.folder / "means.csv", header, table)
        return self.sweep()

    def test_bus_bandwidth_over_the_size_of_messages_one_line_a_balancer(self):
        sweep = self.write()
        self.assertEqual(sweep.choices, ["load=0.1", "load=0.2"])
        chart = sweep.charts()[0][0]
        self.assertEqual((chart.id, chart.kind, chart.x_title, chart.x), ("jobs", "lines", "size", [64e3, 1e6, 8e6]))
        self.assertTrue(chart.x_log)
        titles = [panel.y_title for panel in chart.panels]
        self.assertEqual(titles, ["mean time of an iteration (µs)", "p99 time of an iteration (µs)", "bus bandwidth (GB/s)"])
        first, second = chart.panels[2].lines
        self.assertEqual((first.name, first.y, first.ci), ("ecmp", [7, 9, 11], [2, 2, 2]))
        self.assertEqual((second.name, second.y), ("drill", [13, 15, 17]))
        self.assertIn("95 % confidence intervals", chart.caption)

    def test_without_a_size_bars_by_balancer(self):
        chart = self.write(("lb",), [("ecmp",), ("drill",)]).charts()[0][0]
        self.assertEqual((chart.kind, chart.x_title), ("bars", "load balancer"))
        self.assertEqual([line.y for line in chart.panels[0].lines], [[100], [101]])

    def test_tables_without_these_columns_have_no_such_chart(self):
        sweep = self.write(metrics=())
        self.assertNotIn("jobs", [chart.id for chart in sweep.charts()[0]])
        self.assertEqual(sweep.names[sweep.layout.main], "load")

    def test_a_load_stays_on_the_x_axis_where_sizes_are_no_messages(self):
        rows = [results.Combination(row) for row in self.ROWS]
        names = ["lb", "workload[0].size", "workload[1].load"]
        self.assertEqual(axes.choose(names, rows).main, 2)
        self.assertEqual(axes.choose(names, rows, has_bandwidth=True).main, 1)

    def test_a_run_has_those_of_its_first_job(self):
        write_job(self.folder)
        chart = self.sweep().charts()[0][0]
        self.assertEqual([panel.lines[0].y for panel in chart.panels], [[10], [11], [5.5]])


@unittest.skipUnless(has("plotly"), "plotly is not installed")
class PageTest(Folder):
    def test_has_the_picture_and_the_tables(self):
        write_job(self.folder, flow_links=StragglersTest.LINKS)
        self.assertEqual(report(self.folder).returncode, 0)
        text = (self.folder / "report.html").read_text(encoding="utf-8")
        self.assertIn('<svg class="lanes"', text)
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
        [chart] = [chart for chart in data["runs"] if chart["kind"] == "lanes"]
        self.assertEqual(chart["panels"], [])  # They are in the picture.
        tables = {table["id"]: table for table in data["tables"]}
        self.assertEqual(tables["jobs-table"]["rows"][0][:6], ["ecmp", "job 1 (mine)", "collective", 2, None, 9.5])
        self.assertEqual(len(tables["stragglers"]["rows"]), 2)

    @unittest.skipUnless(has("matplotlib"), "matplotlib is not installed")
    def test_figures_have_the_time_line(self):
        write_job(self.folder)
        self.assertEqual(report(self.folder, "--figures", self.folder / "f", "--format", "svg").returncode, 0)
        self.assertIn("<!-- exposed communication -->", (self.folder / "f/timeline-1.svg").read_text(encoding="utf-8"))
        self.assertIn("Time line of job 1 (mine).", (self.folder / "f/captions.txt").read_text(encoding="utf-8"))

    def test_odd_labels_are_text(self):
        write_job(self.folder)
        path = self.folder / "jobs.csv"
        path.write_text(path.read_text().replace("mine", "<img src=x>"))
        self.assertNotIn("<img", page.html(self.sweep()))


COLLECTIVE = """\
name: rings
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4,
  host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}}
transport: {kind: rocev2, cc: dcqcn, recovery: irn}
workload: [{kind: collective, op: all_reduce, size: 64KB, ranks: 8, placement: random, iterations: 3, warm_up: 1}]
"""
SWEEP = COLLECTIVE + 'sweep: {lb: [ecmp, drill], "workload[0].size": [64KB, 512KB], seeds: 2}\n'
TRAINING = """\
name: training
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}
transport: rocev2
lb: ecmp
workload:
  - {kind: training, ranks: 4, model: {layers: 2, hidden: 64, ffn: 128, kv_hidden: 64, vocab: 1000, seq: 64},
     parallel: {pipeline: 2, data: 2}, iterations: 2}
measure: {operations: true, flow_links: true}
"""


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@unittest.skipUnless(HEDDLE, "HEDDLE_BINARY does not say which heddle to run")
class RunsTest(Folder):
    """From experiments to pages, as users do it."""

    def heddle(self, *arguments):
        self.folder.parent.mkdir(exist_ok=True)
        result = subprocess.run([HEDDLE, *map(str, arguments)], cwd=self.folder.parent, capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def run_of(self, text, *arguments, command="run"):
        (self.folder.parent / "e.yaml").write_text(text)
        self.heddle(command, "e.yaml", "-q", "-o", self.folder, *arguments)

    @unittest.skipUnless(has("plotly"), "plotly is not installed")
    def test_a_sweep_over_balancers_and_sizes(self):
        self.run_of(SWEEP, command="sweep")
        self.heddle("report", self.folder)
        text = (self.folder / "report.html").read_text(encoding="utf-8")
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
        [chart] = [chart for chart in data["choices"][0]["charts"] if chart["id"] == "jobs"]
        bandwidth = chart["panels"][2]
        means = [row for row in table(self.folder / "means.csv") if row["class"] == "all"]
        for line in bandwidth["lines"]:
            rows = [row for row in means if row["lb"] == line["name"]]
            for size, y, width in zip(("64KB", "512KB"), line["y"], line["ci"], strict=True):
                [row] = [row for row in rows if row["workload[0].size"] == size]
                self.assertAlmostEqual(y, float(row["run_busbw_gbs"]), delta=1e-4 * y)
                self.assertAlmostEqual(width, float(row["run_busbw_gbs_ci95"]), delta=1e-4 * width + 1e-9)
        self.assertIn("measure: {operations: true} records what each rank does", text)
        from plotly.offline import get_plotlyjs
        self.assertLess(len(text) - len(get_plotlyjs()), 300_000)

    def test_stragglers_are_those_of_the_files(self):
        self.run_of(COLLECTIVE + "lb: ecmp\nmeasure: {operations: true, flow_links: true}\n")
        flows = {row["flow_id"]: row for row in table(self.folder / "flows.csv")}
        _, rows = self.stragglers()
        self.assertEqual({row["iteration"] for row in rows}, {1, 2})
        for row in rows:
            message = flows[str(row["last message (flow_id)"])]
            self.assertEqual((message["iter"], f"host{message['dst']}"), (str(row["iteration"]), row["host"]))
            self.assertEqual(row["before the end (µs)"], 0)  # A collective ends with a message.
            nodes = row["path"].split(" → ")
            self.assertEqual((nodes[0], nodes[-1]), (f"host{message['src']}", row["host"]))
            self.assertEqual(len(nodes) - 1, int(message["hops"]))
            self.assertIn(row["worst link"], row["path"])

    def test_lanes_agree_with_what_jobs_csv_says(self):
        """Computation of a rank, and exposed communication and idle time together, are those of the run."""
        self.run_of(TRAINING)
        sweep = self.sweep()
        [iterations] = jobs.read_iterations(self.folder).values()
        [its] = jobs.slowest(iterations)
        ranks = jobs.read_operations(self.folder, [its])[its.key]
        found = lanes.lanes_of(its, ranks, (message for _, message in jobs.messages_of(self.folder, [its])))
        self.assertEqual(sorted(found), [0, 1, 2, 3])
        for lane in found.values():
            self.assertEqual((lane[0][1], lane[-1][2]), (its.start_ps, its.end_ps))
            self.assertTrue(all(a[2] == b[1] and a[0] != b[0] for a, b in zip(lane, lane[1:])))
        [job] = table(self.folder / "jobs.csv")
        computed = [sum(end - start for state, start, end in lane if state == lanes.COMPUTING) for lane in found.values()]
        self.assertAlmostEqual(sum(computed) / 4e6, float(job["compute_us"]), delta=1e-6)
        exposed = [ranks.end[rank] - ranks.begin[rank] - spent for rank, spent in zip(found, computed)]
        self.assertAlmostEqual(sum(exposed) / 4e6, its.exposed_us, delta=1e-6)
        self.assertTrue(all(any(state == lanes.COMMUNICATING for state, *_ in lane) for lane in found.values()))
        self.assertEqual(runs.charts(sweep)[0].kind, "lanes")

    def test_a_trace_shows_the_operations_of_the_run(self):
        for name, text in (("collective", COLLECTIVE + "lb: ecmp\nmeasure: {operations: true}\n"), ("training", TRAINING)):
            with self.subTest(name):
                self.folder = self.folder.with_name(name)
                self.run_of(text, "--from", "0ps", "--to", "1s", "--format", "perfetto", command="trace")
                self.check_trace()

    def check_trace(self):
        events = json.loads((self.folder / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
        operations = {tuple(row[key] for key in ("job", "iter", "rank", "op")): row for row in table(self.folder / "operations.csv")}
        slices = [event for event in events if event["ph"] == "X"]
        self.assertEqual(len(slices), sum(row["start_ps"] != "" for row in operations.values()))
        starts = {}  # Of messages that arrows leave from.
        for event in slices:
            row = operations[tuple(str(event["args"][key]) for key in ("job", "iter", "rank", "op"))]
            self.assertEqual(event["cat"], row["kind"])
            start, length = (round(event[key] * US) for key in ("ts", "dur"))
            if row["kind"] != "recv":
                self.assertEqual(start, int(row["start_ps"]))
            else:
                self.assertGreaterEqual(start, min(int(row["start_ps"]), int(row["end_ps"])))
            if row["end_ps"]:
                self.assertEqual(start + length, int(row["end_ps"]))
            if event.get("flow_out"):
                starts[event["bind_id"]] = start, row
        arrivals = [event for event in slices if event.get("flow_in")]
        self.assertEqual(len(arrivals), sum(row["kind"] == "recv" for row in operations.values()))
        flows = {row["flow_id"]: row for row in table(self.folder / "flows.csv")}
        for event in arrivals:
            start, send = starts[event["bind_id"]]
            self.assertEqual(send["peer"], str(event["args"]["rank"]))
            self.assertLessEqual(start, round(event["ts"] * US))
            if send["flow_id"]:  # Not within a host.
                end = round((event["ts"] + event["dur"]) * US)
                self.assertGreaterEqual(end, int(flows[send["flow_id"]]["rx_done_ps"]))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The page and the figures as files. What a browser makes of the page is in test_browser.py."""

import importlib.util
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import unittest
from html.parser import HTMLParser
from pathlib import Path

import folders
from heddle_report import charts, page, results

ODD = '<img src=x onerror=alert(1)>&"\'$x^2$ </script>'


def has(module):
    return importlib.util.find_spec(module) is not None


def report(folder, *arguments, seed="0", before=None):
    """As heddle runs it. `seed` is that of Python's hashes, on which nothing may depend; `before` is called in
    its process."""
    return subprocess.run(
        [sys.executable, "-B", "-m", "heddle_report", str(folder), *map(str, arguments)],
        env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=False,
        preexec_fn=before)


def no_large_files():
    """As if the disk were full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


class Tags(HTMLParser):
    """All tags outside of scripts, with their attributes, and the texts of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.scripts = []
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag == "script"

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "script"

    def handle_data(self, data):
        if self._inside:
            self.scripts.append(data)


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "out"

    def sweep(self, **how):
        rows = [(lb, load, k) for lb in ("ecmp", ODD) for load in ("0.3", "0.5")
                for k in ("4", "<b>6</b>")]
        return folders.write_sweep(self.folder, ("lb", "workload[0].load", "k"), rows, **how)


@unittest.skipUnless(has("plotly"), "plotly is not installed")
class PageTest(Folder):
    def written(self, *arguments, seed="0"):
        result = report(self.folder, *arguments, seed=seed)
        self.assertEqual(result.returncode, 0, result.stderr)
        return (self.folder / "report.html").read_text(encoding="utf-8")

    def test_the_same_results_give_the_same_bytes(self):
        self.sweep()
        self.assertEqual(self.written(seed="1"), self.written(seed="2"))

    def test_fetches_nothing(self):
        self.sweep()
        tags = Tags(self.written()).tags
        for tag, attributes in tags:
            self.assertNotIn("src", attributes, tag)
            self.assertTrue(attributes.get("href", "#").startswith("#"), tag)
        policy = [a["content"] for tag, a in tags if a.get("http-equiv") == "Content-Security-Policy"]
        self.assertTrue(policy[0].startswith("default-src 'none';"))

    def test_odd_names_are_text(self):
        self.sweep(without=(0,))
        document = "name: \"<script>alert(2)</script>\"\n"
        (self.folder / "sweep.yaml").write_text(document)
        text = self.written()
        found = Tags(text)
        self.assertNotIn("img", {tag for tag, _ in found.tags})
        self.assertEqual(sum(tag == "script" for tag, _ in found.tags), 3)
        self.assertNotIn("alert(2)", "".join(found.scripts))
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
        self.assertIn(ODD, {line["name"] for line in data["choices"][0]["charts"][0]["panels"][0]
                            ["lines"]})

    def test_numbers_json_has_no_word_for_are_nothing(self):
        self.sweep(value=lambda i, metric: math.inf if i == 0 else 1, width=math.nan)
        self.assertNotRegex(self.written().split('id="data">')[1].split("</script>")[0],
                            r"[:,\[](NaN|-?Infinity)")

    def test_points_without_results_are_listed(self):
        self.sweep(without=(3,))
        text = self.written()
        self.assertIn("Of 16 points, 1 missing", text)
        self.assertIn('id="absent"', text)

    def test_warnings_of_runs_are_shown_once_for_each_kind(self):
        self.sweep()
        self.assertNotIn('id="warnings"', self.written())
        texts = {"p0_1": ["load: 0.3 was <b>offered</b> & 0.2 carried"], "p1_1": ["load: 0.5 was <b>offered</b> & 0.41 carried"],
                 "p2_1": ["few flows: L (12)", "load: 0.5 was <b>offered</b> & 0.42 carried"]}
        for name, warnings in texts.items():
            summary = self.folder / "points" / name / "summary.json"
            summary.write_text(json.dumps({**json.loads(summary.read_text()), "warnings": warnings}))
        text = self.written()
        self.assertIn('<a href="#warnings">2 different warnings of the runs</a>', text)
        self.assertNotIn("<b>offered", text)
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
        [table] = [table for table in data["tables"] if table["id"] == "warnings"]
        self.assertEqual([row[:2] for row in table["rows"]],
                         [["load: 0.3 was <b>offered</b> & 0.2 carried", 3], ["few flows: L (12)", 1]])

    def test_is_there_complete_or_not_at_all(self):
        self.sweep()
        (self.folder / "points/p0_1/links.csv").unlink()
        result = report(self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"^heddle: .*links.csv: No such file or directory\n$")
        self.assertEqual(list(self.folder.glob("*report*")), [])

    def test_a_folder_that_cannot_be_written_to_is_a_failure(self):
        self.sweep()
        result = report(self.folder, "--out", self.folder / "nowhere/page.html")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"^heddle: .*nowhere.*: No such file or directory\n$")

    def test_a_full_disk_leaves_nothing_and_is_named(self):
        self.sweep()
        page_file = self.folder / "page.html"
        result = report(self.folder, "--out", page_file, before=no_large_files)
        self.assertEqual((result.returncode, result.stderr), (1, f"heddle: {page_file}: File too large\n"))
        self.assertEqual(list(self.folder.glob("*page*")), [])

    def test_ten_thousand_points_take_seconds_and_bounded_memory(self):
        rows = [(lb, f"{load / 100}", f"{gap}us", f"{k}") for lb in "abcdefgh"
                for load in range(10, 60, 2) for gap in range(10) for k in range(5)]
        self.assertEqual(len(rows), 10_000)
        loads = [i for i, row in enumerate(rows) if row[2:] == ("0us", "0")]
        folders.write_sweep(self.folder, ("lb", "workload[0].load", "lb.gap", "k"), rows, seeds=1,
                            names=set(loads))
        start = time.monotonic()
        self.written()
        took = time.monotonic() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        self.assertLess(took, 60)   # 5 s on an idle core.
        self.assertLess(peak, 600)  # MiB.
        self.assertLess((self.folder / "report.html").stat().st_size, 40e6)


class DataTest(unittest.TestCase):
    def test_json_cannot_end_its_script(self):
        text = page._json({"x": "</script><!--&\u2028"})
        self.assertNotRegex(text, "[<>&\u2028]")
        self.assertEqual(json.loads(text), {"x": "</script><!--&\u2028"})

    def test_numbers_are_as_long_as_can_be_seen(self):
        self.assertEqual(page.short([1 / 3, math.nan, -math.inf, 7, "x"]),
                         [0.333333, None, None, 7, "x"])


@unittest.skipUnless(has("plotly"), "plotly is not installed")
class PlotlyTest(unittest.TestCase):
    @unittest.skipUnless(has("IPython"), "IPython is not installed")
    def test_it_is_loaded_without_ipython(self):
        done = subprocess.run(
            [sys.executable, "-c", "import sys; from heddle_report import page; print(len(page.plotly())); "
                                   "print('IPython' in sys.modules)"], capture_output=True, text=True, check=True)
        length, has_ipython = done.stdout.split()
        self.assertGreater(int(length), 1_000_000)
        self.assertEqual(has_ipython, "False")


@unittest.skipUnless(has("matplotlib") and has("plotly"), "matplotlib or plotly is not installed")
class FiguresTest(Folder):
    BEGIN = {"pdf": b"%PDF-", "svg": b"<?xml", "png": b"\x89PNG"}

    def figures(self, name, formats="pdf,svg,png", seed="0"):
        result = report(self.folder, "--figures", self.folder / name, "--format", formats, seed=seed)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {path.name: path.read_bytes() for path in (self.folder / name).iterdir()}

    def test_every_chart_in_every_format_for_every_choice(self):
        self.sweep()
        files = self.figures("a")
        sweep = charts.Sweep(results.read(self.folder))
        self.assertEqual(len(sweep.choices), 2)
        for kind, begin in self.BEGIN.items():
            written = [content for name, content in files.items() if name.endswith(kind)]
            self.assertEqual(len(written), 2 * 3 + 3)  # Of both choices; of single runs.
            self.assertTrue(all(content.startswith(begin) for content in written))
        captions = files["captions.txt"].decode()
        self.assertIn("Means over 2 seeds", captions)
        self.assertIn("Heddle 0.1.0 (abc), experiment", captions)
        with self.subTest("files have plain names"):
            self.assertRegex(" ".join(files), r"^([A-Za-z0-9_-]+\.[a-z]+ ?)+$")
        with self.subTest("dollars begin no formula"):  # matplotlib notes each text beside its outlines.
            self.assertIn(b"$x^2$", b"".join(c for n, c in files.items() if n.endswith("svg")))

    def test_names_of_files_differ(self):
        from heddle_report import paper
        self.assertEqual(list(paper._file_names(["a-x=0.5", "a-x=0 5", "a-x_0_5-2", "b"])),
                         ["a-x_0_5", "a-x_0_5-2", "a-x_0_5-2-2", "b"])

    def test_the_same_results_give_the_same_bytes(self):
        folders.write_run(self.folder)
        self.assertEqual(self.figures("a", seed="1"), self.figures("b", seed="2"))

    def test_where_nothing_is_finite_it_says_so(self):
        self.sweep(value=lambda i, metric: 1 if metric == "n" else math.inf, width=math.nan)
        self.assertIn(b"no finite values", self.figures("a", formats="svg")["fct-k_4.svg"])

    def test_a_full_disk_leaves_whole_figures_only(self):
        self.sweep()
        from heddle_report import paper
        drawn, made, note = paper.of_sweep(charts.Sweep(results.read(self.folder)))
        whole = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, whole[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, whole)
        with self.assertRaisesRegex(OSError, "File too large: '.*slowdown.*png'"):
            list(paper.write(drawn, made, note, self.folder / "f", ["png"]))
        self.assertEqual(list((self.folder / "f").iterdir()), [])

    def test_whiskers_end_at_zero(self):
        from heddle_report import paper
        line = charts.Line("a", 0, [1, 5], ci=[3, 2])
        self.assertEqual(paper._whiskers(line), [[1, 2], [3, 2]])
        self.assertEqual(paper._whiskers(charts.Line("b", 0, [-1, 5], ci=[3, 2])), [[3, 2], [3, 2]])
        self.assertIsNone(paper._whiskers(charts.Line("c", 0, [1])))

    def test_panels_over_time_share_axes_that_hold_all(self):
        from heddle_report import paper
        curves = charts.Chart("c", "", "", "curves", [charts.Panel("", "y", [charts.Line("a", 0, [0, y], x=[0, y])])
                                                      for y in (5, 90, 3)], 2)
        heat = charts.Chart("h", "", "", "heat", [charts.Panel("", "", heat=[[0.5, 1]], rows=["r"], x=[end / 2, end])
                                                  for end in (5, 90, 3)], 2)
        for chart in (curves, heat):
            ends = {axes.get_xlim()[1] for axes in paper.draw(chart).axes[:3]}
            self.assertEqual(len(ends), 1)
            self.assertGreaterEqual(ends.pop(), 90)
        tops = {axes.get_ylim() for axes in paper.draw(curves).axes[:3]}
        self.assertEqual(len(tops), 1)
        bottom, top = tops.pop()
        self.assertEqual(bottom, 0)
        self.assertGreaterEqual(top, 90)


if __name__ == "__main__":
    unittest.main()

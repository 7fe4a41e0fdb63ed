# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: heddle runs a sweep and reports it, Chromium opens the page, and
everything that a person would look at or click is looked at or clicked.

HEDDLE_SCREENSHOTS=DIR keeps pictures of the pages, for people."""

import csv
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import folders
import test_jobs
from test_page import ODD, has, report

HEDDLE = os.environ.get("HEDDLE_BINARY", "")
DRIVER = shutil.which("chromedriver")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")

SWEEP = """\
name: browsed
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, port: {buffer: unlimited, pfc: {classes: [3]}},
  asymmetry: [{spines: [1], rate: 1Gbps}]}
transport: rocev2
workload: [{kind: poisson, sizes: small, load: 0.4, flows: 200}]
schedule: [{at: 1ms, links: [leaf0-spine0], rate: 5Gbps}]
measure:
  record: {queues: 10us, links: 50us, buffers: 50us, marks: 50us, pauses: 50us, paths: true, flows: {ids: [0, 1], every: 20us}}
sweep: {lb: [ecmp, rps], "workload[0].load": [0.2, 0.4], transport.nack: [per_gap, timer], seeds: 2}
"""

# How many lines, markers, bars and heat maps each chart has, in Plotly of whatever version.
DRAWN = """
return [...document.querySelectorAll('.chart')].map((chart) => [chart.id, chart.querySelectorAll(
  '.js-line, .points path, .heatmaplayer path, .heatmaplayer image').length])
"""


@unittest.skipUnless(DRIVER and BROWSER and has("selenium"),
                     "needs chromium, chromium-driver and python3-selenium")
@unittest.skipUnless(has("plotly"), "plotly is not installed")
class Browsing(unittest.TestCase):
    """A browser, and what tests do with it."""

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        cls.browser = cls.start()
        cls.addClassCleanup(cls.browser.quit)

    @classmethod
    def start(cls):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--disable-dev-shm-usage", "--window-size=1320,1000",
                         f"--user-data-dir={cls.folder / 'profile'}"):
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"download.default_directory": str(cls.folder)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        return webdriver.Chrome(service=Service(DRIVER), options=options)

    def open(self, page, scheme="light"):
        self.browser.get_log("browser")
        self.browser.get_log("performance")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.get(page.as_uri())
        self.until_not("return document.documentElement.dataset.drawn", None)

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def wait(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"{what}: {self.browser.get_log('browser')}")
            time.sleep(0.1)

    def until_not(self, script, before):
        self.wait(lambda: self.js(script) != before, script)

    def find(self, selector):
        return self.browser.find_element("css selector", selector)

    def column(self, table, number):
        return self.js("return [...document.querySelectorAll(arguments[0])].map((c) => c.textContent)",
                       f"#table-{table} tbody tr td:nth-child({number})")

    def keep_picture(self, name):
        where = os.environ.get("HEDDLE_SCREENSHOTS")
        if where:
            height = self.js("return document.documentElement.scrollHeight")
            self.browser.set_window_size(1320, height + 150)
            self.browser.save_screenshot(str(Path(where) / f"{name}.png"))
            self.browser.set_window_size(1320, 1000)

    def assert_no_complaints(self):
        self.assertEqual(self.browser.get_log("browser"), [])


class BrowserTest(Browsing):
    @property
    def real(self):
        """The page of a sweep that heddle has run; made once."""
        page = self.folder / "browsed/report.html"
        if not page.exists():
            if not HEDDLE:
                self.skipTest("HEDDLE_BINARY does not say which heddle to run")
            (self.folder / "browsed.yaml").write_text(SWEEP)
            for command in (["sweep", "browsed.yaml", "-q", "-o", "browsed"], ["report", "browsed"]):
                result = subprocess.run([HEDDLE, *command], cwd=self.folder, capture_output=True,
                                        text=True, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)
        return page

    def test_every_chart_is_drawn_without_a_complaint_light_and_dark(self):
        for scheme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 28)")):
            self.open(self.real, scheme)
            self.assert_no_complaints()
            drawn = dict(self.js(DRAWN))
            for chart in ("slowdown", "fct", "costs", "cdf-slowdown", "cdf-fct", "links", "queues",
                          "buffers", "rates", "links-over-time"):
                self.assertGreater(drawn.pop(f"chart-{chart}", 0), 0, chart)
            self.assertTrue(all(drawn.values()), drawn)  # Those that depend on what happened.
            self.assertEqual(self.js("return getComputedStyle(document.body).backgroundColor"), ground)
            self.keep_picture(f"page-{scheme}")

    def test_whiskers_of_bars_end_at_zero(self):
        folder = folders.write_sweep(self.folder / "bars", ("lb",), [("ecmp",), ("rps",)], width=5,
                                     value=lambda i, metric: 2)
        self.assertEqual(report(folder).returncode, 0)
        self.open(folder / "report.html")
        bar = self.js("return document.getElementById('chart-slowdown').data[0].error_y")
        self.assertEqual((bar["array"][0], bar["arrayminus"][0]), (5, 2))
        self.assertGreaterEqual(self.js(
            "return document.getElementById('chart-slowdown')._fullLayout.yaxis.range[0]"), 0)

    def test_a_button_changes_the_scale_of_the_y_axis_and_keeps_it(self):
        folder = folders.write_sweep(self.folder / "scales", ("lb",), [("ecmp",), ("rps",)], value=lambda i, _: 2 + i)
        self.assertEqual(report(folder).returncode, 0)
        self.open(folder / "report.html")
        look = ("const c = document.getElementById('chart-slowdown');"
                "return [c._fullLayout.yaxis.type, c.data[0].type, document.getElementById('scale-slowdown').textContent]")
        linear, logarithmic = ["linear", "bar", "Logarithmic y-axis"], ["log", "scatter", "Linear y-axis"]
        self.assertEqual(self.js(look), linear)
        self.find("#scale-slowdown").click()
        self.until_not(look, linear)
        self.assertEqual(self.js(look), logarithmic)
        self.find("#theme").click()
        self.assertEqual(self.js(look), logarithmic)
        self.find("#scale-slowdown").click()
        self.until_not(look, logarithmic)
        self.assertEqual(self.js(look), linear)
        self.assert_no_complaints()

    def test_an_interval_down_to_zero_does_not_stretch_a_logarithmic_axis(self):
        folder = folders.write_sweep(self.folder / "wide", ("lb", "load"), [("ecmp", "0.3"), ("ecmp", "0.5"),
                                     ("rps", "0.3"), ("rps", "0.5")], value=lambda i, _: 2 + 20 * i, width=50)
        self.assertEqual(report(folder).returncode, 0)
        self.open(folder / "report.html")
        bottom = self.js("return document.getElementById('chart-slowdown')._fullLayout.yaxis.range[0]")
        self.assertAlmostEqual(10 ** bottom, 1 / 1.1, places=3)  # Half the lowest mean, and some room.

    def test_panels_over_time_share_their_axes(self):
        self.open(self.real)
        for axis in ("xaxis", "yaxis"):
            ranges = self.js("const l = document.getElementById('chart-queues')._fullLayout;"
                             f"return [l.{axis}.range, l.{axis}2.range]")
            self.assertEqual(ranges[0], ranges[1])

    def test_nothing_is_fetched(self):
        self.open(self.real)
        sent = [entry["message"] for entry in self.browser.get_log("performance")
                if '"Network.requestWillBeSent"' in entry["message"]]
        self.assertEqual([m for m in sent if '"url":"http' in m], [])

    def test_the_button_changes_the_theme_and_the_charts_with_it(self):
        self.open(self.real)
        colour = "return document.querySelector('#chart-slowdown .xtick text').style.fill"
        before = self.js(colour)
        self.find("#theme").click()
        self.until_not(colour, before)
        self.assertEqual(self.js("return document.documentElement.dataset.theme"), "dark")

    def test_the_choice_of_the_other_axes_changes_what_is_drawn(self):
        self.open(self.real)
        self.assertEqual(self.js("return [...document.querySelectorAll('#choice option')].map((o) => o.value)"),
                         ["nack=per_gap", "nack=timer"])
        marks = "return JSON.stringify(document.getElementById('chart-fct').data.map((t) => t.y))"
        before = self.js(marks)
        self.js("const c = document.getElementById('choice'); c.selectedIndex = 1;"
                "c.dispatchEvent(new Event('change'))")
        self.until_not(marks, before)

    def test_a_click_sorts_by_number_and_the_next_the_other_way(self):
        self.open(self.real)
        self.js("document.querySelector('#table-results').scrollIntoView()")
        number = self.js("return [...document.querySelectorAll('#table-results th')].findIndex("
                         "(h) => h.textContent === 'mean FCT (µs)')") + 1
        before = self.column("results", number)
        header = self.find(f"#table-results th:nth-child({number}) button")
        header.click()
        ascending = list(map(float, self.column("results", number)))
        self.assertEqual(ascending, sorted(map(float, before)))
        self.assertNotEqual(ascending, list(map(float, before)))
        header.click()
        self.assertEqual(list(map(float, self.column("results", number))), ascending[::-1])
        self.assertEqual(self.js("return arguments[0].parentElement.ariaSort", header), "descending")

    def test_what_is_saved_is_what_is_shown(self):
        self.open(self.real)
        self.js("document.querySelector('#table-results').scrollIntoView()")
        self.find("#table-results .filter").send_keys("ecmp")
        self.find("#table-results .save").click()
        saved = self.folder / "results.csv"
        self.wait(saved.exists, "the saved table")
        with open(saved, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["lb"] for row in rows], self.column("results", 1))
        self.assertEqual({row["lb"] for row in rows}, {"ecmp"})

    def test_odd_names_are_shown_as_they_are_and_run_nothing(self):
        rows = [(lb, load) for lb in ("ecmp", ODD) for load in ("0.3", "0.5")]
        folder = folders.write_sweep(self.folder / "odd", ("lb", "workload[0].load"), rows)
        self.assertEqual(report(folder).returncode, 0)
        self.open(folder / "report.html")
        self.assert_no_complaints()
        self.assertEqual(self.js("return document.images.length"), 0)
        legend = self.js("return [...document.querySelectorAll('#chart-slowdown .legendtext')].map("
                         "(t) => t.textContent)")
        self.assertEqual(legend, ["ecmp", ODD])
        self.assertIn(ODD, self.column("results", 1))


VERDICTS = ("reproduced", "same direction", "tie", "mixed", "contradicted", "can't be judged")


class JobsTest(Browsing):
    def test_time_lines_are_seen_light_and_dark(self):
        folder = test_jobs.write_job(self.folder / "jobs", flow_links=test_jobs.StragglersTest.LINKS)
        self.assertEqual(report(folder).returncode, 0)
        colours = set()
        for scheme in ("light", "dark"):
            self.open(folder / "report.html", scheme)
            self.assert_no_complaints()
            box = self.js("const b = document.querySelector('svg.lanes').getBoundingClientRect(); return [b.width, b.height]")
            self.assertTrue(box[0] > 800 and 50 < box[1] < 300, box)
            drawn = self.js("return ['.s0', '.s1', '.s2'].map((s) => getComputedStyle("
                            "document.querySelector(`svg.lanes ${s}`)).stroke)")
            self.assertEqual(len(set(drawn)), 3)
            colours.add(tuple(drawn))
            self.assertIn("exposed communication, in which", self.js(
                "return document.getElementById('caption-timeline-1').textContent"))
            self.assertEqual(self.column("stragglers", 4), ["10", "9"])  # us.
            self.keep_picture(f"jobs-{scheme}")
        self.assertEqual(len(colours), 2)


class PapersTest(Browsing):
    """The page of two papers: six claims in two experiments, and one in a third."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        figures = [
            folders.figure(), folders.figure("7b", kind="bars", x_is_number=False),
            folders.figure("7c", x_is_number=False, lines=[folders.line("rps", (1, 2), x_text=("", "few"))]),
            folders.figure("8", kind="time", x="", lines=[
                folders.line("rps", (1, 3, 2), x=(0, 0.5, 1), x_text=("", "", ""))])]
        first = [folders.claim(f"pdlb-fig7.C{i}", verdict) for i, verdict in enumerate(VERDICTS[:5], 1)]
        papers = [
            folders.paper(experiments=[
                folders.experiment(claims=first, figures=figures),
                folders.experiment("fig9", [folders.claim("pdlb-fig9.C1", VERDICTS[5], ODD)])]),
            folders.paper("tr", [folders.experiment(claims=[folders.claim("tr-fig7.C1")])], "TR")]
        cls.page = folders.write_papers(cls.folder / "papers", papers) / "report.html"
        assert report(cls.page.parent).returncode == 0

    def shown(self, selector):
        return self.js("return [...document.querySelectorAll(arguments[0])].filter("
                       "(e) => e.checkVisibility()).map((e) => e.id)", selector)

    def scroll_to(self, figure):
        """Scrolls to a figure, and waits until it is drawn."""
        self.js("document.getElementById(arguments[0]).scrollIntoView()", figure)
        self.wait(lambda: dict(self.js(DRAWN))[figure] > 0, figure)

    def claims(self):
        self.assertEqual(self.shown(".claims > tbody > tr"), self.column("claims", 1))
        return self.column("claims", 1)

    def test_figures_are_drawn_as_they_come_into_sight_without_a_complaint_light_and_dark(self):
        for scheme in ("light", "dark"):
            self.open(self.page, scheme)
            for id_ in self.js("return [...document.querySelectorAll('.chart')].map((c) => c.id)"):
                self.scroll_to(id_)
            self.assert_no_complaints()
            self.keep_picture(f"papers-{scheme}")

    def test_nothing_moves_when_figures_are_drawn(self):
        self.open(self.page)
        place = "return document.querySelector('#table-claims').getBoundingClientRect().top + scrollY"
        before = self.js(place)
        self.assertIn(0, dict(self.js(DRAWN)).values())
        for id_, _ in self.js(DRAWN):
            self.scroll_to(id_)
            self.assertEqual(self.js(place), before, id_)

    def test_the_theme_changes_what_has_been_drawn(self):
        self.open(self.page)
        colour = "return document.querySelector('#chart-pdlb-fig7-7a .xtick text')?.style.fill"
        self.until_not(colour, None)
        before = self.js(colour)
        self.find("#theme").click()
        self.until_not(colour, before)

    def test_all_is_drawn_for_print(self):
        self.open(self.page)
        self.js("dispatchEvent(new Event('beforeprint'))")
        self.wait(lambda: all(count for _, count in self.js(DRAWN)), "drawing")
        self.js("dispatchEvent(new Event('afterprint'))")
        self.assert_no_complaints()

    def test_verdicts_can_be_told_apart_without_colour(self):
        self.open(self.page)
        signs = self.js("return [...document.querySelectorAll('#filters .badge')].map("
                        "(b) => getComputedStyle(b, '::before').content + b.textContent)")
        self.assertEqual(len({sign[1] for sign in signs}), len(VERDICTS))
        self.assertTrue(all(word in sign for word, sign in zip(VERDICTS, signs)), signs)

    def test_verdicts_filter_claims_experiments_and_the_table(self):
        self.open(self.page)
        everything = self.claims()
        self.assertEqual(len(everything), 7)
        self.find("#filters [data-verdict=contradicted]").click()
        self.assertEqual(self.claims(), ["pdlb-fig7.C5"])
        self.assertEqual(self.shown("article"), ["pdlb-fig7"])
        self.find("#filters [data-verdict=reproduced]").click()
        self.assertEqual(self.claims(), ["pdlb-fig7.C1", "pdlb-fig7.C5", "tr-fig7.C1"])
        self.assertEqual(self.find("#filters .count").text, "3 of 7 claims")
        self.find("#filters .reset").click()
        self.assertEqual(self.claims(), everything)
        self.assertEqual(self.shown("article"), ["pdlb-fig7", "pdlb-fig9", "tr-fig7"])

    def test_words_filter_by_claim_and_paper(self):
        self.open(self.page)
        self.find("#filters input").send_keys("FASTER tr-")
        self.assertEqual(self.claims(), ["tr-fig7.C1"])
        self.assertEqual(self.shown("section.paper"), ["tr"])

    def test_counts_lead_to_what_they_count(self):
        self.open(self.page)
        self.find("#summary [href='#pdlb'][data-only=tie]").click()
        self.assertEqual(self.claims(), ["pdlb-fig7.C3"])
        self.js("location.hash = '#tr-fig7'")  # Hidden, until it is asked for.
        self.wait(lambda: "tr-fig7" in self.shown("article"), "what the link leads to")

    def test_the_table_sorts_and_saves_what_is_shown(self):
        self.open(self.page)
        self.find("#filters [data-verdict=reproduced]").click()
        self.js("document.querySelector('#table-claims').scrollIntoView()")
        header = self.find("#table-claims th:nth-child(1) button")
        header.click()
        header.click()
        self.assertEqual(self.column("claims", 1), ["tr-fig7.C1", "pdlb-fig7.C1"])
        self.find("#table-claims .save").click()
        saved = self.folder / "claims.csv"
        self.wait(saved.exists, "the saved table")
        with open(saved, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["claim"], row["verdict"]) for row in rows],
                         [("tr-fig7.C1", "reproduced"), ("pdlb-fig7.C1", "reproduced")])


if __name__ == "__main__":
    unittest.main()

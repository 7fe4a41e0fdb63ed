# SPDX-License-Identifier: Apache-2.0
"""The page and the figures of papers as files. What a browser makes of them is in test_browser.py."""

import json
import math
import re
import unittest

import folders
from folders import claim, experiment, figure, line, paper
from heddle_report import papers_page, reproduction, results, style
from test_page import ODD, Folder, Tags, has, report


def chart(of="fig7", **how):
    """The only one of an experiment."""
    made = reproduction._of(reproduction.Paper, paper(experiments=[
        experiment(of, figures=[figure(**how)])]), "paper")
    return reproduction.chart(made, made.experiments[0], made.experiments[0].figures[0],
                              reproduction.Styles())


class ReadingTest(Folder):
    def written(self, **how):
        return folders.write_papers(self.folder, [paper(experiments=[experiment(**how)])])

    def assert_refused(self, *texts):
        with self.assertRaises(results.BadInput) as caught:
            reproduction.read(self.folder)
        for text in texts:
            self.assertIn(text, str(caught.exception))

    def test_everything_is_there(self):
        found = reproduction.read(self.written(claims=[claim("pdlb-fig7.C1", "tie")]))
        self.assertEqual(found.made(), "Heddle 0.1.0 (abc), scale ci")
        found.set = ["transport.recovery=sack"]
        self.assertEqual(found.made(), "Heddle 0.1.0 (abc), scale ci, transport.recovery=sack")
        self.assertEqual([c.id for c in found.claims()], ["pdlb-fig7.C1"])
        self.assertEqual(found.claims()[0].parts[0].cells[0].relative, -0.25)
        self.assertEqual(found.papers[0].experiments[0].figures[0].lines[1].mean, [3, 5])

    def test_null_is_no_number(self):
        found = reproduction.read(self.written(figures=[figure(lines=[line("a", [None, 1])])]))
        self.assertTrue(math.isnan(found.papers[0].experiments[0].figures[0].lines[0].mean[0]))

    def test_what_is_missing_or_something_else_is_named_with_its_place(self):
        bad = claim("pdlb-fig7.C1")
        del bad["says"]
        self.written(claims=[bad])
        self.assert_refused("papers.json: papers[0]: experiments[0]: claims[0]: has no says")

    def test_another_type_is_named_with_its_place(self):
        self.written(points="12")
        self.assert_refused('experiments[0]: points: "12" has an unexpected type')

    def test_an_unknown_verdict(self):
        self.written(claims=[claim("pdlb-fig7.C1", "maybe")])
        self.assert_refused('pdlb-fig7.C1: "maybe" is no verdict; expected one of reproduced, ')

    def test_half_a_file(self):
        self.written()
        file = self.folder / "papers.json"
        file.write_text(file.read_text()[:-1])
        self.assert_refused("papers.json:1:", "delimiter")


class ChartTest(unittest.TestCase):
    def test_titles_of_figures(self):
        self.assertEqual([chart(of, id_=id_, title=title).title for of, id_, title in (
            ("fig7", "7a", ""), ("websearch", "8pauses", ""), ("fig3", "6", "the model"),
            ("fig11", "b", ""), ("table1", "1", ""), ("micro", "left", ""))],
            ["Figure 7a", "Figure 8, pauses", "Figure 6: the model", "Figure 11b", "Table 1",
             "Figure left"])

    def test_axes_have_units(self):
        self.assertEqual(chart().panels[0].y_title, "AFCT (µs)")
        self.assertEqual(chart().x_title, "slow paths")
        self.assertEqual(chart(unit="").panels[0].y_title, "AFCT")
        normalised = chart(unit="", normalised_to="LetFlow")
        self.assertEqual(normalised.panels[0].y_title, "AFCT, relative to LetFlow")
        self.assertIn("by that of LetFlow with the same seed", normalised.caption)

    def test_several_metrics_share_a_unit_alone(self):
        lines = [line("a", (1, 2)), line("b", (1, 2), metric="p99")]
        self.assertEqual(chart(lines=lines).panels[0].y_title, "µs")

    def test_settings_are_named_as_written_and_drawn_in_their_unit(self):
        drawn = chart(lines=[line("a", (1, 2), x=(25e6, 100e6), x_text=("25us", "100us"))])
        self.assertEqual(drawn.x, [25, 100])
        self.assertEqual(drawn.x_names, ["25us", "100us"])
        self.assertEqual(drawn.panels[0].lines[0].x, [25, 100])

    def test_fractions_stay_what_they_are(self):
        drawn = chart(lines=[line("a", (1, 2), x=(1 / 32, 1 / 16), x_text=("1/32", "1/16"))])
        self.assertEqual((drawn.x, drawn.x_names), ([1 / 32, 1 / 16], ["1/32", "1/16"]))

    def test_numbers_of_the_paper_go_before_the_settings_they_stand_for(self):
        drawn = chart(lines=[line("a", (1, 2), x=(1.5, 3), x_text=("delay=25us", "delay=50us"))])
        self.assertEqual((drawn.x, drawn.x_names), ([1.5, 3], ["1.5", "3"]))

    def test_names_are_in_the_order_of_their_ranks_and_gaps_stay(self):
        drawn = chart(x_is_number=False, lines=[
            line("a", [7], x=[2], x_text=["few"]),
            line("b", (5, 6), x=(1, 2), x_text=("", "few"))])
        self.assertEqual((drawn.kind, drawn.x, drawn.x_names), ("lines", [], ["none", "few"]))
        self.assertTrue(math.isnan(drawn.panels[0].lines[0].y[0]))
        self.assertEqual(drawn.panels[0].lines[0].y[1:], [7])
        self.assertEqual(drawn.panels[0].lines[1].y, [5, 6])

    def test_bars_have_whiskers_and_groups(self):
        drawn = chart(kind="bars", x_is_number=False,
                      lines=[line("a", (1, 2), x_text=("ecmp", "rps"))])
        self.assertEqual((drawn.kind, drawn.x_names), ("bars", ["ecmp", "rps"]))
        self.assertIn("Means over 3 seeds. Whiskers: 95 %", drawn.caption)

    def test_without_an_x_axis_each_line_is_a_bar(self):
        drawn = chart(x="", x_label="", lines=[line("a", [1], x=[0], x_text=[""])])
        self.assertEqual((drawn.kind, drawn.x_names), ("bars", [""]))

    def test_lines_of_one_point_are_bars_so_that_intervals_show(self):
        drawn = chart(lines=[line("a", [1], [0.8], ["0.8"]), line("b", [2], [0.8], ["0.8"])])
        self.assertEqual((drawn.kind, drawn.x_names), ("bars", ["0.8"]))
        self.assertEqual(drawn.panels[0].lines[1].ci, [0.5])

    def test_over_time_each_line_has_its_own_times(self):
        lines = [line("a", (1, 2), x=(0, 0.5), x_text=("", "")),
                 line("b", (3, 4, 5), x=(0, 1, 2), x_text=("", "", ""))]
        drawn = chart(kind="time", x="", lines=lines)
        self.assertEqual((drawn.kind, drawn.x_title), ("curves", "slow paths"))
        self.assertEqual(chart(kind="time", x="", x_label="", lines=lines).x_title, "time")
        self.assertEqual([of.x for of in drawn.panels[0].lines], [[0, 0.5], [0, 1, 2]])

    def test_one_seed_has_no_intervals(self):
        drawn = chart(lines=[line("a", (1, 2), ci95=(None, None), n=1)])
        self.assertEqual(drawn.panels[0].lines[0].ci, [])
        self.assertEqual(drawn.caption, "AFCT by slow paths. One seed, so no confidence intervals.")

    def test_captions_say_what_is_drawn(self):
        self.assertTrue(chart(label="link utilisation").caption.startswith("Link utilisation by slow paths. Means"))
        lines = [line("a", (1, 2)), line("b", (1, 2), metric="p99")]
        self.assertTrue(chart(lines=lines).caption.startswith("AFCT and 1 more by slow paths. Means"))
        self.assertTrue(chart(x="", lines=[line("a", [1], x=[0], x_text=[""])]).caption.startswith("AFCT. Means"))

    def test_a_scheme_looks_the_same_in_all_figures_of_a_paper(self):
        styles = reproduction.Styles()
        self.assertEqual(styles.of(["ecmp", "rps"]), [0, 1])
        self.assertEqual(styles.of(["pdlb", "rps"]), [2, 1])

    def test_lines_of_a_figure_differ_in_colour_whatever_came_before(self):
        styles = reproduction.Styles()
        styles.of([str(i) for i in range(len(style.LIGHT))])
        colours = [style.of(n)["light"] for n in styles.of(["0", "another"])]
        self.assertEqual(len(set(colours)), 2)
        many = styles.of([f"line {i}" for i in range(30)])
        self.assertEqual(len(set(many)), 30)


@unittest.skipUnless(has("plotly"), "plotly is not installed")
class PapersPageTest(Folder):
    def written(self, papers, *arguments, seed="0"):
        if not self.folder.exists():
            folders.write_papers(self.folder, papers)
        result = report(self.folder, *arguments, seed=seed)
        self.assertEqual(result.returncode, 0, result.stderr)
        return (self.folder / "report.html").read_text(encoding="utf-8")

    def one(self, **how):
        return [paper(experiments=[experiment(**how)])]

    def test_the_same_results_give_the_same_bytes(self):
        papers = self.one(claims=[claim("pdlb-fig7.C1"), claim("pdlb-fig7.C2", "tie")])
        self.assertEqual(self.written(papers, seed="1"), self.written(papers, seed="2"))

    def test_fetches_nothing_and_odd_names_are_text(self):
        odd = experiment(id_=ODD, about=ODD, choices={ODD: ODD}, figures=[
            figure(id_=ODD, title=ODD, x_label=ODD, label=ODD, lines=[line(ODD, (1, 2))])],
            claims=[claim(f"pdlb-{ODD}.C1", says=ODD, depends_on=ODD)])
        text = self.written([paper(name=ODD, experiments=[odd])])
        found = Tags(text)
        for tag, attributes in found.tags:
            self.assertNotIn("src", attributes, tag)
            self.assertTrue(attributes.get("href", "#").startswith("#"), tag)
        self.assertNotIn("img", {tag for tag, _ in found.tags})
        self.assertEqual(sum(tag == "script" for tag, _ in found.tags), 3)

    def test_summary_counts_verdicts(self):
        found = reproduction.read(folders.write_papers(self.folder, self.one(
            claims=[claim("pdlb-fig7.C1"), claim("pdlb-fig7.C2", "tie"), claim("pdlb-fig7.C3", "tie")])))
        row = re.search(r"<tbody>(.*?)</tr>", papers_page._summary(found))[1]
        counts = [re.sub("<[^>]*>", "", cell) for cell in re.findall("<td.*?</td>", row)]
        self.assertEqual(counts, ["1", "–", "2", "–", "–", "–", "3", "1", "12 of 12"])

    def test_summary_counts_twins_and_claims_of_ours_apart(self):
        found = reproduction.read(folders.write_papers(self.folder, self.one(claims=[
            claim("pdlb-fig7.C1"), claim("pdlb-fig7.C1L", "mixed", counts_as="twin"),
            claim("pdlb-fig7.C2", "tie", counts_as="ours")])))
        rows = [[re.sub("<[^>]*>", "", cell) for cell in re.findall("<t[hd].*?</t[hd]>", row)]
                for row in re.findall("<tr>(.*?)</tr>", papers_page._summary(found))[1:]]
        self.assertEqual([row[:8] for row in rows],
                         [["PDLB", "1", "–", "–", "–", "–", "–", "1"], ["twins", "–", "–", "–", "1", "–", "–", "1"],
                          ["claims of ours", "–", "–", "1", "–", "–", "–", "1"]])

    def test_claims_count_as_something_that_is_known(self):
        folders.write_papers(self.folder, self.one(claims=[claim("pdlb-fig7.C1", counts_as="theirs")]))
        with self.assertRaisesRegex(results.BadInput, 'pdlb-fig7.C1: "theirs" is no role of a claim'):
            reproduction.read(self.folder)

    def test_claims_say_what_they_depend_on_and_by_what_they_are_judged(self):
        text = self.written(self.one(claims=[claim("pdlb-fig7.C1", depends_on="the gap")]))
        for said in ("it is faster", "Depends on: the gap", "-25 % ± 6.2 %",
                     "Judged by: afct: pdlb &lt; ecmp", "-2 ± 0.5 (-25.0%)", "0.5; none is given"):
            self.assertIn(said, text)

    def test_figures_without_results_are_named_instead_of_drawn(self):
        text = self.written(self.one(results=0, figures=[figure(lines=[line("a", [], (), ())])]))
        self.assertIn("No results for: Figure 7a.", text)
        self.assertIn('<p class="warning">0 of 12 points have results.</p>', text)
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
        self.assertEqual(data["choices"][0]["charts"], [])

    def test_a_file_that_is_none_is_bad_input_and_leaves_nothing(self):
        self.folder.mkdir()
        (self.folder / "papers.json").write_text("[]")
        result = report(self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^heddle: .*papers.json: \[\] has an unexpected type")
        self.assertEqual(list(self.folder.glob("*report*")), [])

    @unittest.skipUnless(has("matplotlib"), "matplotlib is not installed")
    def test_figures_for_a_paper_of_every_kind_and_the_same_each_time(self):
        time = figure("1", kind="time", x="", lines=[line("a", (1, 2), x=(0, 0.5), x_text=("", ""))])
        names = figure("2", x_is_number=False, lines=[line("a", [7], [2], ["few"]),
                                                      line("$b$", (-5, 6), x_text=("", "few"))])
        folders.write_papers(self.folder, self.one(
            figures=[figure(), figure("7b", kind="bars"), time, names], about="schemes by slow paths."))
        written = []
        for seed in ("1", "2"):
            out = self.folder / f"figures{seed}"
            self.written(None, "--figures", out, "--format", "pdf,svg", seed=seed)
            written.append({path.name: path.read_bytes() for path in out.iterdir()})
        self.assertEqual(written[0], written[1])
        self.assertEqual(sorted(written[0]), ["captions.txt"] + sorted(
            f"pdlb-fig7-{id_}.{kind}" for id_ in ("7a", "7b", "1", "2") for kind in ("pdf", "svg")))
        self.assertIn("PDLB, schemes by slow paths. Heddle 0.1.0 (abc), scale ci.",
                      written[0]["captions.txt"].decode())


if __name__ == "__main__":
    unittest.main()

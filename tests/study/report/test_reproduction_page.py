# SPDX-License-Identifier: Apache-2.0
"""How scripts/reproduction joins what a page says with new results."""

import unittest

import scripts

page = scripts.load("reproduction")

COSTS = """\
| experiment | points | CPU time | longest run | packet-hops | ns/hop | memory |
|---|---:|---:|---:|---:|---:|---:|
"""
CLAIMS = """\
| claim | the paper says | measured | verdict |
|---|---|---|---|
"""


def costs(*rows):
    return COSTS + "".join(f"| {row} |\n" for row in rows)


def measured(done, verdict):
    return f"{9 - done} of the experiment's 9 points have no results" if verdict == "can't be judged" else done


def section(name, done, *verdicts, version=1):
    rows = "".join(f"| C{i + 1} | a \\| b of {name} | {measured(done, verdict)} | {verdict} |\n"
                   for i, verdict in enumerate(verdicts))
    told = "".join(f"- **C{i + 1}**: where {done}\n" for i in range(len(verdicts)))
    of = f", of Heddle {version}" if done else ""
    head = f"### {name}\n\nAbout it.\n\n{done} of 9 points have results{of}.\n\n"
    return head + (f"{CLAIMS}{rows}\n{told}\n" if rows else "")


class CostsTest(unittest.TestCase):
    def test_keeps_the_row_of_more_results_and_sums(self):
        old = costs("a | 9 | 2 min 10 s | 1.5 s | 1.2 billion | 1 | 90 MB", "b | 2 of 9 | 30 s | 20 s | 10 million | 1 | 8 MB")
        new = costs("a | 0 of 9 |  |  |  |  | ", "b | 9 | 1 h 00 min | 400 s | 3.79 billion | 2 | 7 MB",
                    "c | 0 of 2 |  |  |  |  | ", "all | 9 of 20 | 1 | 1 | 1 | 1 | 1")
        rows = [page.cells(line) for line in page.merged_costs(old, new).splitlines()[2:]]
        self.assertEqual(rows[0], ["a", "9", "2 min 10 s", "1.5 s", "1.2 billion", "1", "90 MB"])
        self.assertEqual(rows[1][1:3], ["9", "1 h 00 min"])
        self.assertEqual(rows[2][1], "0 of 2")
        self.assertEqual(rows[3], ["all", "18 of 20", "1 h 02 min", "6 min 40 s", "4.99 billion", "747", "90 MB"])

    def test_of_as_many_results_the_new_ones_count(self):
        merged = page.merged_costs(costs("a | 9 | 1 s | 1 s | 1 million | 1 | 1 MB"),
                                   costs("a | 9 | 2 s | 1 s | 1 million | 2 | 1 MB"))
        self.assertIn("| a | 9 | 2 s |", merged)
        self.assertIn("| all | 9 | 2 s |", merged)

    def test_keeps_the_rows_of_others(self):
        merged = page.merged_costs(costs("a | 9 | 1 s | 1 s | 1 million | 1 | 1 MB", "all | 9 | 1 s | 1 s | 1 million | 1 | 1 MB"),
                                   costs("b | 1 of 9 | 2 s | 1 s | 1 million | 2 | 1 MB"), True)
        self.assertEqual([page.cells(line)[0] for line in merged.splitlines()[2:]], ["a", "b", "all"])
        self.assertIn("| all | 10 of 18 | 3 s |", merged)


class ClaimsTest(unittest.TestCase):
    def merge(self, old, new):
        return page.merged_claims("## P\n\nTitle\n\n" + old, "## P\n\nTitle\n\n" + new)

    def test_keeps_what_is_not_there_any_more(self):
        old = section("x", 9, "tie")
        self.assertEqual(self.merge(old, section("x", 0, "can't be judged")), "## P\n\nTitle\n\n" + old)

    def test_beside_new_claims_says_of_when_the_others_are(self):
        merged = self.merge(section("x", 9, "tie"), section("x", 0, "can't be judged", "can't be judged"))
        self.assertIn("No results since; below those of Heddle 1.", merged)
        self.assertIn("| 9 | tie |", merged)
        self.assertIn("- **C1**: *Results of Heddle 1.* where 9\n", merged)

    def test_what_is_kept_twice_says_so_once(self):
        once = self.merge(section("x", 9, "tie"), section("x", 0, "can't be judged", "can't be judged"))
        twice = self.merge(once.partition("Title\n\n")[2], section("x", 3, "can't be judged", "tie", version=2))
        self.assertEqual(twice.count("*Results of Heddle 1.*"), 1)
        self.assertNotIn("*Results of Heddle 2.*", twice)

    def test_replaces_as_many_results(self):
        merged = self.merge(section("x", 9, "tie"), section("x", 9, "reproduced (2 of 2)"))
        self.assertIn("| 9 | reproduced (2 of 2) |", merged)
        self.assertNotIn("tie", merged)

    def test_of_unfinished_experiments_takes_what_could_be_judged(self):
        merged = self.merge(section("x", 9, "tie", "tie", "can't be judged"),
                            section("x", 4, "contradicted", "can't be judged", "can't be judged", "mixed", version=2))
        self.assertEqual([page.verdict(text) for text in page.claims(merged).values()],
                         ["contradicted", "tie", "can't be judged", "mixed"])
        self.assertIn("4 of 9 points have results, of Heddle 2.", merged)
        self.assertEqual(list(page.notes(merged).values()),
                         ["- **C1**: where 4\n", "- **C2**: *Results of Heddle 1.* where 9\n", "- **C3**: where 4\n",
                          "- **C4**: where 4\n"])

    def test_what_cannot_be_judged_at_all_is_no_longer_a_verdict(self):
        new = section("x", 0, "can't be judged").replace(measured(0, "can't be judged"), "no two schemes can differ")
        self.assertIn("| no two schemes can differ | can't be judged |", self.merge(section("x", 9, "tie"), new))

    def test_forgets_experiments_that_are_no_more(self):
        self.assertNotIn("### y", self.merge(section("x", 9, "tie") + section("y", 9, "tie"), section("x", 9, "tie")))

    def test_keeps_others_where_only_some_are_judged(self):
        old = section("x", 9, "tie") + section("y", 9, "tie")
        merged = page.merged_claims(old, section("x", 9, "mixed", version=2) + section("z", 9, "tie"), True)
        self.assertEqual([part.splitlines()[0] for part in page.parts(merged)], ["### x", "### y", "### z"])
        self.assertIn("mixed", page.parts(merged)[0])

    def test_counts_verdicts_by_paper_and_role(self):
        ours = section("z", 9, "tie").replace("| C1 | ", "| C1 | ours: ")
        pages = {"P": section("x", 9, "tie", "reproduced", "reproduced (1 of 2)"),
                 "Q": section("y", 9, "mixed").replace("| C1 |", "| C1L |") + ours}
        self.assertEqual([page.cells(line) for line in page.totals(pages).splitlines()[2:]],
                         [["P", "2", "0", "1", "0", "0", "0"], ["Q", "0", "0", "0", "0", "0", "0"],
                          ["all 3 claims", "2", "0", "1", "0", "0", "0"], ["all 1 twins", "0", "0", "0", "1", "0", "0"],
                          ["all 1 claims of ours", "0", "0", "1", "0", "0", "0"]])


class SmallTest(unittest.TestCase):
    def test_shows_what_can_be_judged(self):
        text = page.small_text("## P\n\nTitle\n\n" + section("x", 4, "tie", "can't be judged") + section("y", 0, "can't be judged"))
        self.assertIn("| C1 |", text)
        self.assertIn("- **C1**: where 4\n", text)
        self.assertNotIn("C2", text)
        self.assertNotIn("### y", text)


class PicturesTest(unittest.TestCase):
    def test_only_those_of_the_page_are_drawn(self):
        figures = [{"id": "7a"}, {"id": "7c"}]
        found = {"papers": [{"id": "pdlb", "experiments": [{"id": "fig7", "figures": figures}]}]}
        self.assertEqual(page.only_pictures(found)["papers"][0]["experiments"][0]["figures"], [{"id": "7c"}])

    def test_they_are_all_there_and_shown(self):
        text = (page.DOCS / "reproduction.md").read_text()
        for name in page.PICTURES:
            self.assertTrue((page.PAGES / f"{name}.svg").exists(), name)
            self.assertIn(f"](reproduction/{name}.svg)", text)


class PageTest(unittest.TestCase):
    def test_joined_with_themselves_pages_stay(self):
        self.assertEqual(list(page.all_pages()), ["Best-nexthop", "FLB", "PDLB", "TDLB", "TR"])
        for paper, text in page.all_pages().items():
            sections = "".join(page.parts(text))
            self.assertEqual(page.merged_claims(sections, sections), sections, paper)

    def test_the_counts_are_those_of_the_pages(self):
        text = (page.DOCS / "reproduction.md").read_text()
        self.assertEqual(page.between(text, page.totals(page.all_pages())), text)

    def test_what_is_outside_the_marks_stays(self):
        self.assertEqual(page.between(f"a\n{page.START}old\n{page.END}b\n", "new\n"),
                         f"a\n{page.START}\nnew\n\n{page.END}b\n")


if __name__ == "__main__":
    unittest.main()

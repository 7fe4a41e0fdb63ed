# SPDX-License-Identifier: Apache-2.0
"""Which verdicts scripts/sensitivity lists."""

import unittest

import scripts

page = scripts.load("sensitivity")

VARIATION = page.Variation("late", "Later", ["transport.dupthresh=10", "transport.resequencing={kind: timeout}"], ["p-a"])


def claims(**verdicts):
    lines = [f'{claim},{verdict},"It is so, or | so.",4 +- 1' for claim, verdict in verdicts.items()]
    return page.verdicts("\n".join(["claim,verdict,says,measured", *lines, ""]))


class SectionTest(unittest.TestCase):
    def test_lists_claims_whose_verdicts_differ(self):
        text = page.section(VARIATION, claims(C1="tie", C2="reproduced", C3="tie"),
                            claims(C1="tie", C2="contradicted", C3="reproduced"))
        self.assertIn("2 of 3 verdicts change", text)
        self.assertNotIn("| C1 |", text)
        self.assertIn("| C2 | It is so, or \\| so. | reproduced | contradicted | 4 +- 1 |\n", text)
        self.assertIn("| C3 |", text)

    def test_claims_that_one_of_them_cannot_judge_do_not_count(self):
        text = page.section(VARIATION, claims(C1="can't be judged", C2="tie", C3="tie"),
                            claims(C1="tie", C2="can't be judged", C3="tie", C4="tie"))
        self.assertIn("0 of 1 verdicts change.\n", text)
        self.assertNotIn("|", text)

    def test_says_which_scale_is_small(self):
        self.assertIn("0 of 0 verdicts change, at the scale ci.", page.section(VARIATION, {}, {}, "ci"))

    def test_sections_are_found_by_their_titles(self):
        found = page.sections_of("\n## Later\n\ntext\n\n## Sooner\n\nmore\n")
        self.assertEqual(found, {"## Later": "## Later\n\ntext\n", "## Sooner": "## Sooner\n\nmore\n"})

    def test_says_the_command_as_a_shell_takes_it(self):
        self.assertIn("`--set transport.dupthresh=10 --set 'transport.resequencing={kind: timeout}' "
                      "--out results/papers/late`, with p-a", page.section(VARIATION, {}, {}))


if __name__ == "__main__":
    unittest.main()

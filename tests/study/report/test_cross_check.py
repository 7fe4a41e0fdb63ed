# SPDX-License-Identifier: Apache-2.0
"""scripts/cross-check finds numbers that are wrong, in the reference data or in Heddle."""

import csv
import math
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

import scripts

check = scripts.load("cross-check")
SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "cross-check"
HEDDLE = os.environ.get("HEDDLE_BINARY", "")

# Gives back what the reference has: the columns of a flows.csv from the folder of the run and from FCTS.
FAKE = """#!{python}
import csv, os, pathlib, sys
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir()
with open({fcts!r}) as file, open(out / "flows.csv", "w") as flows:
    print("flow_id,fct_tx_ns,fct_rx_ns", file=flows)
    for row in csv.DictReader(file):
        if row.get("seed", "1") == "1":
            print(row["id"], row.get("fct_ack_ns") or row["fct_ns"], row.get("fct_rx_ns") or 0, sep=",", file=flows)
"""


def limit(text):
    return check.Limit(*check.limit_of(text, "limits.csv:2"), "")


def scale(path, factor, columns, only=None):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if only is None or row["id"] == only:
            row.update({column: float(row[column]) * factor for column in columns})
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(rows)


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = self.folder / "data"
        shutil.copytree(check.DATA, self.data)

    def run_check(self, *arguments, heddle=HEDDLE):
        return subprocess.run([sys.executable, str(SCRIPT), str(heddle), "--data", str(self.data), *map(str, arguments)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def fake(self, fcts):
        """A heddle that repeats the FCTs of this file, as it is now."""
        path = self.folder / "fake"
        kept = shutil.copy(self.data / fcts, self.folder / "kept.csv")
        path.write_text(FAKE.format(python=sys.executable, fcts=str(kept)))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_the_same_numbers_are_within_every_limit(self):
        heddle = self.fake("fct_htsim_tcp_noecn_biq_incast4.csv")
        result = self.run_check("--only", "htsim_tcp_incast4", heddle=heddle)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertIn("0 %", result.stdout)

    def test_one_wrong_flow_of_the_reference_fails(self):
        file = "fct_htsim_tcp_noecn_biq_incast4.csv"
        heddle = self.fake(file)
        for column in ("fct_ack_ns", "fct_rx_ns"):
            with self.subTest(column):
                shutil.copy(check.DATA / file, self.data)
                scale(self.data / file, 1.02, [column], only="2")
                result = self.run_check("--only", "htsim_tcp_incast4", heddle=heddle)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("htsim_tcp_incast4: largest differs by -2 %; the limit is ", result.stdout)

    def test_a_distribution_that_is_wrong_by_a_tenth_fails(self):
        file = "fct_cw_dcqcn_ls128_ws25_5ms_fecmp_irn.csv"
        heddle = self.fake(file)
        self.assertEqual(self.run_check("--only", "conweave_web_search_irn", heddle=heddle).returncode, 0)
        scale(self.data / file, 1.1, ["fct_ns"])
        result = self.run_check("--only", "conweave_web_search_irn", heddle=heddle)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("S p50 differs by -9.1 %", result.stdout)

    @unittest.skipUnless(HEDDLE, "HEDDLE_BINARY does not say which heddle to run")
    def test_heddle_itself_agrees_until_a_number_is_changed(self):
        only = ("--only", "htsim_*_single_2hop", "conweave_dcqcn_single_4hop", "conweave_pfc_incast4_64k")
        picture, kept = self.folder / "picture.svg", self.folder / "kept"
        result = self.run_check(*only, "--svg", picture, "--keep", kept, "--markdown")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertIn("| htsim_dctcp_single_2hop | 5 |", result.stdout)
        self.assertGreaterEqual(picture.read_text().count("<circle"), 20)
        self.assertTrue((kept / "conweave_pfc_incast4_64k" / "seed1" / "flows.csv").exists())
        scale(self.data / "fct_cw_pfconly_star_incast4_64k.csv", 1.001, ["fct_ns"], only="3")
        result = self.run_check(*only)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("conweave_pfc_incast4_64k: largest differs by ", result.stdout)
        self.assertNotIn("htsim_dctcp_single_2hop: ", result.stdout)

    def test_bad_input_says_what_to_do_and_ends_with_2(self):
        heddle = self.fake("fct_htsim_tcp_noecn_biq_incast4.csv")
        for arguments, said in (
                (["--only", "htsim_tcp_incst4"], "--only htsim_tcp_incst4: no scenario has this name; "
                                                 "did you mean htsim_tcp_incast4?"),
                (["--jobs", "0"], "--jobs 0: expected at least 1"),
                (["--keep", self.folder], "exists; remove it or name another folder"),
                (["--data", self.folder], "has no fct_*.csv; --data names a folder like tests/reference")):
            with self.subTest(said):
                result = self.run_check(*arguments, heddle=heddle)
                self.assertEqual(result.returncode, 2)
                self.assertIn(said, result.stderr)
        result = self.run_check(heddle=self.folder / "no" / "heddle")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no such program; build it with", result.stderr)

    def test_every_scenario_has_limits(self):
        rows = (self.data / "limits.csv").read_text().splitlines()
        (self.data / "limits.csv").write_text("\n".join(row for row in rows if not row.startswith("htsim_tcp_share2_same")))
        heddle = self.fake("fct_htsim_tcp_noecn_biq_share2_same.csv")
        result = self.run_check("--only", "htsim_tcp_share2_same", heddle=heddle)
        self.assertEqual(result.returncode, 2)
        self.assertIn("limits.csv: no limit for largest of htsim_tcp_share2_same; add a row", result.stderr)

    def test_a_heddle_that_fails_is_told_of(self):
        result = self.run_check("--only", "htsim_tcp_share2_same", heddle=shutil.which("false"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("exit code 1", result.stderr)


class StatisticTest(unittest.TestCase):
    def test_standard_errors_are_those_of_both(self):
        found = check.Statistic("mean", [9, 11], [8, 8, 12, 12], limit("3 se"))
        self.assertAlmostEqual(found.error, 0)
        # Variances of means: 2 / 2 and 16 / 3 / 4.
        self.assertAlmostEqual(found.se, math.sqrt(1 + 4 / 3) / 10)

    def test_a_single_run_of_theirs_varies_as_ours_do(self):
        found = check.Statistic("mean", [9, 11], [10], limit("3 se"))
        self.assertAlmostEqual(found.se, math.sqrt(1 + 2) / 10)

    def test_the_larger_of_two_limits_holds(self):
        ours, theirs = [101.9, 102.1], [100]  # 2 % more; its standard error is 0.17 %.
        for text, fails in (("1 %", True), ("3 %", False), ("3 se", True), ("12 se", False),
                            ("3 se or 3 %", False), ("12 se or 1 %", False), ("3 se or 1 %", True), ("none", False)):
            with self.subTest(text):
                self.assertEqual(check.Statistic("mean", ours, theirs, limit(text)).fails(), fails)

    def test_what_is_no_limit_is_refused(self):
        for text in ("3", "3%", "se", "3 se and 1 %", ""):
            with self.subTest(text), self.assertRaises(check.BadInput) as caught:
                limit(text)
            self.assertIn(f'limits.csv:2: "{text}" is no limit', str(caught.exception))

    def test_quantiles_are_interpolated(self):
        self.assertEqual([check.quantile([4, 1, 3, 2], share) for share in (0, 0.5, 0.9, 1)], [1, 2.5, 3.7, 4])


if __name__ == "__main__":
    unittest.main()

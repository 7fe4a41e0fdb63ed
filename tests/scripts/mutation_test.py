# SPDX-License-Identifier: Apache-2.0
"""scripts/mutation on a small sample: the sites that it finds, and that the instrumented program behaves as the
original without a mutant and as the mutant with one."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
try:
    from mutation import instrument, measure
except ImportError as error:
    raise unittest.SkipTest(f"scripts/setup python3-clang-16: {error}")

HEADER = """// The first line of a file is a comment.
#pragma once
constexpr int kLimit = 10;
constexpr int kSlots = 2;
"""
SAMPLE = """// The first line of a file is a comment.
#include "limit.h"
#include <cstdio>
#include <cstdlib>
namespace {
struct Span { long ps = 0; };
Span operator-(Span a, Span b) { return {a.ps - b.ps}; }
int seen[kSlots];
int Clamped(int n, bool strict) {
  if (n < kLimit && !strict) return n;
  return kLimit;
}
int Count(int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += 2 * i;
  return total;
}
}
int main() {
  seen[1] = 5;
  const Span gap = Span{7} - Span{4};
  std::printf("%d %d %d %d %ld", Clamped(9, false), Clamped(12, true), Count(3), seen[1], gap.ps);
}
"""
ORIGINAL = "9 10 6 5 3"


class MutationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name, "root")
        cls.copy = pathlib.Path(cls.folder.name, "copy")
        cls.root.mkdir()
        (cls.copy / "core").mkdir(parents=True)
        (cls.root / "limit.h").write_text(HEADER)
        (cls.root / "sample.cc").write_text(SAMPLE)
        for name in ("mutant.h", "mutant.cc"):
            shutil.copy(ROOT / "scripts/mutation" / name, cls.copy / "core")
        files = ["limit.h", "sample.cc"]
        cls.found, cls.left_out = instrument.find_sites(cls.root, files, [f"-I{cls.root}"], 1)
        instrument.write_copy(cls.root, cls.copy, files, cls.found)
        cls.wrong, _ = instrument.wrong_lines(cls.copy, files, [f"-I{cls.copy}"], 1)
        cls.found = instrument.without_lines(cls.root, cls.found, cls.wrong)
        instrument.write_copy(cls.root, cls.copy, files, cls.found)
        cls.program = cls.copy / "program"
        subprocess.run(["g++", "-std=c++20", "-w", f"-I{cls.copy}", cls.copy / "sample.cc", cls.copy / "core/mutant.cc",
                        "-o", cls.program], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def mutant(self, line, mutation):
        for site in self.found:
            text = (self.root / site.file).read_text()
            if text.count("\n", 0, site.offset) + 1 == line and mutation in site.mutations:
                return site.id + site.mutations.index(mutation)
        self.fail(f"line {line} has no mutation {mutation}")

    def output(self, mutant=None, report=None):
        environment = {**os.environ}
        if mutant is not None:
            environment["HEDDLE_MUTANT"] = str(mutant)
        if report is not None:
            environment["HEDDLE_MUTANTS_REACHED"] = str(report)
        return subprocess.run([self.program], capture_output=True, text=True, env=environment, timeout=60).stdout

    def test_finds_the_sites_of_a_line(self):
        of_line = sorted(mutation for site in self.found if site.file == "sample.cc" for mutation in site.mutations
                         if SAMPLE.count("\n", 0, site.offset) + 1 == 10)
        self.assertEqual(of_line, ["! removed", "< to <=", "< to >=", "`!strict` dropped", "`n < kLimit` dropped",
                                   "`return n;` deleted"])

    def test_counts_a_named_constant_once_at_its_declaration(self):
        self.assertEqual([site.mutations for site in self.found if site.file == "limit.h"], [("kLimit changed",)])

    def test_leaves_out_constant_expressions(self):
        self.assertIn("constant expression", {why for *_, why in self.left_out})  # The 10 of kLimit.
        self.assertIn(("sample.cc", 8), self.wrong)  # An array's size cannot depend on the mutant.

    def test_behaves_as_the_original_without_a_mutant(self):
        self.assertEqual(self.output(), ORIGINAL)

    def test_behaves_as_the_mutant_with_one(self):
        for line, mutation, output in [
                (10, "< to >=", "10 10 6 5 3"), (10, "! removed", "10 10 6 5 3"), (10, "< to <=", ORIGINAL),
                (10, "`!strict` dropped", ORIGINAL), (10, "`n < kLimit` dropped", ORIGINAL),
                (10, "`return n;` deleted", "10 10 6 5 3"),
                (15, "< to <=", "9 10 12 5 3"), (15, "* to /", "9 10 3 5 3"), (15, "2 changed", "9 10 9 5 3"),
                (15, "`total += 2 * i;` deleted", "9 10 0 5 3"),
                (20, "`seen[1] = 5;` deleted", "9 10 6 0 3"), (20, "5 changed", "9 10 6 6 3"),
                (21, "- to +", "9 10 6 5 -3")]:  # There is no + of spans, so the operands change places.
            with self.subTest(line=line, mutation=mutation):
                if (line, mutation) == (15, "* to /"):  # 2 / 0.
                    self.assertEqual(self.output(self.mutant(line, mutation)), "")
                else:
                    self.assertEqual(self.output(self.mutant(line, mutation)), output)

    def test_a_changed_constant_changes_at_every_use(self):
        site = next(site for site in self.found if site.file == "limit.h")
        self.assertEqual(self.output(site.id), "9 11 6 5 3")

    def test_reports_which_mutants_are_reached(self):
        report = pathlib.Path(self.folder.name, "reached")
        self.output(report=report)
        reached = {int(line) for line in report.read_text().split()}
        self.assertIn(self.mutant(10, "`return n;` deleted"), reached)
        self.assertIn(self.mutant(20, "5 changed"), reached)

    def test_tests_of_the_own_file_run_first(self):
        tests = [{"program": program, "test": test, "seconds": seconds}
                 for program, test, seconds in [("b_test", "B.quick", 0.1), ("a_test", "A.slow", 9),
                                                ("a_test", "A.quick", 0.2), ("a_test", "A.quickest", 0.1)]]
        shares = [0.001, 0.9, 0.5, 0.1]  # Of what a test reaches, the part that lies in the file.

        def runs(kills):
            return [(program, [test["test"] for test in group])
                    for program, group in measure.batches(tests, shares, kills)]
        self.assertEqual(runs({}),
                         [("a_test", ["A.quick", "A.quickest"]), ("a_test", ["A.slow"]), ("b_test", ["B.quick"])])
        # Unless others have killed mutants before, in little time.
        self.assertEqual(runs({"B.quick": 3, "A.slow": 99}),
                         [("b_test", ["B.quick"]), ("a_test", ["A.quick", "A.quickest"]), ("a_test", ["A.slow"])])


if __name__ == "__main__":
    unittest.main()

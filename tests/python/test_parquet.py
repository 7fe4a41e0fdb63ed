# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import unittest
from pathlib import Path

import heddle
import pandas
import support
from heddle.__main__ import main


@unittest.skipUnless(support.has("pyarrow"), "pyarrow is not installed")
class ParquetTest(unittest.TestCase):
    def setUp(self):
        context = support.folder()
        self.folder = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def test_frames_are_those_of_the_csv_files(self):
        sweep = support.sweep()
        files = {path.stem: path for path in sweep.to_parquet("parquet")}
        self.assertEqual(sorted(files), sorted([*sweep.tables(), "points", "means"]))
        for name, path in files.items():
            frame = heddle.read_parquet(path)
            expected = getattr(sweep, name)() if name in ("points", "means") else sweep.table(name)
            pandas.testing.assert_frame_equal(frame, expected, check_dtype=False)
            self.assertEqual(frame.attrs, expected.attrs)

    def test_a_column_may_be_empty_in_some_runs(self):
        import pyarrow
        from heddle import parquet
        parts = [pandas.DataFrame(columns) for columns in (
            {"a_ns": [1, 2], "b": [None, None], "c": [1, 2], "d": [1, 2]},
            {"a_ns": [0.5, 1.5], "b": ["x", None], "c": [3, 4]})]
        for part in parts:
            part.attrs["units"] = {"a_ns": "ns"}
        parquet.write_frames(Path("two.parquet"), lambda: parts)
        table = pyarrow.parquet.read_table("two.parquet")
        self.assertEqual([str(field.type).removeprefix("large_") for field in table.schema], ["double", "string", "int64", "int64"])
        self.assertEqual(table.column("d").to_pylist(), [1, 2, None, None])
        self.assertEqual(heddle.read_parquet("two.parquet").attrs, {"units": {"a_ns": "ns"}})

    def test_it_is_smaller_and_pandas_reads_it(self):
        run = heddle.run(support.experiment(flows=2000), progress=False)
        path, = run.to_parquet(names=["flows"])
        self.assertEqual(path, run.folder / "parquet/flows.parquet")
        self.assertLess(path.stat().st_size, (run.folder / "flows.csv").stat().st_size / 3)
        self.assertEqual(len(pandas.read_parquet(path, columns=["slowdown"])), 2000)
        self.assertEqual(heddle.load(run.folder).tables(), run.tables())  # The files are no results.

    def test_the_same_results_give_the_same_bytes(self):
        for name in ("a", "b"):
            support.sweep().to_parquet(name, ["flows"])
        self.assertEqual(Path("a/flows.parquet").read_bytes(), Path("b/flows.parquet").read_bytes())

    def test_the_command(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            self.assertEqual(main(["parquet", str(support.sweep().folder), "--out", "p", "--table", "summary"]), 0)
            self.assertEqual(main(["parquet", str(support.sweep().folder), "--table", "nix"]), 2)
            self.assertEqual(main(["parquet", "nowhere"]), 2)
        self.assertIn("p/summary.parquet", said.getvalue())
        self.assertIn("heddle: nowhere: has neither", said.getvalue())
        self.assertIn("has no table 'nix'", said.getvalue())


if __name__ == "__main__":
    unittest.main()

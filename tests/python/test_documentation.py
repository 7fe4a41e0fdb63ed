# SPDX-License-Identifier: Apache-2.0
"""What docs/python.md shows works: its notebook, its first figure, its table of arguments."""

import inspect
import json
import re
import unittest
from pathlib import Path

import heddle
import support

NOTEBOOK = support.ROOT / "docs/examples/first_figure.ipynb"
PAGE = (support.ROOT / "docs/python.md").read_text(encoding="utf-8")


class NotebookTest(unittest.TestCase):
    def test_it_is_kept_without_outputs(self):
        for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
            self.assertFalse(cell.get("outputs"))
            self.assertIsNone(cell.get("execution_count"))

    @unittest.skipUnless(support.has("nbclient") and support.has("ipykernel"), "nbclient or ipykernel is not installed")
    def test_it_runs(self):
        import nbclient
        import nbformat
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        with support.folder() as folder:
            nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                                    resources={"metadata": {"path": str(folder)}}).execute()
            self.assertTrue(Path("slowdown.pdf").read_bytes().startswith(b"%PDF"))
        outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
        self.assertEqual(sum("image/png" in output.get("data", {}) for output in outputs), 2)
        shown = json.dumps(outputs)
        for text in ("27 of 27 points", "letflow.gap=100us", "'fct_rx_ns': 'ns'", "did you mean", "<table"):
            self.assertIn(text, shown.replace('\\"', '"'))
        # Its runs are short, and say so.
        errors = [output["text"] for output in outputs if output.get("name") == "stderr"]
        self.assertTrue(all("RunWarning: " in text and "Error" not in text for text in errors), errors)


class BarTest(unittest.TestCase):
    @unittest.skipUnless(support.has("nbclient") and support.has("ipykernel"), "nbclient or ipykernel is not installed")
    def test_a_notebook_shows_a_bar_which_is_gone_at_the_end(self):
        import nbclient
        import nbformat.v4
        cells = ["from heddle import progress\nbar = progress._shown_by(None)\nbar.show('3 of 8 <points>', 0.38)",
                 "with progress.listener(None) as show:\n    show('38 % of the work')"]
        notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
        shown = [[output["data"]["text/html"] for output in cell.outputs] for cell in notebook.cells]
        self.assertEqual(shown, [['<progress value="0.38" max="1"></progress> 3 of 8 &lt;points&gt;'], [""]])


class PageTest(unittest.TestCase):
    @unittest.skipUnless(support.has("matplotlib"), "matplotlib is not installed")
    def test_its_code_works(self):
        blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
        self.assertEqual(len(blocks), 2)
        with support.folder():
            exec(compile(blocks[0], "docs/python.md", "exec"), {})  # pylint: disable=exec-used
        compile(blocks[1], "docs/python.md", "exec")  # It needs a cluster.

    def test_it_has_all_arguments(self):
        for function in (heddle.run, heddle.sweep):
            for name in list(inspect.signature(function).parameters)[1:]:
                self.assertRegex(PAGE, rf"\| .*`{name}`.* \|")

    def test_it_has_all_figures(self):
        for name, function in inspect.getmembers(heddle.figures, inspect.isfunction):
            if not name.startswith("_") and function.__module__ == "heddle.figures":
                self.assertRegex(PAGE, rf"`(heddle\.figures\.)?{name}\(results")


if __name__ == "__main__":
    unittest.main()

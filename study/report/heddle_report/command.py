# SPDX-License-Identifier: Apache-2.0
"""What `heddle report` does with a folder: reads it, and writes its page and its figures."""

from pathlib import Path

from . import charts, page, papers_page, reproduction, results, words
from .files import write_whole
from .results import BadInput, Damaged


def run(given):
    """Raises BadInput, Damaged or OSError, and leaves no half-written file."""
    folder = Path(given.folder)
    (_papers if (folder / reproduction.FILE).exists() else _sweep)(given, folder)


def _sweep(given, folder):
    sweep = charts.Sweep(results.read(folder, given.tables))
    planned = sweep.results.planned
    _write(given, page.html(sweep), f"{len(sweep.results.points)} of {words.count(planned, 'point')}")
    if given.figures:
        from . import paper  # Needs matplotlib, which a page does not.
        _write_figures(given, *paper.of_sweep(sweep))


def _papers(given, folder):
    found = reproduction.read(folder)
    _write(given, papers_page.html(found), words.count(len(found.claims()), "claim"))
    if given.figures:
        from . import paper
        _write_figures(given, *paper.of_papers(found))


def _write(given, text, told):
    out = Path(given.out or Path(given.folder) / "report.html")
    write_whole(out, text.encode())
    _say(given, f"{out}: {told}")


def _write_figures(given, drawn, made, note):
    from . import paper
    for name in paper.write(drawn, made, note, Path(given.figures), given.format.split(",")):
        _say(given, name)


def _say(given, text):
    if not given.quiet:
        print(text)

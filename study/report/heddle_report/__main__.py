# SPDX-License-Identifier: Apache-2.0
"""python3 -m heddle_report FOLDER ...: what `heddle report` runs."""

import argparse
import logging
import os
import sys
from pathlib import Path

DONE, FAILED, BAD_INPUT = 0, 1, 2  # As heddle's own; see docs/experiments.md.
# Made beforehand: later there may be no memory for them.
_NO_MEMORY = "heddle: out of memory\n"
_NO_MEMORY_BYTES = _NO_MEMORY.encode()


def main(arguments=None):
    logging.disable()  # Plotly logs the traceback of each optional module that it cannot import.
    try:
        return _main(arguments)
    except (MemoryError, SystemError):  # Without memory Python may fail to make the MemoryError.
        try:
            sys.stderr.write(_NO_MEMORY)
        except (MemoryError, SystemError):
            os.write(2, _NO_MEMORY_BYTES)
        return FAILED


def _main(arguments):
    parser = argparse.ArgumentParser(prog="heddle report")
    parser.add_argument("folder")
    parser.add_argument("--out")
    parser.add_argument("--figures")
    parser.add_argument("--format", default="pdf")
    parser.add_argument("--tables")  # Where points.csv and means.csv are, if not in the folder.
    parser.add_argument("--quiet", action="store_true")
    given = parser.parse_args(arguments)
    try:
        return _report(given)
    except ModuleNotFoundError as error:
        return _fail(FAILED, f"{sys.executable} has no module {error.name}; install "
                             f"{_package(error.name)}, or set HEDDLE_PYTHON to a python3 that has it")
    except ImportError as error:  # Also if there is no memory for a library.
        return _fail(FAILED, f"{sys.executable}: {error}")
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        return _fail(FAILED, f"{where}{error.strerror or error}")


def _report(given):
    from . import reproduction, results
    folder = Path(given.folder)
    try:
        return (_papers if (folder / reproduction.FILE).exists() else _sweep)(given, folder)
    except results.Damaged as error:
        return _fail(FAILED, str(error))
    except results.BadInput as error:
        return _fail(BAD_INPUT, str(error))


def _sweep(given, folder):
    from . import charts, page, results, words
    sweep = charts.Sweep(results.read(folder, given.tables))
    planned = sweep.results.planned
    _write(given, page.html(sweep), f"{len(sweep.results.points)} of {words.count(planned, 'point')}")
    if given.figures:
        from . import paper
        _write_figures(given, *paper.of_sweep(sweep))
    return DONE


def _papers(given, folder):
    from . import papers_page, reproduction, words
    found = reproduction.read(folder)
    _write(given, papers_page.html(found), words.count(len(found.claims()), "claim"))
    if given.figures:
        from . import paper
        _write_figures(given, *paper.of_papers(found))
    return DONE


def _write(given, page, told):
    from .files import write_whole
    out = Path(given.out or Path(given.folder) / "report.html")
    write_whole(out, page.encode())
    _say(given, f"{out}: {told}")


def _write_figures(given, drawn, made, note):
    from . import paper
    for name in paper.write(drawn, made, note, Path(given.figures), given.format.split(",")):
        _say(given, name)


def _say(given, text):
    if not given.quiet:
        print(text)


def _package(module):
    names = {"yaml": ("python3-yaml", "pyyaml")}
    debian, pypi = names.get(module, (f"python3-{module}", module))
    return f"{debian} (Debian, Ubuntu) or {pypi} (pip)"


def _fail(code, text):
    print(f"heddle: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

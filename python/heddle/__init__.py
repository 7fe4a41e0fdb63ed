# SPDX-License-Identifier: Apache-2.0
"""Runs Heddle's experiments and sweeps, and gives their results as pandas frames and as figures. It
calls the program `heddle`, and reads the files that the program writes: docs/python.md."""

from .errors import (BadInput, BrokenInvariant, Damaged, Error, Failed, NoProgram, Problem, RunWarning,
                     Stopped)
from .program import find as find_program, version
from .results import Run, Sweep, load
from .running import check, run, sweep
from .tables import read_parquet

__all__ = [
    "BadInput", "BrokenInvariant", "Damaged", "Error", "Failed", "NoProgram", "Problem", "Run", "RunWarning",
    "Stopped", "Sweep", "check", "figures", "find_program", "load", "read_parquet", "run", "sweep", "version",
]


def __getattr__(name):
    """`heddle.figures` needs matplotlib, which takes a second to load."""
    if name == "figures":
        import importlib
        return importlib.import_module(".figures", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

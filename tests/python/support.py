# SPDX-License-Identifier: Apache-2.0
"""Experiments for the tests, and a sweep that is run once."""

import atexit
import contextlib
import functools
import importlib.util
import os
import signal
import tempfile
from pathlib import Path

import heddle

# Tests interrupt themselves; whoever starts them in the background has made them ignore that.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[2]
TOPOLOGY = {"kind": "leaf_spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}


def has(module):
    return importlib.util.find_spec(module) is not None


def experiment(flows=60, **more):
    return {"name": "small", "topology": TOPOLOGY, "transport": "dctcp", "lb": "ecmp",
            "workload": [{"kind": "poisson", "sizes": "small", "load": 0.5, "flows": flows}], **more}


SWEEP = experiment(sweep={"lb": ["ecmp", {"kind": "letflow", "gap": "50us"}], "workload[0].load": [0.2, 0.6],
                          "transport.min_rto": ["900us", "1ms"], "seeds": 2})
# It runs for minutes, unless it is stopped.
LONG = experiment(flows=20_000_000, name="long", sweep={"lb": ["ecmp", "rps"]})


@functools.cache
def sweep():
    """The results of SWEEP."""
    folder = tempfile.TemporaryDirectory(prefix="heddle-tests-")
    atexit.register(folder.cleanup)
    return heddle.sweep(SWEEP, out=Path(folder.name) / "sweep", progress=False)


@contextlib.contextmanager
def folder():
    """A new folder, which is the current one."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="heddle-tests-") as path:
        os.chdir(path)
        try:
            yield Path(path)
        finally:
            os.chdir(before)


def contents(folder):
    """All files by name, except for summary.json, which holds wall-clock times, and its checksum."""
    files = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and path.name != "summary.json":
            lines = path.read_bytes().splitlines()
            files[str(path.relative_to(folder))] = [
                line for line in lines if path.name != "manifest.csv" or not line.startswith(b"summary.json")]
    return files

# SPDX-License-Identifier: Apache-2.0
"""Experiments as the program reads them: a dict becomes a file, and arguments become options."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path

import yaml

from .errors import BadInput, Problem


@contextlib.contextmanager
def as_file(experiment):
    """The path of a file with the experiment, and whether it was made from a dict."""
    if not isinstance(experiment, Mapping):
        yield Path(experiment), False
        return
    document = {"relative_to": os.getcwd() + "/", **plain(experiment, "")}
    with tempfile.TemporaryDirectory(prefix="heddle-") as folder:
        path = Path(folder) / "experiment.yaml"
        path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")  # JSON is YAML.
        yield path, True


def plain(value, key):
    """Converts mappings, sequences, numpy arrays and paths to plain dicts, lists, numbers and texts. `key`
    is the place of the value in the experiment, for error messages."""
    if hasattr(value, "tolist"):  # Arrays and numbers of numpy, series of pandas.
        value = value.tolist()
    if isinstance(value, Mapping):
        return {_name(name, key): plain(inner, f"{key}.{name}".lstrip(".")) for name, inner in value.items()}
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        text = repr(value)
        return format(Decimal(text), "f") if "e" in text else value  # 1e-07 becomes 0.0000001.
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(inner, f"{key}[{i}]") for i, inner in enumerate(value)]
    problem = Problem("", key, f"{value!r} is a {type(value).__name__}; expected a text, number, list or dict")
    raise BadInput(str(problem), [problem])


def _name(name, key):
    if isinstance(name, str):
        return name
    problem = Problem("", key, f"the key {name!r} is a {type(name).__name__}; expected a text")
    raise BadInput(str(problem), [problem])


def options(settings=None, seed=None, scale=None, plugins=()):
    """The options that all commands with an experiment have."""
    words = []
    for key, value in (settings or {}).items():
        value = plain(value, key)
        words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"]
    if seed is not None:
        words += ["--seed", str(seed)]
    if scale is not None:
        words += ["--scale", str(scale)]
    for plugin in [plugins] if isinstance(plugins, (str, os.PathLike)) else plugins:
        words += ["--plugin", os.path.abspath(plugin)]
    return words


def name_of(experiment, settings=None):
    """The name of the experiment, which is also the name of its folder in results/."""
    for given in (settings or {}), experiment if isinstance(experiment, Mapping) else _read(experiment):
        if given.get("name"):
            return str(given["name"])
    return "experiment" if isinstance(experiment, Mapping) else Path(experiment).stem


def _read(path):
    """The document in a file. A file that is no document gives an empty one: the program will say what
    is wrong with the file."""
    try:
        document = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return document if isinstance(document, dict) else {}

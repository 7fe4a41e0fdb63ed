# SPDX-License-Identifier: Apache-2.0
"""The programs in scripts/ as modules, for tests of their parts."""

import importlib.machinery
import importlib.util
import pathlib


def load(name):
    path = pathlib.Path(__file__).resolve().parents[3] / "scripts" / name
    loader = importlib.machinery.SourceFileLoader(f"{name}_script", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module

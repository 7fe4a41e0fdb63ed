# SPDX-License-Identifier: Apache-2.0
"""The package heddle_report, which reads results and draws figures. It is installed beside this one,
or lies in the repository."""

import os
import sys
from pathlib import Path

try:
    import heddle_report
except ModuleNotFoundError:
    _folder = os.environ.get("HEDDLE_REPORT") or Path(__file__).parents[2] / "study/report"
    sys.path.append(str(_folder))
    import heddle_report

from heddle_report import axes, manifest, results

FOLDER = Path(heddle_report.__file__).parents[1]

__all__ = ["FOLDER", "axes", "manifest", "results"]

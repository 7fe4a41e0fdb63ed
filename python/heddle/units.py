# SPDX-License-Identifier: Apache-2.0
"""Units of columns. The names of columns in Heddle's files contain the unit (docs/metrics.md); settings
have their unit behind the number."""

from fractions import Fraction

from .report import axes

# Parts of names, and how settings spell the unit.
_IN_NAMES = {"ps": "ps", "ns": "ns", "us": "us", "bytes": "B", "bps": "bps", "gbps": "Gbps", "gbs": "GB/s"}
_KINDS = (("bps", "rate"), ("B", "size"), ("s", "time"), ("", "number"))  # By the end of a unit.


def of_column(name):
    """The unit of a column of numbers; 1 for counts and ratios."""
    for part in name.split("_"):
        if part in _IN_NAMES:
            return _IN_NAMES[part]
    return "1"


def numbers(texts):
    """Converts values of a setting to numbers, if all are quantities of one kind. Returns a dict with the
    number of each text, and the unit of all numbers, which is the smallest unit that occurs. Otherwise
    returns None."""
    found = {}
    for text in texts:
        match = axes.QUANTITY.fullmatch(text)
        if axes.quantity(text) is None:
            return None
        unit = match[3]
        found[text] = Fraction(match[1]) / Fraction(match[2] or 1) * _size(unit), unit
    units = {unit for _, unit in found.values()}
    if not units or len(set(map(_kind, units))) > 1:
        return None
    smallest = min(units, key=_size)
    values = {text: number / _size(smallest) for text, (number, _) in found.items()}
    whole = all(value.denominator == 1 for value in values.values())
    return {text: (int if whole else float)(value) for text, value in values.items()}, smallest or "1"


def _size(unit):
    return Fraction(str(axes.UNITS[unit]))


def _kind(unit):
    return next(kind for end, kind in _KINDS if unit.endswith(end))

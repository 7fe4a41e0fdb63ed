# SPDX-License-Identifier: Apache-2.0
"""Gives each axis of a sweep its role: the lines of a figure, its x-axis, or a choice between
figures."""

import re
from dataclasses import dataclass

# Powers of the base unit: seconds, bytes, bits per second.
UNITS = {
    "": 1, "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1,
    "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
    "TB": 1e12,
    "bps": 1, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12,
}
QUANTITY = re.compile(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)(?:/([0-9.]+))?([A-Za-z]*)", re.ASCII)


def quantity(text):
    """The number that a setting stands for, in base units; None if it is none."""
    match = QUANTITY.fullmatch(text)
    if not match or match[3] not in UNITS:
        return None
    try:
        return float(match[1]) / float(match[2] or 1) * UNITS[match[3]]
    except (ValueError, ZeroDivisionError):
        return None


@dataclass(frozen=True)
class Layout:
    """Axes by their number. An axis that changes together with another one has no role of its own."""

    series: int | None
    main: int | None
    slices: tuple
    followers: tuple = ()  # For each of the slices, the axes that change with it.


def choose(axes, combinations, has_bandwidth=False):
    """`has_bandwidth`: the runs have a bus bandwidth, which is shown over the size of messages."""
    columns = [[c.choices[i] for c in combinations] for i in range(len(axes))]
    numeric = [i for i, values in enumerate(columns)
               if len(set(values)) > 1 and all(quantity(v) is not None for v in values)]
    series = _series(axes, columns, numeric)
    main = _main(axes, columns, [i for i in numeric if i != series], has_bandwidth)
    chosen = [i for i in (series, main) if i is not None]
    slices = []
    for i, values in enumerate(columns):
        if i in chosen or any(_follows(values, columns[j]) for j in chosen + slices):
            continue
        slices.append(i)
    followers = tuple(tuple(j for j, values in enumerate(columns)
                            if j not in chosen + slices and len(set(values)) > 1
                            and _follows(values, columns[i])) for i in slices)
    return Layout(series, main, tuple(slices), followers)


def names(axes):
    """Short names: the last part of each key, or the whole key if another key has the same last part."""
    last = [re.split(r"[.\]]+", axis)[-1] or axis for axis in axes]
    return [name if last.count(name) == 1 else axis for axis, name in zip(axes, last)]


def short_values(values):
    """Such as letflow for letflow.gap=100us, unless another value is of the same kind."""
    kinds = [re.split(r"\.\w+=", value)[0] for value in values]
    return [kind if kinds.count(kind) == 1 else value for kind, value in zip(kinds, values)]


def _series(axes, columns, numeric):
    if "lb" in axes:
        return axes.index("lb")
    others = [i for i, values in enumerate(columns) if i not in numeric and len(set(values)) > 1]
    return others[0] if others else None


def _main(axes, columns, candidates, has_bandwidth):
    """The size of messages if there is a bus bandwidth; else the load; else the axis with the most
    values."""
    for ending in (".size",) * has_bandwidth + (".load",):
        found = [i for i in candidates if axes[i].endswith(ending)]
        if found:
            return found[0]
    return max(candidates, key=lambda i: len(set(columns[i])), default=None)


def _follows(values, others):
    """True if each of `others` comes with one value only; a constant follows any axis."""
    return len(set(zip(others, values))) == len(set(others))

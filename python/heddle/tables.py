# SPDX-License-Identifier: Apache-2.0
"""Reading a table, and the units of its columns."""

import json
from pathlib import Path

import pandas

from . import report, units
from .errors import BadInput, Damaged

# Reads numbers exactly, to the last bit. From pandas 3.1 on this is the default.
_EXACT = {"float_precision": "round_trip"} if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1) else {}


def read_csv(path, columns=None, texts=()):
    """A file of Heddle's as a frame, checked against the manifest beside it. Empty cells are missing
    values; no other text is one."""
    try:
        if columns is not None:
            _refuse_unknown(path, columns)
        with report.manifest.open_checked(Path(path)) as file:
            frame = pandas.read_csv(file, usecols=columns, dtype={name: str for name in texts}, low_memory=False,
                                    keep_default_na=False, na_values=[""], **_EXACT)
            while file.read(1 << 20):  # To its end, where its checksum is compared.
                pass
    except report.manifest.Damage as error:
        raise Damaged(str(error)) from error
    except OSError as error:
        raise Damaged(f"{path}: {error.strerror}") from error
    for name in texts:  # The text of an axis may be empty.
        if name in frame.columns:
            frame[name] = frame[name].fillna("")
    return frame if columns is None else frame[list(columns)]


def _refuse_unknown(path, columns):
    with open(path, encoding="utf-8") as file:
        known = file.readline().rstrip("\n").split(",")
    for column in columns:
        if column not in known:
            raise BadInput(f"{path}: has no column {column!r}; there are: {', '.join(known)}")


def units_of(frame):
    return {name: units.of_column(name.rpartition(".")[2]) for name in frame.columns
            if pandas.api.types.is_numeric_dtype(frame[name])}


def with_units(frame, of_columns):
    frame.attrs["units"] = {name: unit for name, unit in of_columns.items() if name in frame.columns}
    return frame


def read_parquet(path, columns=None):
    """A file that to_parquet() has written, with its units."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path, columns=columns)
    of_columns = {field.name: field.metadata[b"unit"].decode() for field in table.schema
                  if field.metadata and b"unit" in field.metadata}
    frame = table.replace_schema_metadata(None).to_pandas()
    frame.attrs = json.loads(json.dumps({"units": of_columns}))
    return frame

# SPDX-License-Identifier: Apache-2.0
"""Tables as files of Parquet. They are written run by run, so no more than a run is in memory."""

import os

import pyarrow
import pyarrow.parquet

from .errors import BadInput


def write(results, out, names=None):
    out.mkdir(parents=True, exist_ok=True)
    whole = {name: method for name in ("points", "means") if (method := getattr(results, name, None))}
    known = results.tables() + list(whole)
    for name in names or ():
        if name not in known:
            raise BadInput(f"{results.folder}: has no table {name!r}; there are: {', '.join(known)}")
    return [_write(out / f"{name}.parquet", *((lambda method=whole[name]: [method()], {}) if name in whole else
                                              (lambda name=name: results.frames(name), results)))
            for name in names or known]


def _write(path, frames, results):
    """`frames` gives them anew at each call: their types are known only when all have been read."""
    schema = None
    of_columns = {}
    for frame in frames():
        of_columns.update(frame.attrs.get("units") or results._units(frame))
        schema = _unified(schema, _schema(frame))
    schema = pyarrow.schema([_field(field, of_columns) for field in schema])
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with pyarrow.parquet.ParquetWriter(aside, schema, compression="zstd") as writer:
            for frame in frames():
                frame = frame.reindex(columns=schema.names)  # A column may be in some runs only.
                writer.write_table(pyarrow.Table.from_pandas(frame, schema, preserve_index=False)
                                   .replace_schema_metadata(schema.metadata))
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    return path


def _schema(frame):
    found = pyarrow.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
    return pyarrow.schema([pyarrow.field(field.name, pyarrow.null()) if frame[field.name].isna().all() else field
                           for field in found])


def _unified(one, two):
    """The fields of both. A column that is empty in some runs has the type that it has in others."""
    if one is None:
        return two
    types = {field.name: field.type for field in one}
    for field in two:
        types[field.name] = _wider(types.get(field.name, pyarrow.null()), field.type)
    return pyarrow.schema(list(types.items()))


def _wider(one, two):
    if one == two or pyarrow.types.is_null(two):
        return one
    if pyarrow.types.is_null(one):
        return two
    if pyarrow.types.is_string(one) or pyarrow.types.is_string(two):
        return pyarrow.string()
    return pyarrow.float64()


def _field(field, of_columns):
    # All cells are empty: a column of numbers, as most are.
    kind = pyarrow.float64() if pyarrow.types.is_null(field.type) else field.type
    unit = of_columns.get(field.name)
    return pyarrow.field(field.name, kind, metadata={"unit": unit} if unit else None)

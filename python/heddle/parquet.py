# SPDX-License-Identifier: Apache-2.0
"""Tables as files of Parquet. They are written run by run, so no more than a run is in memory."""

import os

import pyarrow
import pyarrow.parquet

from .errors import BadInput


def write(results, out, names=None):
    """Writes the tables that `names` has, or all, into the folder `out`; returns their paths."""
    made = [name for name in ("points", "means") if hasattr(results, name)]  # Not read from a file of each run.
    known = results.tables() + made
    for name in names or ():
        if name not in known:
            raise BadInput(f"{results.folder}: has no table {name!r}; there are: {', '.join(known)}")
    out.mkdir(parents=True, exist_ok=True)
    for name in names or known:
        whole = [getattr(results, name)()] if name in made else None
        write_frames(out / f"{name}.parquet", lambda name=name, whole=whole: whole or results.frames(name))
    return [out / f"{name}.parquet" for name in names or known]


def write_frames(path, frames):
    """Writes frames one below the other. `frames` gives them anew at each call: the types of columns are
    known only when all have been read."""
    schema = None
    of_columns = {}
    growing = set()
    for frame in frames():
        of_columns.update(frame.attrs["units"])
        schema = _unified(schema, _schema(frame))
        growing.update(name for name in frame.columns if frame[name].nunique() > len(frame) / 4)
    schema = pyarrow.schema([_field(field, of_columns) for field in schema])
    encodings = _encodings(schema, growing)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with pyarrow.parquet.ParquetWriter(
                aside, schema, compression="zstd", column_encoding=encodings or None,
                use_dictionary=[name for name in schema.names if name not in encodings]) as writer:
            for frame in frames():
                frame = frame.reindex(columns=schema.names)  # A column may be in some runs only.
                writer.write_table(pyarrow.Table.from_pandas(frame, schema, preserve_index=False)
                                   .replace_schema_metadata(None))
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _encodings(schema, growing):
    """For columns that have another number in nearly every row, such as times. All others have a
    dictionary, which is smallest for them."""
    encodings = {}
    for field in schema:
        if field.name in growing and pyarrow.types.is_integer(field.type):
            encodings[field.name] = "DELTA_BINARY_PACKED"
        elif field.name in growing and pyarrow.types.is_floating(field.type):
            encodings[field.name] = "BYTE_STREAM_SPLIT"
    return encodings


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
    texts = [kind for kind in (one, two) if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)]
    return texts[0] if texts else pyarrow.float64()


def _field(field, of_columns):
    # All cells are empty: a column of numbers, as most are.
    kind = pyarrow.float64() if pyarrow.types.is_null(field.type) else field.type
    unit = of_columns.get(field.name)
    return pyarrow.field(field.name, kind, metadata={"unit": unit} if unit else None)

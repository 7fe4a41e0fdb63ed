# SPDX-License-Identifier: Apache-2.0
"""Writes a copy of the sources that holds all mutants."""

import multiprocessing
import pathlib

from mutation import sites

INCLUDE = '#include "core/mutant.h"'


def instrumented(text, edits):
    """`text` with all edits, given as pairs of a number and an Edit. The first line, a comment, becomes the #include
    of mutant.h, so that lines keep their numbers."""
    insertions = {}
    for order, (number, edit) in enumerate(edits):
        length = edit.end - edit.start
        before, after = edit.before.format(id=number), edit.after.format(id=number)
        if length == 0:
            insertions.setdefault(edit.start, []).append((1, 0, order, before))
        else:  # At one place: what ends there, the innermost first; then what starts there, the outermost first.
            insertions.setdefault(edit.end, []).append((0, length, -order, after))
            insertions.setdefault(edit.start, []).append((2, -length, order, before))
    pieces, last = [], 0
    for offset in sorted(insertions):
        pieces.append(text[last:offset])
        pieces += [insertion[-1] for insertion in sorted(insertions[offset])]
        last = offset
    result = "".join(pieces) + text[last:]
    return INCLUDE + result[result.index("\n"):]


def units_of(files):
    """The translation units to parse: each .cc, and one that includes all headers."""
    headers = "".join(f'#include "{name}"\n' for name in sorted(files) if name.endswith(".h"))
    return [(name, None) for name in sorted(files) if name.endswith(".cc")] + ([("mutated_headers.cc", headers)] if headers else [])


def _find(task):
    root, files, (name, text), arguments = task
    # A .cc sees the headers' constants, but the headers' own sites come from the unit of all headers.
    unit, errors = sites.parse(f"{root}/{name}", text, arguments)
    if errors:
        raise SystemExit(f"libclang: {errors[0]}")
    sources = {f"{root}/{file}": sites.Source(pathlib.Path(root, file).read_text("latin-1")) for file in files
               if file.endswith(".h") or file == name}
    finder = sites.Finder(sources, {f"{root}/{file}" for file in files if (file == name if text is None else file.endswith(".h"))})
    finder.visit_unit(unit)
    return finder.sites, finder.left_out


def find_sites(root, files, arguments, jobs):
    """All sites of `files`, relative to `root`, with their numbers, and what was left out as a set of (file, offset,
    reason)."""
    tasks = [(str(root), tuple(files), unit, arguments) for unit in units_of(files)]
    found, left_out = {}, set()
    with multiprocessing.Pool(jobs) as pool:
        for of_unit, left_out_of_unit in pool.imap(_find, tasks):
            left_out |= left_out_of_unit
            for key, site in of_unit.items():
                known = found.setdefault(key, site)
                known.edits += [edit for edit in site.edits if edit not in known.edits]
    ordered = [found[key] for key in sorted(found)]
    _number(ordered)
    prefix = len(str(root)) + 1
    for site in ordered:
        site.file = site.file[prefix:]
        site.edits = [(file[prefix:], edit) for file, edit in site.edits]
    return ordered, {(file[prefix:], offset, why) for file, offset, why in left_out}


def _number(ordered):
    number = 0
    for site in ordered:
        site.id = number
        number += len(site.mutations)


def write_copy(root, copy, files, found):
    """Writes the instrumented `files` into `copy`, leaving those alone that would not change."""
    edits = {file: [] for file in files}
    for site in found:
        for file, edit in site.edits:
            edits[file].append((site.id, edit))
    for file in files:
        write_if_other(copy / file, instrumented((root / file).read_text("latin-1"), edits[file]))


def write_if_other(path, text):
    if not path.exists() or path.read_text("latin-1") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "latin-1")


def _check(task):
    copy, (name, text), arguments = task
    _, errors = sites.parse(f"{copy}/{name}", text, arguments)
    lines = set()
    for error in errors:
        for place in [error, *error.children]:
            if place.location.file and place.location.file.name.startswith(f"{copy}/"):
                lines.add((place.location.file.name[len(str(copy)) + 1:], place.location.line))
    return lines, [str(error) for error in errors]


def wrong_lines(copy, files, arguments, jobs):
    """Lines of the copy that do not compile, as pairs of file and line, and the messages."""
    lines, messages = set(), []
    with multiprocessing.Pool(jobs) as pool:
        for of_unit, errors in pool.imap_unordered(_check, [(str(copy), unit, arguments) for unit in units_of(files)]):
            lines |= of_unit
            messages += errors
    return lines, messages


def without_lines(root, found, lines):
    """The sites without edits on the given lines: mutations that do not compile, such as of constant expressions."""
    texts = {}
    kept = []
    for site in found:
        remaining = []
        for file, edit in site.edits:
            text = texts.setdefault(file, (root / file).read_text("latin-1"))
            span = range(text.count("\n", 0, edit.start) + 1, text.count("\n", 0, edit.end) + 2)
            if not any((file, line) in lines for line in span):
                remaining.append((file, edit))
        site.edits = remaining
        if remaining:
            kept.append(site)
    return kept

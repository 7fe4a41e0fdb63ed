# SPDX-License-Identifier: Apache-2.0
"""manifest.csv of a run's folder says how long its files were when they were written, and their CRC-32
(docs/metrics.md). Nothing is shown that is no longer so."""

import functools
import io
import json
import zlib

FILE = "manifest.csv"
HEADER = "file,bytes,crc32\n"


class Damage(Exception):
    """A file that is not as the run has written it."""


def open_checked(path):
    """A binary stream of a file, which raises Damage at its end if it is not what was written."""
    record = _record_of(path)
    if record is None:
        return open(path, "rb")
    length, crc = record
    now = path.stat().st_size
    if now != length:
        raise Damage(f"{path}: has {now} bytes; {length} were written")
    return io.BufferedReader(_Checked(path, crc))


class _Checked(io.RawIOBase):
    def __init__(self, path, crc):
        self._path = path
        self._file = open(path, "rb", buffering=0)
        self._expected = crc
        self._crc = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        count = self._file.readinto(buffer)
        if count:
            self._crc = zlib.crc32(memoryview(buffer)[:count], self._crc)
        elif self._crc != self._expected:
            raise Damage(f"{self._path}: has other contents than were written")
        return count

    def close(self):
        self._file.close()
        super().close()


def _record_of(path):
    """Length and CRC-32 of a file of a run; None of others, and of runs of before there were manifests."""
    try:
        status = (path.parent / FILE).stat()
    except FileNotFoundError:
        if path.name != "summary.json" and _says_it_has_one(path.parent):
            raise Damage(f"{path.parent / FILE}: is missing") from None
        return None
    files = _read(path.parent / FILE, status.st_mtime_ns, status.st_size)
    if path.name not in files:
        raise Damage(f"{path}: is not in {FILE} beside it")
    return files[path.name]


def _says_it_has_one(folder):
    try:
        return "manifest" in json.loads((folder / "summary.json").read_bytes())
    except (OSError, ValueError):
        return False


@functools.lru_cache(maxsize=64)
def _read(path, _time, _size):
    """By name. The last two arguments tell the file from another of the same name."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if not text.startswith(HEADER) or not text.endswith("\n"):
        raise Damage(f"{path}: is damaged")
    files = {}
    try:
        for line in text[len(HEADER):].splitlines():
            name, length, crc = line.split(",")
            files[name] = int(length), int(crc, 16)
    except ValueError as error:
        raise Damage(f"{path}: is damaged") from error
    return files

# SPDX-License-Identifier: Apache-2.0
"""Finding and calling the program `heddle`."""

import contextlib
import functools
import importlib.metadata
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path

from .errors import NoProgram

DONE, FAILED, BAD_INPUT, BROKEN_INVARIANT = 0, 1, 2, 3  # docs/experiments.md
SECONDS_TO_STOP = 10  # The program kills points of a sweep that do not stop within 5 s.
_TREE = Path(__file__).parents[2] / "build/release/heddle"


def find():
    """The path of the program."""
    given = os.environ.get("HEDDLE")
    if given:
        if not os.access(given, os.X_OK) or os.path.isdir(given):
            raise NoProgram(f"HEDDLE={given}: is no program")
        return os.path.abspath(given)
    for candidate in (_installed(), shutil.which("heddle"), _TREE):
        if candidate and os.access(candidate, os.X_OK):
            return str(candidate)
    raise NoProgram("there is no program heddle: install it, build it with \"make run\", or set the "
                    "environment variable HEDDLE to its path")


def _installed():
    """The program that pip has installed with this package."""
    try:
        files = importlib.metadata.files("heddle") or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [file for file in files if file.parts[-2:] == ("bin", "heddle")]
    return found[0].locate() if found else None


def version():
    """What `heddle --version` says."""
    return _version(find())


@functools.lru_cache(maxsize=16)
def _version(path):
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip()


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str  # Without the lines of progress.


def call(words, shown=None, stop=None):
    """Runs the program to its end. `shown` gets the text of each progress line; `stop` is asked from
    time to time whether the program is to stop. An exception, such as KeyboardInterrupt, stops it."""
    messages = _Messages(shown)
    with tempfile.TemporaryFile() as out, _errors(shown is not None) as (reader, writer):
        process = subprocess.Popen(_dying_with_parent() + [find(), *map(os.fspath, words)], stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=writer, env=_environment(), start_new_session=True)
        os.close(writer)
        try:
            asked = False
            while _read_some(reader, messages):
                if stop is not None and not asked and stop():
                    asked = True
                    process.send_signal(signal.SIGTERM)
            code = process.wait()
        except BaseException:
            _stop(process)
            raise
        out.seek(0)
        return Ended(128 - code if code < 0 else code, out.read().decode(errors="replace"), messages.text())


@contextlib.contextmanager
def _errors(is_terminal):
    """The reading and the writing end of the program's stderr. It is a terminal if progress is wanted, because
    the program shows progress only on a terminal."""
    if is_terminal:
        reader, writer = pty.openpty()
        attributes = termios.tcgetattr(writer)
        attributes[1] &= ~termios.OPOST  # Line ends stay as they are.
        termios.tcsetattr(writer, termios.TCSANOW, attributes)
    else:
        reader, writer = os.pipe()
    try:
        yield reader, writer
    finally:
        os.close(reader)


def _environment():
    return {**os.environ, "TERM": "xterm"}  # On a dumb terminal, the program shows no progress.


def _dying_with_parent():
    """The start of a command line that makes the kernel send SIGTERM to the command when this process ends,
    whatever ends it."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []


def _read_some(reader, messages):
    """Waits a moment for text. Returns false at the end of the text."""
    ready, _, _ = select.select([reader], [], [], 0.25)
    if not ready:
        return True
    try:
        text = os.read(reader, 65536)
    except OSError:  # The end of a terminal on Linux.
        text = b""
    messages.add(text)
    return bool(text)


def _stop(process):
    """Asks the program to stop, as Ctrl-C does, and waits; a second interrupt kills it."""
    try:
        process.send_signal(signal.SIGINT)
        until = time.monotonic() + SECONDS_TO_STOP
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


class _Messages:
    """The program's stderr: it rewrites a line of progress in place, and prints messages between."""

    _CLEAR = "\033[K"

    def __init__(self, shown):
        self._shown = shown
        self._bytes = b""
        self._lines = []

    def add(self, text):
        self._bytes += text
        *ended, self._bytes = re.split(rb"\n", self._bytes)
        self._lines += [self._message(line) for line in ended]
        if self._shown is None or b"\r" not in self._bytes:
            return
        whole = self._bytes.rpartition(self._CLEAR.encode())[0]
        latest = whole.rpartition(b"\r")[2].decode(errors="replace").strip()
        if latest:
            self._shown(latest)

    def _message(self, line):
        """What a terminal would show of a line."""
        return line.rpartition(b"\r")[2].decode(errors="replace").replace(self._CLEAR, "")

    def text(self):
        return "\n".join([*self._lines, self._message(self._bytes)]).strip("\n")

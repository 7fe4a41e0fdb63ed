# SPDX-License-Identifier: Apache-2.0
"""Writing files."""

import os


def write_whole(path, content):
    """There complete or not at all. Errors name the file: those of a full disk don't by themselves.

    A link stays, and what it leads to is replaced. A device or a pipe is written to."""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _replace(path.resolve(), content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(target, content):
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        aside.write_bytes(content)
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)

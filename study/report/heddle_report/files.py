# SPDX-License-Identifier: Apache-2.0
"""Writing files."""

import os


def write_whole(path, content):
    """There complete or not at all. Errors name the file: those of a full disk don't by themselves."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_bytes(content)
        aside.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        aside.unlink(missing_ok=True)

# SPDX-License-Identifier: Apache-2.0
"""python3 -m heddle_report FOLDER ...: what `heddle report` runs."""

import argparse
import logging
import os
import sys

DONE, FAILED, BAD_INPUT = 0, 1, 2  # As heddle's own; see docs/experiments.md.
# Made beforehand: later there may be no memory for them.
_NO_MEMORY = "heddle: out of memory\n"
_NO_MEMORY_BYTES = _NO_MEMORY.encode()


def main(arguments=None):
    logging.disable()  # Plotly logs the traceback of each optional module that it cannot import.
    try:
        return _main(arguments)
    except (MemoryError, SystemError):  # Without memory Python may fail to make the MemoryError.
        try:
            sys.stderr.write(_NO_MEMORY)
        except (MemoryError, SystemError):
            os.write(2, _NO_MEMORY_BYTES)
        return FAILED
    except KeyboardInterrupt:
        return 130


def _main(arguments):
    parser = argparse.ArgumentParser(prog="heddle report")
    parser.add_argument("folder")
    parser.add_argument("--out")
    parser.add_argument("--figures")
    parser.add_argument("--format", default="pdf")
    parser.add_argument("--tables")  # Where points.csv and means.csv are, if not in the folder.
    parser.add_argument("--quiet", action="store_true")
    given = parser.parse_args(arguments)
    try:
        command = _loaded(given)
    except ModuleNotFoundError as error:
        return _fail(FAILED, f"{sys.executable} has no module {error.name}; install "
                             f"{_package(error.name)}, or set HEDDLE_PYTHON to a python3 that has it")
    except (MemoryError, SystemError):
        raise
    except Exception as error:  # Without enough memory, Python may raise any while it compiles a module.
        text = " ".join(str(error).split())
        return _fail(FAILED, f"{sys.executable} cannot load the report's modules ({type(error).__name__}: {text}); "
                             "a library may be damaged, or there is too little memory")
    try:
        command.run(given)
        return DONE
    except command.Damaged as error:
        return _fail(FAILED, str(error))
    except command.BadInput as error:
        return _fail(BAD_INPUT, str(error))
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        return _fail(FAILED, f"{where}{error.strerror or error}")


def _loaded(given):
    """Loads all modules, also those of libraries, before results are read. If memory runs out later, Python raises
    MemoryError; while it loads a module, it may raise anything or crash."""
    from . import command, page
    page.plotly()
    if given.figures:
        from . import paper
    return command


def _package(module):
    names = {"yaml": ("python3-yaml", "pyyaml")}
    debian, pypi = names.get(module, (f"python3-{module}", module))
    return f"{debian} (Debian, Ubuntu) or {pypi} (pip)"


def _fail(code, text):
    print(f"heddle: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

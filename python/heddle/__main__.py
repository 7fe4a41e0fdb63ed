# SPDX-License-Identifier: Apache-2.0
"""python3 -m heddle parquet FOLDER: the tables of results as files of Parquet."""

import argparse
import sys

import heddle


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python3 -m heddle")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parquet = commands.add_parser("parquet", help="write the tables of results to files of Parquet")
    parquet.add_argument("folder", help="folder of a run or a sweep")
    parquet.add_argument("-o", "--out", help="folder of the files (default: parquet/ in the folder)")
    parquet.add_argument("--table", action="append", metavar="NAME", help="a table, such as flows; repeatable")
    given = parser.parse_args(arguments)
    try:
        for path in heddle.load(given.folder).to_parquet(given.out, given.table):
            print(path)
    except ModuleNotFoundError as error:
        return _fail(1, f"{sys.executable} has no module {error.name}; install it with pip")
    except heddle.BadInput as error:
        return _fail(2, error)
    except (heddle.Error, OSError) as error:
        return _fail(1, error)
    except KeyboardInterrupt:
        return 130
    return 0


def _fail(code, text):
    print(f"heddle: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

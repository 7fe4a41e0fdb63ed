# SPDX-License-Identifier: Apache-2.0
"""Judges documents, one a line, by a JSON Schema: prints "yes" or "no" for each.

Usage: validate_json.py SCHEMA DOCUMENTS
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")
import jsonschema  # noqa: E402


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    with open(sys.argv[2], encoding="utf-8") as file:
        for line in file:
            print("yes" if validator.is_valid(json.loads(line)) else "no")


main()

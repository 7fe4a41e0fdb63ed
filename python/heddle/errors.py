# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package. Their messages are those of the program, if the program has failed."""

import re
from dataclasses import dataclass


class RunWarning(UserWarning):
    """The program warns of something in a run."""


class Error(Exception):
    """Any failure of this package."""


@dataclass(frozen=True)
class Problem:
    """A mistake in an experiment."""

    place: str  # FILE:LINE:COLUMN, or an argument; empty for a dict.
    key: str    # Such as topology.spines; empty if the mistake is not about one key.
    message: str

    def __str__(self):
        return ": ".join(filter(None, (self.place, self.key, self.message)))


class BadInput(Error):
    """Mistakes in an experiment, or in an argument; nothing was simulated."""

    def __init__(self, message, problems=()):
        super().__init__(message)
        self.problems = list(problems)


class Failed(Error):
    """A run failed, or results are incomplete. `results` has those that there are."""

    def __init__(self, message, results=None):
        super().__init__(message)
        self.results = results


class Damaged(Error):
    """A result file is missing, or is not as the run has written it."""


class BrokenInvariant(Error):
    """A bug in Heddle; please report it."""


class Stopped(Error):
    """The program was stopped by a signal that this process did not send."""


class NoProgram(Error):
    """There is no program `heddle`."""


_PLACED = re.compile(r"(?P<place>\S.*?:\d+:\d+|--[a-z]+ \S+): (?:(?P<key>[^\s:]+): )?(?P<message>.*)")


def bad_input(text, document=None):
    """Makes a BadInput from the program's messages. Places in the file `document` are left out: it was made
    from a dict, so the user does not know its lines."""
    problems = []
    for line in text.splitlines():
        if re.fullmatch(r"\d+ errors?", line):  # The program's last line.
            continue
        match = _PLACED.fullmatch(line)
        if match:
            place = match["place"]
            if document and place.startswith(f"{document}:"):
                place = ""
            problems.append(Problem(place, match["key"] or "", match["message"]))
        elif line:
            problems.append(Problem("", "", line.removeprefix("heddle: ")))
    return BadInput("\n".join(map(str, problems)) or text, problems)

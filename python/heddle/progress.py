# SPDX-License-Identifier: Apache-2.0
"""Progress while the program runs: a bar in a notebook, a line on a terminal, or a call for each
change."""

import contextlib
import html
import re
import sys

_SHARE = re.compile(r"(\d+) % of the work")


@contextlib.contextmanager
def listener(progress):
    """A function that takes the text of a progress line; None if progress is not wanted."""
    shown = _shown_by(progress)
    if shown is None:
        yield None
        return
    try:
        yield lambda text: shown.show(text, share_of(text))
    finally:
        shown.end()


def share_of(text):
    match = _SHARE.search(text)
    return int(match[1]) / 100 if match else 0.0


def _shown_by(progress):
    if progress is False:
        return None
    if callable(progress):
        return _Called(progress)
    if _in_notebook():
        return _Bar()
    if progress or sys.stderr.isatty():
        return _Line()
    return None


def _in_notebook():
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class _Called:
    def __init__(self, function):
        self.show = function

    def end(self):
        pass


class _Line:
    """One line of a terminal, rewritten in place."""

    def show(self, text, _share):
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)

    def end(self):
        print("\r\033[K", end="", file=sys.stderr, flush=True)


class _Bar:
    """A bar in the output of a cell. The bar disappears at the end, so that the saved notebook does not depend
    on how long the sweep took."""

    def __init__(self):
        self._handle = None

    def show(self, text, share):
        from IPython.display import HTML, display
        drawn = HTML(f'<progress value="{share:.2f}" max="1"></progress> {html.escape(text)}')
        if self._handle is None:
            self._handle = display(drawn, display_id=True)
        else:
            self._handle.update(drawn)

    def end(self):
        if self._handle is not None:
            from IPython.display import HTML
            self._handle.update(HTML(""))

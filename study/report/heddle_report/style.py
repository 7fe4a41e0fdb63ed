# SPDX-License-Identifier: Apache-2.0
"""How lines are told apart: by a colour that colour-blind readers can tell from the others (Okabe
and Ito, "Color Universal Design", 2008), and in grey print by a marker and a dash."""

# Their yellow is too light for lines on white, so it is darkened and comes last. On dark ground,
# blue is lightened and black becomes white.
LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#A89F00")
DARK = ("#4C9FE0", "#F0763B", "#14BD8E", "#E39AC4", "#F0B23A", "#9AD4F7", "#F2F2F2", "#E5DB4A")

# By name in Plotly and in matplotlib.
MARKERS = (("circle", "o"), ("square", "s"), ("diamond", "D"), ("triangle-up", "^"),
           ("triangle-down", "v"), ("x", "X"), ("star", "*"), ("cross", "P"), ("pentagon", "p"))
DASHES = (("solid", "-"), ("dash", "--"), ("dashdot", "-."), ("dot", ":"),
          ("longdash", (0, (8, 3))))
HATCHES = (("", ""), ("/", "//"), ("x", "xx"), (".", ".."), ("\\", "\\\\"), ("-", "--"), ("+", "++"))

# Light for little, in even steps of lightness, so that it survives grey print: viridis, reversed, at
# ninths of its range (van der Walt and Smith, 2015).
HEAT = ("#fde725", "#aadc32", "#5ec962", "#27ad81", "#21918c", "#2c728e", "#3b528b", "#472d7b",
        "#440154")


def of(index):
    """All that tells the line of this number from others; different up to 40 lines and beyond."""
    return {
        "light": LIGHT[index % len(LIGHT)],
        "dark": DARK[index % len(DARK)],
        "marker": MARKERS[index % len(MARKERS)],
        "dash": DASHES[index % len(DASHES)],
        "hatch": HATCHES[index % len(HATCHES)],
    }

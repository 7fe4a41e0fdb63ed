# SPDX-License-Identifier: Apache-2.0
"""What `heddle report` shows: results as one page, and as figures for a paper."""

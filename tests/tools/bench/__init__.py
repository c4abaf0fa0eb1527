# SPDX-License-Identifier: MIT
"""The parts of scripts/bench: what is measured is in `modes`, what it is held to in `table`."""

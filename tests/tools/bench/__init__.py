# SPDX-License-Identifier: MIT
"""The parts of scripts/bench: measurements are in `modes`, targets in `table`."""

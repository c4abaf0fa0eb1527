# SPDX-License-Identifier: MIT
"""The program twinfs-fleet: which contents several hosts have, from their inventories.

command.py reads the arguments. row_sets.py and rows.py read and check what twinfs wrote on the
hosts. importing.py makes the tables of tables.py of it. The engines of engines.py run the SQL in
sql/, which questions.py lists. wanted.py, plan*.py and report*.py write the results, and lists.py
writes lists for twinfs.
"""

VERSION = "0.1.0"  # of twinfs

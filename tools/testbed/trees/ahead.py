# SPDX-License-Identifier: GPL-2.0
"""Read trees to standard output, with read-ahead of all files of a directory before the first one is read.

usage: ahead.py TREE...    the simplest way to queue many requests at once; `trees run` compares with it
"""

import os
import shutil
import sys
from pathlib import Path

for tree in sys.argv[1:]:
    for folder, _, names in os.walk(tree):
        paths = [Path(folder, name) for name in names]
        files = [path for path in paths if path.is_file() and not path.is_symlink()]
        for path in files:
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
        for path in files:
            with path.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)

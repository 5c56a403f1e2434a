# SPDX-License-Identifier: BSD-2-Clause
"""How the house is built gets no worse: contrib/build-aux/house.targets."""

import subprocess
import sys

from once import tap
from once.demo import source
from once.tap import equal, test

HOUSE = "contrib/build-aux/house"


@test
def no_figure_of_the_house_is_beyond_its_limit(bench):
    done = subprocess.run(
        [sys.executable, source(f"{HOUSE}.py"), "--targets",
         source(f"{HOUSE}.targets"), source("")],
        capture_output=True, text=True, check=False)
    missed = [line for line in done.stdout.split("\n")
              if line.startswith("MISSED")]
    equal((missed, done.stderr, done.returncode), ([], "", 0))


tap.main()

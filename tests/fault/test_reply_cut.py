# SPDX-License-Identifier: BSD-2-Clause
"""Redis does what it is asked at each step, and its reply is cut."""

from faults import ReplyCut
from matrix import main, torture

torture("reply cut", ReplyCut(0), ReplyCut(9))
main()

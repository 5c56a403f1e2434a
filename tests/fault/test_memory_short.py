# SPDX-License-Identifier: BSD-2-Clause
"""The memory for bodies is used up at each step: for a while, or for longer
than the upstream's time."""

from faults import MemoryShort, MemoryShortTooLong
from matrix import main, torture

torture("memory short", MemoryShort())
torture("memory short for too long", MemoryShortTooLong())
main()

# SPDX-License-Identifier: BSD-2-Clause
"""The gateway is stopped at each step until a deadline is over, and what has
come in time lies in its sockets when it goes on."""

from faults import SHORT, ClockStopped
from matrix import main, torture

torture("stopped past the upstream's time", ClockStopped(timeout_s=2))
torture("stopped past the lease", ClockStopped(lease=SHORT))
main()

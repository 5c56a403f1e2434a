# SPDX-License-Identifier: BSD-2-Clause
"""The gateway is frozen at each step, for longer than the lease."""

from faults import GatewayFrozen
from matrix import main, torture

torture("frozen", GatewayFrozen())
main()

# SPDX-License-Identifier: BSD-2-Clause
"""The gateway is killed with -9 at each step."""

from faults import GatewayKilled
from matrix import main, torture

torture("killed", GatewayKilled())
main()

# SPDX-License-Identifier: BSD-2-Clause
"""The client leaves at each step."""

from faults import ClientGone
from matrix import main, torture

torture("client closes", ClientGone("close"))
torture("client resets", ClientGone("reset"))
main()

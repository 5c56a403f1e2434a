# SPDX-License-Identifier: BSD-2-Clause
"""The upstream closes, resets or truncates, from each step on."""

from faults import UpstreamBreaks
from matrix import main, torture

torture("upstream closes", UpstreamBreaks("close"))
torture("upstream resets", UpstreamBreaks("reset"))
torture("upstream truncates", UpstreamBreaks(40), UpstreamBreaks(130))
main()

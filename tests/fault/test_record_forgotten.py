# SPDX-License-Identifier: BSD-2-Clause
"""Redis forgets the key's record, or all records, at each step."""

from faults import RecordForgotten
from matrix import main, torture

torture("record forgotten", RecordForgotten(), RecordForgotten(True))
main()

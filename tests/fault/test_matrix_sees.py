# SPDX-License-Identifier: BSD-2-Clause
"""The matrix sees what it is made for: with an invariant of the program taken
out, cells fail."""

import re

from once import tap
from once.tap import each

from deliveries import Message, MessageCell
from faults import UpstreamBreaks
from matrix import Cell
from scenarios import FirstTime, Lost, Mute

BROKEN = UpstreamBreaks("close")


@each([
    ("closed before an answer", "sent_is_unknown", FirstTime,
     "execution:FORWARD"),
    ("lost answer", "sent_is_unknown", Lost, "execution:FORWARDED"),
    ("no answer in time", "sent_is_unknown", Mute, "execution:FORWARDED"),
    ("closed before an answer to a message", "sent_is_unknown", Message,
     "delivery:EXECUTE"),
])
def a_guard_that_is_off_is_seen(bench, invariant, scenario, at):
    cell = MessageCell if at.startswith("delivery:") else Cell
    whole = cell(at, scenario, BROKEN)
    whole.run()
    broken = cell(at, scenario, BROKEN, {"ONCE_INVARIANTS_OFF": invariant})
    try:
        broken.run()
    except AssertionError as trouble:
        assert re.search(r"sent [2-9] times", str(trouble)), trouble
    else:
        raise AssertionError("nothing was seen")


tap.main()

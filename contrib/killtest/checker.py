# SPDX-License-Identifier: BSD-2-Clause
"""What went wrong, by the ledger of the payment API and by what clients were
told; the same for every adapter."""

import json
from collections import Counter

# In the order of their weight.
WRONGS = {
    "doubled": "paid more than once",
    "lost": "a client was told that it was paid, and it was not",
    "foreign": "a client was told of another payment, or by half an answer",
    "contradicted": "a client was told of two different ones for one key",
    "stuck": "at the end no client can learn what became of it",
    "unknown": "the gateway says that it does not know",
}


def interval(wrong, count, z=1.96):
    """Wilson's interval of 95 % for a share (JASA 22, 1927)."""
    if count == 0:
        return 0.0, 1.0
    share, square = wrong / count, z * z / count
    middle = share + square / 2
    half = z * ((share * (1 - share) + square / 4) / count) ** 0.5
    return (max(0, (middle - half) / (1 + square)),
            min(1, (middle + half) / (1 + square)))


def judge(operation, payments, says_unknown):
    """The set of WRONGS that became of it."""
    said = [answer for answer in operation.told if answer]
    bodies = [body for status, _, body in said if status < 300]
    found = {"doubled": payments > 1, "lost": bodies and payments == 0,
             "contradicted": len(set(bodies)) > 1}
    wrongs = {name for name, is_so in found.items() if is_so}
    for body in bodies:
        try:
            if json.loads(body)["operation"] != operation.key:
                wrongs.add("foreign")
        except (ValueError, KeyError, TypeError):
            wrongs.add("foreign")  # it is no answer that the API gave
    if not bodies:
        wrongs.add("unknown" if any(says_unknown(*answer) for answer in said)
                   else "stuck")
    return wrongs


def check(world):
    """A scenario's figures."""
    payments = Counter(world.upstream.ledger)
    figures = Counter(dict.fromkeys(WRONGS, 0))
    figures["operations"] = len(world.operations)
    figures["beyond"] = sum(n - 1 for n in payments.values())
    for operation in world.operations:
        figures.update(judge(operation, payments[operation.key],
                             world.adapter.says_unknown))
    return figures


def rate(figures):
    """The duplicate side-effect violation rate, payments beyond the first by
    operations; and the interval of the share of operations doubled."""
    count = figures["operations"]
    return (figures["beyond"] / count if count else 0,
            interval(figures["doubled"], count))

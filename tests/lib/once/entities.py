# SPDX-License-Identifier: BSD-2-Clause
"""What entities promise in a history (history.py): no older version is executed
once a newer one is COMPLETED (newer_only), and no two keys of an entity are
executed at once (serialize)."""

from .history import SLACK_S

SENDING_S = 6.0  # so long a claim may take to send, where nobody saw its end


def senders(story, arrival):
    """The operations of which one has sent it."""
    return [op for op in story.ops if op.begin <= arrival.at <= SLACK_S +
            (op.begin + SENDING_S if op.end is None else op.end)]


def was_claimed_after(story, arrival, at):
    ops = senders(story, arrival)
    return bool(ops) and min(op.begin for op in ops) > at


def completed(story):
    """When it was COMPLETED at the latest, or None."""
    ends = [op.end for op in story.ops
            if story.token(op) not in (None, "exhausted")]
    ends += [act.end for act in story.acts
             if act.act == "complete" and act.end is not None]
    return min(ends, default=None)


def versions_rise(story):
    """A version is compared when it is claimed."""
    if story.record.guard != "newer":
        return
    above = [(kin, completed(kin)) for kin in story.kin
             if kin.record.version >= story.record.version]
    for a in story.arrivals:
        for kin, at in above:
            if at is not None and was_claimed_after(story, a, at):
                yield (f"version {story.record.version} was sent at "
                       f"{a.at:.3f}, and {kin.record} with version "
                       f"{kin.record.version} was COMPLETED at {at:.3f}")


def stale_versions_stay_so(story):
    for op in story.ops:
        for a in story.arrivals:
            if op.problem == "stale-version" and \
                    was_claimed_after(story, a, op.end):
                yield (f"attempt {a.attempt} was sent at {a.at:.3f} after op "
                       f"{op.number} was told that it is stale")


def is_certain(story, arrival):
    """Whether its claim had its lease until it was answered: its client got
    the answer before a lease could be over."""
    return any(op.got == arrival.given and not op.replayed and
               op.end - op.begin < story.history.lease_s for op in story.ops)


def one_key_at_a_time(story):
    """A claim ends early only where something failed."""
    if story.record.guard != "serial":
        return
    for a in story.arrivals:
        for kin in story.kin:
            for b in kin.arrivals:
                if a.ready is None or not a.at < b.at < a.ready:
                    continue
                failed = story.touched(b.at) or kin.touched(b.at)
                if not failed or (is_certain(story, a) and
                                  is_certain(kin, b)):
                    yield (f"{kin.record} was sent at {b.at:.3f}, while "
                           f"attempt {a.attempt} was executed")


ENTITIES = (versions_rise, stale_versions_stay_so, one_key_at_a_time)

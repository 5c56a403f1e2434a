# SPDX-License-Identifier: BSD-2-Clause
"""Relays, and the ledger of one in a PostgreSQL or a topic of Kafka: what it
has is compared with what the streams of events have."""

import itertools
import json

from .gateway import is_without
from .kafka import confluent_kafka
from .skip import Skip
from .tap import equal
from .wait import PATIENCE, eventually

NAMES = ["id", "key_id", "route", "from", "to", "status", "attempt", "time",
         "instance", "request_id", "label", "answer"]


def relay(config, postgres, name="ledger", table="ledger", **members):
    """Adds a relay to that table of a PostgreSQL."""
    config.setdefault("brokers", {})["shop"] = {"postgres": postgres.url}
    config.setdefault("relays", {})[name] = {
        "broker": "shop", "table": table, **members}
    return config


TOPICS = itertools.count()
# Soon it is seen that a broker is back.
SETTINGS = {"reconnect.backoff.max.ms": "500"}


def topic_relay(config, kafka, topic, name="ledger", settings=None,
                **members):
    """Adds a relay to that topic of a Kafka."""
    config.setdefault("brokers", {})["events"] = {
        "kafka": kafka.addresses, "settings": {**SETTINGS,
                                               **(settings or {})}}
    config.setdefault("relays", {})[name] = {
        "broker": "events", "topic": topic, **members}
    return config


def named(config, name):
    return {**config, "instance": name}


def pay(gateway, first, count):
    """With keys of those numbers. Those that are overloaded, as relays are
    behind, again until they are not."""
    with gateway.client() as client:
        def status(n):
            return client.exchange(
                fields=[("Idempotency-Key", f"k{n}"),
                        ("Authorization", "a")], body=b"").status
        for n in range(first, first + count):
            equal(eventually(lambda n=n: {503: None}.get(got := status(n),
                                                         got),
                             "relays have caught up"), 201)


def streams(redis, shards):
    """All entries of all shards, by the ids of events."""
    found = {}
    for shard in range(shards):
        name = f"onceproxy:{{{shard}}}:events"
        got = (redis(name, "XRANGE", "-", "+") if hasattr(redis, "seeds")
               else redis("XRANGE", name, "-", "+"))
        for entry_id, fields in got or []:
            fields = [field.decode() for field in fields]
            found[f"{shard}-{entry_id.decode()}"] = dict(
                zip(fields[::2], fields[1::2]))
    return found


class Brought:
    """What a relay has brought, as rows with the members of NAMES."""

    def __init__(self, redis, shards, place):
        self.redis, self.shards, self.place = redis, shards, place

    def rows(self):
        """In the order of each key_id."""
        raise NotImplementedError

    def count(self):
        return len(self.rows())

    def stories(self):
        """The changes of each key_id, in the order of the rows."""
        stories = {}
        for row in self.rows():
            told = f"{row['from']}>{row['to']} {row['attempt']}"
            if row["status"]:
                told += f" {row['status']}"
            stories.setdefault(row["key_id"], []).append(told)
        return stories

    def wait_for(self, count, timeout=PATIENCE):
        eventually(lambda: self.count() >= count,
                   f"{count} rows in {self.place}", timeout)

    def wait_whole(self, timeout=PATIENCE, wanted=lambda entry: True,
                   stories=True):
        """Waits until it has all entries, and says nothing else; returns its
        rows."""
        entries = {name: entry for name, entry in streams(
            self.redis, self.shards).items() if wanted(entry)}
        self.wait_for(len(entries), timeout)
        rows = self.rows()
        equal(len(rows), len({row["id"] for row in rows}))
        equal({row["id"] for row in rows}, set(entries))
        for row in rows:
            entry = entries[row["id"]]
            equal([row["key_id"], row["route"], row["from"], row["to"],
                   row["attempt"], row["status"]],
                  [entry["id"], entry["route"], entry["from"], entry["to"],
                   int(entry["attempt"]),
                   int(entry["status"]) if "status" in entry else None])
        for key_id, story in self.stories().items() if stories else ():
            at = "NONE"
            for line in story:
                before, after = line.split(" ")[0].split(">")
                equal(before, at, (key_id, story))
                at = after
        return rows

class Ledger(Brought):
    """The rows of a relay, as it has put them."""

    def __init__(self, postgres, redis, shards, table="ledger"):
        super().__init__(redis, shards, table)
        self.postgres, self.table = postgres, table

    def rows(self):
        if self.postgres(f"SELECT to_regclass('{self.table}')") == [""]:
            return []
        return self.postgres.rows(
            f"SELECT * FROM {self.table} ORDER BY ctid")

    def count(self):
        if self.postgres(f"SELECT to_regclass('{self.table}')") == [""]:
            return 0
        return int(self.postgres(f"SELECT count(*) FROM {self.table}")[0])

    def sessions(self):
        """The processes of PostgreSQL that serve a gateway."""
        return [int(pid) for pid in self.postgres(
            "SELECT pid FROM pg_stat_activity "
            "WHERE application_name LIKE 'onceproxy%'")]

    def read(self):
        """How many entries are behind it, of all shards."""
        name = self.table + "_position"
        if self.postgres(f"SELECT to_regclass('{name}')") == [""]:
            return 0
        return int(self.postgres(
            f"SELECT coalesce(sum(count), 0) FROM {name} "
            "WHERE shard >= 0")[0])


class TopicLedger(Brought):
    """The messages of a relay, as those have them who read what is
    committed."""

    def __init__(self, kafka, redis, shards, topic=None, partitions=2,
                 **settings):
        if is_without("kafka"):
            raise Skip("built without Kafka")
        self.kafka = kafka
        super().__init__(redis, shards, topic or f"ledger-{next(TOPICS)}")
        kafka.topic(self.place, partitions, **settings)

    def rows(self, committed=True):
        found = self.kafka.consume(self.place, committed)
        rows = [json.loads(record.value) for record in found]
        equal([record.key.decode() for record in found],
              [row["key_id"] for row in rows])
        return rows

    def groups(self, name="ledger"):
        """Those whose offsets say where the relay stands."""
        prefix = f"onceproxy-relay-{name}-"

        def listed():
            try:
                return [self.kafka.admin.list_groups(timeout=PATIENCE)]
            except confluent_kafka.KafkaException:
                return None  # their coordinator is about to load them
        return sorted(
            group.id for group in eventually(listed, "groups are listed")[0]
            if group.id.startswith(prefix) and
            self.kafka.committed(group.id, self.place))

    def read(self, name="ledger"):
        """How many entries are behind it, of all shards."""
        total = 0
        for group in self.groups(name):
            found = self.kafka.committed(group, self.place)
            metadata = found[0][1] if 0 in found else ""
            for place in metadata.split(",")[1:]:
                total += max(int(place.split(" ")[1]), 0)
        return total

# SPDX-License-Identifier: BSD-2-Clause
"""A topic of a Kafka, real or pretended, and a gateway's source that reads
it."""

import json

from . import http


class Topic:
    """A topic, read by the group "onceproxy"."""

    def __init__(self, kafka, name="charges", partitions=1,
                 group="onceproxy"):
        self.kafka, self.name, self.group = kafka, name, group
        kafka.topic(name, partitions)

    def add(self, value=None, key=None, idempotency_key=None, **members):
        """Adds a record, of JSON; its (partition, offset)."""
        headers = list(members.pop("headers", []))
        if idempotency_key is not None:
            headers.append(("Idempotency-Key", idempotency_key.encode()))
        value = json.dumps(value if value is not None else {}).encode()
        return self.kafka.produce(
            self.name, value, key=key, headers=headers, **members)[0]

    def add_all(self, values, **members):
        return self.kafka.produce(
            self.name, *[json.dumps(v).encode() for v in values], **members)

    def committed(self):
        """By partition, the offset; only those that have one."""
        found = self.kafka.committed(self.group, self.name)
        return {n: offset for n, (offset, _) in found.items()}


def topic_source(config, topic, name="charges", settings=None, **members):
    """Adds a source of that topic to a configuration."""
    request = {"path": "/v1/charges", "headers": {
        "Authorization": http.TENANT}, **members.pop("request", {})}
    # The pretended Kafka answers who joins after 3 s.  Where topics are heard
    # of at that very moment, the library joins once more, and is not answered.
    config.setdefault("brokers", {})["kafka"] = {
        "kafka": topic.kafka.addresses,
        "settings": {"fetch.wait.max.ms": "20",
                     "topic.metadata.refresh.interval.ms": "700",
                     "reconnect.backoff.max.ms": "500",
                     **(settings or {})}}
    config.setdefault("sources", {})[name] = {
        "broker": "kafka", "topics": [topic.name], "request": request,
        **members}

# SPDX-License-Identifier: BSD-2-Clause
"""Receivers of webhooks: an upstream of ours that verifies each signature with
Python's own HMAC, and a relay that posts to it."""

import base64
import hashlib
import hmac
import json
import os

from .tap import equal
from .upstream import Upstream, answer
from .wait import PATIENCE, eventually

TAKEN = answer(204, b"", length=False)


def secret(length=32):
    return "whsec_" + base64.b64encode(os.urandom(length)).decode()


def hmac_of(text, request):
    """The signature that a secret makes of a request."""
    content = b".".join([request.get("webhook-id").encode(),
                         request.get("webhook-timestamp").encode(),
                         request.body])
    key = base64.b64decode(text.removeprefix("whsec_"))
    return "v1," + base64.b64encode(
        hmac.new(key, content, hashlib.sha256).digest()).decode()


class Receiver(Upstream):
    """Takes events; self.reply says how."""

    def __init__(self, reply=TAKEN, **more):
        super().__init__(reply, **more)
        self.secret = secret()

    def relay(self, config, name="hooks", path="/hook?from=once", **members):
        """Adds a relay to it to a configuration."""
        config.setdefault("relays", {})[name] = {
            "webhook": self.url + path, "secrets": [self.secret], **members}
        return config

    def ids(self):
        """Of all that was received, in that order."""
        return [r.get("webhook-id") for r in list(self.requests)]

    def events(self):
        """What they said, each verified."""
        found = []
        for request in list(self.requests):
            equal(request.get("webhook-signature"),
                  hmac_of(self.secret, request))
            event = json.loads(request.body)
            equal(event["id"], request.get("webhook-id"))
            found.append(event)
        return found

    def stories(self):
        """The changes of each key_id, in the order in which they came."""
        stories = {}
        for event in self.events():
            told = f"{event['from']}>{event['to']} {event['attempt']}"
            if event["status"]:
                told += f" {event['status']}"
            stories.setdefault(event["key_id"], []).append(told)
        return stories

    def wait_for_events(self, count, timeout=PATIENCE):
        """Waits until so many different ones were received."""
        eventually(lambda: len(set(self.ids())) >= count,
                   f"{count} events", timeout)


def nothing_is_kept(redis, timeout=PATIENCE):
    """Waits until Redis has none that is still to be brought."""
    eventually(lambda: not [key for key in redis.keys() if b":kept:" in key],
               "nothing is kept any more", timeout)

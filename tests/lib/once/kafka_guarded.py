# SPDX-License-Identifier: BSD-2-Clause
"""A real Kafka that asks who somebody is (SASL/PLAIN, over TLS too), and gives
each user only the rights that it was allowed.  The tests themselves come in by
another door, which asks nothing."""

import struct

from .certificates import Authority
from .folder import drop_folder, make_folder
from .kafka import Kafka
from .kafka_wire import Wire, array, check, text
from .ports import free_ports

CREATE_ACLS, DELETE_ACLS = 30, 31
KINDS = {"topic": 2, "group": 3, "cluster": 4, "transactional-id": 5}
ACTS = {"All": 2, "Read": 3, "Write": 4, "Describe": 8}
ANY, LITERAL, ALLOW = 1, 3, 3
USER, PASSWORD = "gateway", "right"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def pem(path):
    """A file of PEM as one value of a file of properties."""
    with open(path, encoding="ascii") as file:
        return file.read().replace("\n", "\\n")


class GuardedKafka(Kafka):
    """Of one node.  logins and secure_logins: what a broker's "kafka" says,
    with settings_of() beside it."""

    def __init__(self, **settings):
        self.folder = make_folder()
        self.authority = Authority(self.folder)
        made = self.authority.issue("kafka", "IP:127.0.0.1")
        self.doors = dict(zip(("LOGIN", "SECURE"), free_ports(2)))
        known = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT",
                 "LOGIN": "SASL_PLAINTEXT", "SECURE": "SASL_SSL"}
        jaas = f'{LOGIN} required user_{USER}="{PASSWORD}";'
        super().__init__(**{
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer"
                                     ".StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, protocol in known.items()),
            "sasl.enabled.mechanisms": "PLAIN",
            **{f"listener.name.{name.lower()}.plain.sasl.jaas.config": jaas
               for name in self.doors},
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": pem(made.file),
            "ssl.keystore.key": pem(made.key), **settings})

    def stop(self):
        super().stop()
        drop_folder(self.folder)

    @property
    def logins(self):
        return [f"127.0.0.1:{self.doors['LOGIN']}"]

    @property
    def secure_logins(self):
        return [f"127.0.0.1:{self.doors['SECURE']}"]

    @staticmethod
    def settings_of(user=USER, password=PASSWORD, protocol="SASL_PLAINTEXT",
                    **more):
        """What a broker's "settings" says, to be let in."""
        return {"security.protocol": protocol, "sasl.mechanism": "PLAIN",
                "sasl.username": user, "sasl.password": password, **more}

    # --- rights ------------------------------------------------------------

    def allow(self, kind, name, *acts):
        """kind: of KINDS; acts: of ACTS."""
        with self.wire() as wire:
            got = wire.ask(CREATE_ACLS, 1, array([
                struct.pack(">b", KINDS[kind]) + text(name) +
                struct.pack(">b", LITERAL) + text(f"User:{USER}") + text("*") +
                struct.pack(">bb", ACTS[act], ALLOW) for act in acts]))
        got.int32()
        got.array(lambda: (check(f"allow {name}", got.int16()), got.text()))

    def forbid(self, kind, name):
        """Whatever was allowed of it."""
        with self.wire() as wire:
            got = wire.ask(DELETE_ACLS, 1, array([
                struct.pack(">b", KINDS[kind]) + text(name) +
                struct.pack(">bhhbb", LITERAL, -1, -1, ANY, ANY)]))
        got.int32()
        got.array(lambda: check(f"forbid {name}", got.int16()))

    def wire(self):
        return Wire("127.0.0.1", self.nodes[0].port)

# SPDX-License-Identifier: BSD-2-Clause
from adapters._packages import Node


class Adapter(Node):
    words = "its core in fastify's hooks, with its Redis adapter"
    packages = {"fastify": "5.12.8", "@node-idempotency/core": "1.0.11",
                "@node-idempotency/storage-adapter-redis": "1.0.2"}
    server = "node_idempotency.js"

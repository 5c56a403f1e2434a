# SPDX-License-Identifier: BSD-2-Clause
from adapters._packages import Node


class Adapter(Node):
    words = "with its Redis adapter, as its README has it"
    packages = {"express": "5.3.0", "express-idempotency": "1.0.6",
                "express-idempotency-redis-adapter": "1.0.8"}
    server = "express_idempotency.js"

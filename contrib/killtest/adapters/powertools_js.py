# SPDX-License-Identifier: BSD-2-Clause
from adapters._packages import Node


class Adapter(Node):
    words = "AWS Powertools' idempotency (TypeScript), with Redis"
    packages = {"@aws-lambda-powertools/idempotency": "2.35.0",
                "@redis/client": "6.3.1"}
    lease_s = 7  # Lambda ends a function by then, so it is beyond patience_s
    server = "powertools.js"

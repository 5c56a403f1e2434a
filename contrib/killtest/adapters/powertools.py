# SPDX-License-Identifier: BSD-2-Clause
from adapters._packages import Python


class Adapter(Python):
    words = "AWS Powertools' idempotency in a FastAPI, with Redis"
    packages = {"aws-lambda-powertools": "3.37.0", "boto3": "1.44.5",
                "redis": "5.2.0", "fastapi": "0.115.0",
                "uvicorn": "0.32.0", "httpx": "0.27.2"}
    lease_s = 7  # Lambda ends a function by then, so it is beyond patience_s
    application = "serve_powertools:app"

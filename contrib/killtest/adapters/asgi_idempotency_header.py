# SPDX-License-Identifier: BSD-2-Clause
from adapters._packages import Python


class Adapter(Python):
    words = "on FastAPI with its Redis backend"
    packages = {"asgi-idempotency-header": "0.2.0", "redis": "4.6.0",
                "fastapi": "0.115.0", "uvicorn": "0.32.0", "httpx": "0.27.2"}
    application = "serve_asgi_idempotency_header:app"

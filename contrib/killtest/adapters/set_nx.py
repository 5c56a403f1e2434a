# SPDX-License-Identifier: BSD-2-Clause
from adapters._packages import Python


class Adapter(Python):
    words = "SET NX before the work, the answer after it, a time to live"
    packages = {"redis": "5.2.0", "fastapi": "0.115.0", "uvicorn": "0.32.0",
                "httpx": "0.27.2"}
    lease_s = 7  # nothing renews it: beyond patience_s
    application = "serve_set_nx:app"

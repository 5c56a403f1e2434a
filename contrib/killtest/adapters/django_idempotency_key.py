# SPDX-License-Identifier: BSD-2-Clause
from adapters._packages import Python


class Adapter(Python):
    words = "keys in Django's cache in Redis, locks in Redis"
    packages = {"django-idempotency-key": "1.3.0", "django": "4.2.16",
                "djangorestframework": "3.15.2", "redis": "4.6.0",
                "uvicorn": "0.32.0", "httpx": "0.27.2"}
    application = "serve_django_idempotency_key:app"

    def command(self, folder, port, redis, upstream):
        """With threads: by ASGI its views wait for one another."""
        argv, env = super().command(folder, port, redis, upstream)
        return [*argv, "--interface", "wsgi"], env

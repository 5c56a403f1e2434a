# SPDX-License-Identifier: BSD-2-Clause
import json
import os

import django
import httpx
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.urls import path

settings.configure(
    SECRET_KEY="killtest", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"],
    MIDDLEWARE=["idempotency_key.middleware.IdempotencyKeyMiddleware"],
    CACHES={"default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": os.environ["REDIS"]}},
    IDEMPOTENCY_KEY={
        "STORAGE": {"CLASS": "idempotency_key.storage.CacheKeyStorage"},
        "CONFLICT_STATUS_CODE": None,
        "LOCK": {"CLASS": "idempotency_key.locks.redis.MultiProcessRedisLock",
                 "LOCATION": os.environ["REDIS"],
                 "TTL": int(os.environ["LEASE_S"]), "TIMEOUT": 10.0}})
django.setup()


def charge(request):
    try:
        answer = httpx.post(os.environ["UPSTREAM"] + "/charges",
                            json=json.loads(request.body),
                            timeout=float(os.environ["PATIENCE_S"]))
    except httpx.HTTPError as error:
        return JsonResponse({"error": repr(error)}, status=502)
    return JsonResponse(answer.json(), status=answer.status_code)


urlpatterns = [path("charges", charge)]
app = get_wsgi_application()

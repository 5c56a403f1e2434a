# SPDX-License-Identifier: BSD-2-Clause
import os
from types import SimpleNamespace

import httpx
from aws_lambda_powertools.utilities.idempotency import (
    IdempotencyConfig, idempotent_function)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError)
from aws_lambda_powertools.utilities.idempotency.persistence.redis import (
    RedisCachePersistenceLayer)
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from redis import Redis

STORE = RedisCachePersistenceLayer(client=Redis.from_url(
    os.environ["REDIS"], decode_responses=True))
app = FastAPI()


def once(key, body):
    config = IdempotencyConfig()
    # A function of Lambda has so long; it is what its lock lasts.
    config.register_lambda_context(SimpleNamespace(
        get_remaining_time_in_millis=lambda: 1000 * int(os.environ["LEASE_S"])))

    @idempotent_function(data_keyword_argument="key", config=config,
                         persistence_store=STORE)
    def charge(key):
        answer = httpx.post(os.environ["UPSTREAM"] + "/charges", json=body,
                            timeout=float(os.environ["PATIENCE_S"]))
        return {"status": answer.status_code, "body": answer.json()}
    return charge(key=key)


@app.post("/charges")
async def charge(request: Request):
    body = await request.json()
    try:
        done = await run_in_threadpool(
            once, request.headers["Idempotency-Key"], body)
    except IdempotencyAlreadyInProgressError as error:
        return JSONResponse({"error": repr(error)}, 409)
    except Exception as error:  # as Lambda does: the invocation failed
        return JSONResponse({"error": repr(error)}, 502)
    return JSONResponse(done["body"], done["status"])

# SPDX-License-Identifier: BSD-2-Clause
import os

import httpx
from pay import pay
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from idempotency_header_middleware import IdempotencyHeaderMiddleware
from idempotency_header_middleware.backends import RedisBackend
from redis.asyncio import from_url

app = FastAPI()
app.add_middleware(IdempotencyHeaderMiddleware, backend=RedisBackend(
    redis=from_url(os.environ["REDIS"], decode_responses=True)))


@app.post("/charges")
async def charge(request: Request):
    try:
        status, body = await pay(await request.json())
    except httpx.HTTPError as error:
        status, body = 502, {"error": repr(error)}
    return JSONResponse(body, status)

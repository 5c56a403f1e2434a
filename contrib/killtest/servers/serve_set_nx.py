# SPDX-License-Identifier: BSD-2-Clause
"""What one does who claims by SET NX: released where the work has failed."""

import json
import os

import httpx
from pay import pay
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from redis.asyncio import from_url

REDIS = from_url(os.environ["REDIS"])
app = FastAPI()


@app.post("/charges")
async def charge(request: Request):
    key = "once:" + request.headers["Idempotency-Key"]
    if not await REDIS.set(key, "", nx=True, ex=int(os.environ["LEASE_S"])):
        kept = await REDIS.get(key)
        return JSONResponse(json.loads(kept), 201) if kept else JSONResponse(
            {"error": "in flight"}, 409)
    try:
        status, body = await pay(await request.json())
    except httpx.HTTPError as error:
        await REDIS.delete(key)
        return JSONResponse({"error": repr(error)}, 502)
    await REDIS.set(key, json.dumps(body), ex=86400)
    return JSONResponse(body, status)

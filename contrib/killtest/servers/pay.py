# SPDX-License-Identifier: BSD-2-Clause
"""Asks the payment API, as an application does."""

import os

import httpx


async def pay(body):
    async with httpx.AsyncClient(
            timeout=float(os.environ["PATIENCE_S"])) as client:
        answer = await client.post(os.environ["UPSTREAM"] + "/charges",
                                   json=body)
    return answer.status_code, answer.json()

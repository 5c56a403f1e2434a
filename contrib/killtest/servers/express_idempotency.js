// SPDX-License-Identifier: BSD-2-Clause
const express = require("express");
const idempotency = require("express-idempotency");
const Redis = require("express-idempotency-redis-adapter").default;
const pay = require("./pay.js");

const store = new Redis({ connectionConfig: { url: process.env.REDIS } });
store.connect().catch((error) => { throw error; });
const app = express();
app.use(express.json());
app.post("/charges", idempotency.idempotency({ dataAdapter: store }),
  async (request, response) => {
    const service = idempotency.getSharedIdempotencyService();
    if (service.isHit(request))
      return;
    try {
      const { status, body } = await pay(request.body);
      response.status(status).send(body);
    } catch (error) {
      service.reportError(request);
      response.status(502).send({ error: String(error) });
    }
  });
app.listen(process.env.PORT, "127.0.0.1");

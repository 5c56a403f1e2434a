// SPDX-License-Identifier: BSD-2-Clause
const { Idempotency } = require("@node-idempotency/core");
const { RedisStorageAdapter } =
  require("@node-idempotency/storage-adapter-redis");
const pay = require("./pay.js");

async function main() {
  const store = new RedisStorageAdapter({ url: process.env.REDIS });
  await store.connect();
  const idempotency = new Idempotency(store, { enforceIdempotency: true });
  const app = require("fastify")();
  app.post("/charges", async (request, reply) => {
    const asked = { method: "POST", path: request.url, body: request.body,
      headers: request.headers };
    let kept;
    try {
      kept = await idempotency.onRequest(asked);
    } catch (error) {
      const wrong = { REQUEST_IN_PROGRESS: 409,
        IDEMPOTENCY_FINGERPRINT_MISSMATCH: 422 }[error.code] || 503;
      return reply.code(wrong).send({ error: error.message });
    }
    if (kept)
      return reply.code(kept.additional.status).send(kept.body);
    let done;
    try {
      done = await pay(request.body);
    } catch (error) {
      done = { status: 502, body: { error: String(error) } };
    }
    await idempotency.onResponse(asked,
      { body: done.body, additional: { status: done.status } });
    return reply.code(done.status).send(done.body);
  });
  await app.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
}
main();

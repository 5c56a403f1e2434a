// SPDX-License-Identifier: BSD-2-Clause
const http = require("node:http");
const { createClient } = require("@redis/client");
const { IdempotencyConfig, makeIdempotent } =
  require("@aws-lambda-powertools/idempotency");
const { CachePersistenceLayer } =
  require("@aws-lambda-powertools/idempotency/cache");
const pay = require("./pay.js");

async function main() {
  const client = createClient({ url: process.env.REDIS });
  client.on("error", console.error);
  await client.connect();
  const persistenceStore = new CachePersistenceLayer({ client });
  http.createServer(async (request, response) => {
    const config = new IdempotencyConfig({});
    // A function of Lambda has so long; it is what its lock lasts.
    config.registerLambdaContext({ getRemainingTimeInMillis:
      () => 1000 * Number(process.env.LEASE_S) });
    let text = "", status, body;
    for await (const part of request)
      text += part;
    const charge = makeIdempotent((key, asked) => pay(asked),
      { persistenceStore, config });
    try {
      ({ status, body } = await charge(
        request.headers["idempotency-key"], JSON.parse(text)));
    } catch (error) { // as Lambda does: the invocation failed
      status = error.name === "IdempotencyAlreadyInProgressError" ? 409 : 502;
      body = { error: String(error) };
    }
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(body));
  }).listen(process.env.PORT, "127.0.0.1");
}
main();

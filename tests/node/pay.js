// SPDX-License-Identifier: BSD-2-Clause
// Pays with the client of an API, and prints what became of each payment.
//   node pay.js API PORT WAY KEY=AMOUNT...
// WAY: "apart" (one after the other) or "together".
'use strict';
const https = require('https');
const net = require('net');

const [api, port, way, ...payments] = process.argv.slice(2);

// Clients that only know their API's own addresses, which they speak TLS to,
// speak to the gateway instead, and without.
https.Agent.prototype.createConnection = () =>
  net.connect(Number(port), '127.0.0.1');

// Each: pay(key, amount), which gives the id and whether it is a replay where
// the client tells; and what it says of an error.
const clients = {
  stripe() {
    const stripe = require('stripe');
    const client = new (stripe.default || stripe)('sk_test_onceproxy', {
      host: '127.0.0.1', port: Number(port), protocol: 'http',
      maxNetworkRetries: 20, telemetry: false,
    });
    return {
      async pay(idempotencyKey, amount) {
        const made = await client.charges.create(
          {amount, currency: 'eur'}, {idempotencyKey});
        return {id: made.id,
          replayed: made.lastResponse.headers['idempotent-replayed']};
      },
      say: (error) => ({status: error.statusCode, code: error.code,
        rawType: error.rawType}),
    };
  },
  adyen() {
    const {Client, EnvironmentEnum, CheckoutAPI} =
      require('@adyen/api-library');
    const client = new Client({apiKey: 'key', environment:
      EnvironmentEnum.TEST});
    const checkout = new CheckoutAPI(client);
    return {
      async pay(idempotencyKey, value) {
        const made = await checkout.PaymentsApi.payments({
          amount: {currency: 'EUR', value}, reference: 'r',
          merchantAccount: 'm', paymentMethod: {type: 'scheme'},
          returnUrl: 'https://shop.example/',
        }, {idempotencyKey});
        return {id: made.pspReference};
      },
      say: (error) => ({status: error.statusCode, code: error.errorCode,
        message: error.message,
        again: error.responseHeaders['transient-error']}),
    };
  },
  paypal() {
    const {Client, Environment, OrdersController} =
      require('@paypal/paypal-server-sdk');
    const client = new Client({environment: Environment.Sandbox,
      clientCredentialsAuthCredentials: {oAuthClientId: 'id',
        oAuthClientSecret: 'secret'}});
    const orders = new OrdersController(client);
    return {
      async pay(paypalRequestId, value) {
        const made = await orders.createOrder({paypalRequestId, body: {
          intent: 'CAPTURE', purchaseUnits: [
            {amount: {currencyCode: 'EUR', value: String(value)}}],
        }});
        return {id: made.result.id,
          replayed: made.headers['idempotent-replayed']};
      },
      say(error) {
        // It reads the bodies of some statuses only.
        const body = error.result || JSON.parse(error.body);
        return {status: error.statusCode, code: body.name,
          issue: body.details[0].issue,
          debugged: body.debug_id === error.headers['x-request-id']};
      },
    };
  },
  square() {
    const {SquareClient} = require('square');
    const client = new SquareClient({token: 'token', maxRetries: 4,
      baseUrl: `http://127.0.0.1:${port}`});
    return {
      async pay(idempotencyKey, amount) {
        const made = await client.payments.create({idempotencyKey,
          sourceId: 'cnon:card-nonce-ok',
          amountMoney: {amount: BigInt(amount), currency: 'EUR'}});
        return {id: made.payment.id};
      },
      say: (error) => ({status: error.statusCode,
        code: error.errors[0].code, category: error.errors[0].category,
        field: error.errors[0].field}),
    };
  },
};

const {pay, say} = clients[api]();

async function tryToPay(payment) {
  const [key, amount] = payment.split('=');
  try {
    return await pay(key, Number(amount));
  } catch (error) {
    try {
      return {type: error.constructor.name, ...say(error)};
    } catch (other) {
      return {broken: String(error), because: String(other)};
    }
  }
}

async function main() {
  const results = [];
  if (way === 'together')
    return Promise.all(payments.map(tryToPay));
  for (const payment of payments)
    results.push(await tryToPay(payment));
  return results;
}

main().then((results) => {
  console.log(JSON.stringify(results));
  process.exit(); // idle connections would keep node waiting
});

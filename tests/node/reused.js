// SPDX-License-Identifier: BSD-2-Clause
// Creates two charges with one key and the stripe client, and prints what
// became of the second.
//   node reused.js PORT
'use strict';
const stripe = require('stripe');
const Stripe = stripe.default || stripe;

const client = new Stripe('sk_test_onceproxy', {
  host: '127.0.0.1',
  port: Number(process.argv[2]),
  protocol: 'http',
  maxNetworkRetries: 2,
  telemetry: false,
});
const charge = (amount) => client.charges.create(
  {amount, currency: 'eur'}, {idempotencyKey: 'order-17'});

charge(1000)
  .then(() => charge(2000))
  .then(() => ({}), (error) => (
    {type: error.type, status: error.statusCode, code: error.code}))
  .then((result) => {
    console.log(JSON.stringify(result));
    process.exit(); // idle connections would keep node waiting
  });

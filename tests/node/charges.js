// SPDX-License-Identifier: BSD-2-Clause
// Creates charges with the stripe client and prints what became of each.
//   node charges.js PORT COUNT RETRIES
'use strict';
const stripe = require('stripe');
const Stripe = stripe.default || stripe;

const [port, count, retries] = process.argv.slice(2).map(Number);
const client = new Stripe('sk_test_onceproxy', {
  host: '127.0.0.1',
  port,
  protocol: 'http',
  maxNetworkRetries: retries,
  telemetry: false,
});

async function charge(number) {
  const description = `charge ${number}`;
  try {
    const made = await client.charges.create({
      amount: 1000 + number,
      currency: 'eur',
      description,
    });
    return {description, id: made.id, amount: made.amount};
  } catch (error) {
    return {description, type: error.type, status: error.statusCode,
      code: error.code};
  }
}

Promise.all(Array.from({length: count}, (_, number) => charge(number)))
  .then((results) => {
    console.log(JSON.stringify(results));
    process.exit(); // idle connections would keep node waiting
  });

// SPDX-License-Identifier: BSD-2-Clause
// Takes webhooks, and prints of each what the standardwebhooks package makes of
// its HMAC, and node's crypto of its Ed25519 signature; the first line is where
// it listens.
//   node receiver.js WHSEC_SECRET WHSK_SEED
'use strict';
const crypto = require('crypto');
const http = require('http');
const {Webhook} = require('standardwebhooks');

const [secret, seed] = process.argv.slice(2);
const webhook = new Webhook(secret);
// PKCS #8 of an Ed25519 key (RFC 8410, section 7) but for its seed.
const head = Buffer.from('302e020100300506032b657004220420', 'hex');
const key = crypto.createPublicKey(crypto.createPrivateKey({
  key: Buffer.concat([head, Buffer.from(seed.slice(5), 'base64')]),
  format: 'der',
  type: 'pkcs8',
}));

function isSigned(headers, body) {
  const content = Buffer.concat([Buffer.from(
      `${headers['webhook-id']}.${headers['webhook-timestamp']}.`), body]);
  return headers['webhook-signature'].split(' ').some((signature) =>
    signature.startsWith('v1a,') && crypto.verify(null, content, key,
        Buffer.from(signature.slice(4), 'base64')));
}

function isVerified(headers, body) {
  try {
    webhook.verify(body.toString(), headers);
    return true;
  } catch (error) {
    return false;
  }
}

const server = http.createServer(async (request, response) => {
  const parts = [];
  for await (const part of request)
    parts.push(part);
  const body = Buffer.concat(parts), headers = request.headers;
  console.log(JSON.stringify({id: headers['webhook-id'],
    hmac: isVerified(headers, body), ed25519: isSigned(headers, body),
    changed: isVerified(headers, Buffer.concat([body, Buffer.from(' ')]))}));
  response.writeHead(204).end();
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));

// SPDX-License-Identifier: BSD-2-Clause
// The consumer of a Redis stream that one would write in Node: a mark for each
// key by SET NX, the request, XACK.
// node consumer.js REDIS-SOCKET UPSTREAM STREAM before|after
// before: the mark is set before the request, so that nothing is executed
// twice; after: when there is an answer, so that nothing is lost.
"use strict";
const { Pool } = require("undici");
const Redis = require("ioredis");

const [socket, upstream, stream, when] = process.argv.slice(2);
const TOKEN = "Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc";
const AT_ONCE = 64, GROUP = "consumers", NAME = "consumer";
const redis = new Redis({ path: socket, enableAutoPipelining: true });
const taker = new Redis({ path: socket });
const pool = new Pool(upstream, { connections: AT_ONCE });

async function call(fields) {
	const sent = await pool.request({ path: "/v1/charges/s200",
		method: "POST", body: fields.body, headers: {
			"content-type": "application/json",
			authorization: TOKEN, "user-agent": "bench/1.0",
			accept: "application/json",
			"idempotency-key": fields["idempotency-key"] } });
	await sent.body.text();
	if (sent.statusCode >= 400)
		throw new Error(`status ${sent.statusCode}`);
}

const mark = (name) => redis.set(name, "1", "EX", 86400, "NX");

async function once(fields) {
	const name = stream + ":done:" + fields["idempotency-key"];
	if (when === "before") {
		if (await mark(name) === null)
			return;
		try {
			await call(fields);
		} catch (error) {
			await redis.del(name);
			throw error;
		}
	} else if (await redis.get(name) === null) {
		await call(fields);
		await mark(name);
	}
}

async function finish([id, flat]) {
	const fields = {};
	for (let i = 0; i < flat.length; i += 2)
		fields[flat[i]] = flat[i + 1];
	await once(fields);
	await redis.xack(stream, GROUP, id);
}

// What is pending for this consumer comes first, then what is new.
async function read(from) {
	const got = await taker.xreadgroup("GROUP", GROUP, NAME, "COUNT",
		AT_ONCE, "BLOCK", 5000, "STREAMS", stream, from);
	return got ? got[0][1] : [];
}

async function main() {
	try {
		await redis.xgroup("CREATE", stream, GROUP, "0", "MKSTREAM");
	} catch (error) {
		if (!error.message.startsWith("BUSYGROUP"))
			throw error;
	}
	let from = "0";
	for (;;) {
		const entries = await read(from);
		if (from === "0" && entries.length === 0)
			from = ">";
		await Promise.all(entries.map(finish));
	}
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});

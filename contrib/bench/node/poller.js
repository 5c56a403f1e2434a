// SPDX-License-Identifier: BSD-2-Clause
// The poller of an outbox that one would write in Node: rows are locked, sent
// and deleted in one transaction.  node poller.js POSTGRES-FOLDER UPSTREAM
"use strict";
const { Pool } = require("undici");
const { Client } = require("pg");

const [folder, upstream] = process.argv.slice(2);
const TOKEN = "Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc";
const AT_ONCE = 64, POLL_MS = 500;
const client = new Client({ host: folder, user: "postgres",
	database: "postgres" });
const pool = new Pool(upstream, { connections: AT_ONCE });

async function call(row) {
	const sent = await pool.request({ path: "/v1/charges/s200",
		method: "POST", body: JSON.stringify(row.payload), headers: {
			"content-type": "application/json",
			authorization: TOKEN, "user-agent": "bench/1.0",
			accept: "application/json",
			"idempotency-key": row.headers["Idempotency-Key"] } });
	await sent.body.text();
	if (sent.statusCode >= 400)
		throw new Error(`status ${sent.statusCode}`);
}

async function batch() {
	await client.query("BEGIN");
	const { rows } = await client.query(
		"SELECT id, payload, headers FROM outbox ORDER BY id " +
		"LIMIT $1 FOR UPDATE SKIP LOCKED", [AT_ONCE]);
	await Promise.all(rows.map(call));
	await client.query("DELETE FROM outbox WHERE id = ANY($1)",
		[rows.map((row) => row.id)]);
	await client.query("COMMIT");
	return rows.length;
}

async function main() {
	await client.connect();
	for (;;)
		if (await batch() === 0)
			await new Promise((wake) => setTimeout(wake, POLL_MS));
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});

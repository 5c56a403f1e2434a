// SPDX-License-Identifier: BSD-2-Clause
// The gateway that one would write in Node: claim in Redis, forward, store,
// answer.  node gateway.js PORT REDIS-SOCKET UPSTREAM
"use strict";
const http = require("node:http");
const { createHash } = require("node:crypto");
const { Pool } = require("undici");
const Redis = require("ioredis");

const [port, socket, upstream] = process.argv.slice(2);
const redis = new Redis({ path: socket, enableAutoPipelining: true });
redis.defineCommand("claim", { numberOfKeys: 1, lua:
	"local got = redis.call('GET', KEYS[1]) if got then return got end " +
	"redis.call('SET', KEYS[1], 'P' .. ARGV[1], 'PX', " +
	"86400000) return ''" });
const pool = new Pool(upstream, { connections: 512 });
const md5 = (text) => createHash("md5").update(text).digest("hex");

function answer(res, status, headers, body) {
	res.writeHead(status, headers);
	res.end(body);
}

async function serve(req, res, body) {
	const key = req.headers["idempotency-key"];
	const tenant = req.headers.authorization;
	if (!key || !tenant)
		return answer(res, 400, {}, "");
	const print = md5(req.method + req.url + body);
	const name = "node:" + md5(tenant.length + ":" + tenant + key);
	const got = await redis.claim(name, print);
	if (got) {
		if (got[0] === "P")
			return answer(res, 409, {}, "");
		if (got.slice(1, 33) !== print)
			return answer(res, 422, {}, "");
		const kept = JSON.parse(got.slice(33));
		return answer(res, kept.status,
			{ ...kept.headers, "Idempotent-Replayed": "true" },
			kept.body);
	}
	const sent = await pool.request({ path: req.url, method: req.method,
		body, headers: { "content-type": req.headers["content-type"],
			authorization: tenant, "idempotency-key": key } });
	const text = await sent.body.text();
	const headers = { "content-type": sent.headers["content-type"] };
	const record = { status: sent.statusCode, headers, body: text };
	await redis.set(name, "C" + print + JSON.stringify(record),
		"PX", 86400000);
	return answer(res, sent.statusCode, headers, text);
}

http.createServer((req, res) => {
	let body = "";
	req.setEncoding("utf8");
	req.on("data", (part) => { body += part; });
	req.on("end", () => serve(req, res, body).catch((error) => {
		console.error(error);
		answer(res, 502, {}, "");
	}));
}).listen(Number(port), "127.0.0.1");

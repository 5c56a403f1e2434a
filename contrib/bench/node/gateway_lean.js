// SPDX-License-Identifier: BSD-2-Clause
// What a skilled user of Node would run instead of onceproxy: as gateway.js,
// but the claim is SET NX GET (Redis 7), completion is a script that compares
// the owner and the fingerprint, the record is packed bytes (as in
// nginx_lean.lua), and undici's dispatch() is used without streams.
// node gateway_lean.js PORT REDIS-SOCKET UPSTREAM
"use strict";
const http = require("node:http");
const { createHash, randomBytes } = require("node:crypto");
const { Pool } = require("undici");
const Redis = require("ioredis");

const LEASE_MS = 60000, RETENTION_MS = 86400000;
// What belongs to a connection, or what Node writes by itself.
const OWN = new Set(["connection", "transfer-encoding", "content-length",
	"date", "server", "keep-alive"]);

const [port, socket, upstream] = process.argv.slice(2);
const redis = new Redis({ path: socket, enableAutoPipelining: true });
redis.defineCommand("complete", { numberOfKeys: 1, lua:
	"if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end " +
	"redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1" });
const pool = new Pool(upstream, { connections: 512 });
const me = randomBytes(8).toString("latin1");
let count = 0;

const md5 = (first, second) => {
	const hash = createHash("md5").update(first);
	return (second ? hash.update(second) : hash).digest("latin1");
};
const only = (parts) => parts.length === 1 ? parts[0] : Buffer.concat(parts);

function refuse(res, status) {
	res.writeHead(status, { "Content-Length": 0 });
	res.end();
}

function replay(res, record) {
	const head = record.latin1Slice(17, 23);
	const from = 23 + Number(head.slice(3));
	const fields = ["Idempotent-Replayed", "true",
		"Content-Length", record.length - from];
	for (const line of record.latin1Slice(23, from).split("\n")) {
		const at = line.indexOf(":");
		if (at > 0)
			fields.push(line.slice(0, at), line.slice(at + 1));
	}
	res.writeHead(Number(head.slice(0, 3)), fields);
	res.end(record.subarray(from));
}

async function finish(res, name, pending, print, status, raw, body) {
	const fields = ["Content-Length", body.length];
	let lines = "";
	for (let i = 0; i < raw.length; i += 2) {
		const field = raw[i].latin1Slice();
		if (OWN.has(field.toLowerCase()))
			continue;
		const value = raw[i + 1].latin1Slice();
		lines += field + ":" + value + "\n";
		fields.push(field, value);
	}
	const head = Buffer.from("C" + print + status +
		String(lines.length).padStart(3, "0") + lines, "latin1");
	const done = await redis.complete(name, pending,
		Buffer.concat([head, body]), RETENTION_MS);
	if (done !== 1)
		return refuse(res, 503);
	res.writeHead(status, fields);
	res.end(body);
}

function forward(req, res, body, name, pending, print) {
	const parts = [];
	let status, raw;
	pool.dispatch({ path: req.url, method: req.method, body, headers: {
		"content-type": req.headers["content-type"],
		authorization: req.headers.authorization,
		"idempotency-key": req.headers["idempotency-key"] } }, {
		onConnect() {},
		onHeaders(code, fields) {
			status = code;
			raw = fields;
			return true;
		},
		onData(part) {
			parts.push(part);
			return true;
		},
		onComplete() {
			finish(res, name, pending, print, status, raw,
				only(parts)).catch(() => refuse(res, 503));
		},
		// It may have been executed: the claim stays until it expires.
		onError() { refuse(res, 502); },
	});
}

async function serve(req, res, body) {
	const key = req.headers["idempotency-key"];
	const tenant = req.headers.authorization;
	if (!key || !tenant)
		return refuse(res, 400);
	const print = md5(req.method + req.url, body);
	const name = "nodelean:" + md5(tenant.length + ":" + tenant + key);
	const pending = Buffer.from("P" + print + me + ++count, "latin1");
	const got = await redis.setBuffer(name, pending, "PX", LEASE_MS, "NX",
		"GET");
	if (!got)
		return forward(req, res, body, name, pending, print);
	if (got.latin1Slice(1, 17) !== print)
		return refuse(res, 422);
	if (got[0] === 0x50)
		return refuse(res, 409);
	return replay(res, got);
}

http.createServer((req, res) => {
	const parts = [];
	req.on("data", (part) => parts.push(part));
	req.on("end", () => serve(req, res, only(parts)).catch((error) => {
		console.error(error);
		refuse(res, 503);
	}));
}).listen(Number(port), "127.0.0.1");

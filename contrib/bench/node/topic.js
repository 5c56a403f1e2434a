// SPDX-License-Identifier: BSD-2-Clause
// The consumer of a Kafka topic that one would write in Node with kafkajs: a
// mark for each key by SET NX, the request, and the offsets of a batch; with
// RESULTS, the answers and the offsets in one transaction.
// node topic.js REDIS-SOCKET UPSTREAM HOST:PORT TOPIC before|after [RESULTS]
// before: the mark is set before the request, so that nothing is executed
// twice; after: when there is an answer, so that nothing is lost.
"use strict";
const { setTimeout } = require("timers/promises");
const { Pool } = require("undici");
const Redis = require("ioredis");
const { Kafka, logLevel } = require("kafkajs");

const [socket, upstream, broker, topic, when, results] =
	process.argv.slice(2);
const TOKEN = "Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc";
const AT_ONCE = 64, AT_MOST = 500, GROUP = "consumers";
const redis = new Redis({ path: socket, enableAutoPipelining: true });
const pool = new Pool(upstream, { connections: AT_ONCE });
const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.ERROR });
const consumer = kafka.consumer({ groupId: GROUP, sessionTimeout: 3000,
	heartbeatInterval: 500 });
const producer = results && kafka.producer({ idempotent: true,
	transactionalId: topic + "-results", maxInFlightRequests: 1 });

async function call(key, body) {
	const sent = await pool.request({ path: "/v1/charges/s200",
		method: "POST", body, headers: {
			"content-type": "application/json",
			authorization: TOKEN, "user-agent": "bench/1.0",
			accept: "application/json",
			"idempotency-key": key } });
	const answer = await sent.body.text();
	if (sent.statusCode >= 400)
		throw new Error(`status ${sent.statusCode}`);
	return answer;
}

// Not more at once than that in all partitions: a mark that is set long before
// its request is sent would be lost with the process.
let free = AT_ONCE;
const waiting = [];

async function inTurn(act) {
	if (free > 0)
		free--;
	else
		await new Promise((resolve) => waiting.push(resolve));
	try {
		return await act();
	} finally {
		const next = waiting.shift();
		if (next)
			next();
		else
			free++;
	}
}

// The answer, or null where there is a mark.
async function once(message) {
	const key = message.headers["idempotency-key"].toString();
	const name = topic + ":done:" + key;
	const mark = () => redis.set(name, "1", "EX", 86400, "NX");
	if (when === "before") {
		if (await mark() === null)
			return null;
		try {
			return await call(key, message.value);
		} catch (error) {
			await redis.del(name);
			throw error;
		}
	}
	if (await redis.get(name) !== null)
		return null;
	const answer = await call(key, message.value);
	await mark();
	return answer;
}

async function put(partition, messages, answers) {
	const offset = (BigInt(messages.at(-1).offset) + 1n).toString();
	const records = messages.flatMap((message, i) => answers[i] === null ?
		[] : [{ key: message.key, value: answers[i] }]);
	const transaction = await producer.transaction();
	try {
		if (records.length > 0)
			await transaction.send({ topic: results,
				messages: records });
		await transaction.sendOffsets({ consumerGroupId: GROUP,
			topics: [{ topic, partitions: [
				{ partition, offset }] }] });
		await transaction.commit();
	} catch (error) {
		await transaction.abort();
		throw error;
	}
}

// kafkajs does not wait itself until the last one has ended at the broker.
async function putUntilDone(...args) {
	for (;;) {
		try {
			return await put(...args);
		} catch (error) {
			if (error.type !== "CONCURRENT_TRANSACTIONS")
				throw error;
			await setTimeout(10);
		}
	}
}

// Transactions of one producer come one after the other.
let before = Promise.resolve();

function inTransaction(...args) {
	const mine = before.then(() => putUntilDone(...args));
	before = mine.catch(() => {});
	return mine;
}

async function eachBatch({ batch, resolveOffset, heartbeat, isRunning,
	commitOffsetsIfNecessary, isStale }) {
	const messages = batch.messages;
	for (let i = 0; i < messages.length; i += AT_MOST) {
		const part = messages.slice(i, i + AT_MOST);
		if (!isRunning() || isStale())
			return;
		const answers = await Promise.all(part.map(
			(message) => inTurn(() => once(message))));
		if (results)
			await inTransaction(batch.partition, part, answers);
		resolveOffset(part.at(-1).offset);
		if (!results)
			await commitOffsetsIfNecessary();
		await heartbeat();
	}
}

async function main() {
	if (producer)
		await producer.connect();
	await consumer.connect();
	await consumer.subscribe({ topics: [topic], fromBeginning: true });
	await consumer.run({ eachBatch, eachBatchAutoResolve: false,
		autoCommit: !results, partitionsConsumedConcurrently: 4 });
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});

// SPDX-License-Identifier: BSD-2-Clause
// Traffic by outcome: a stacked bar for every few seconds.

const SLOT_MS = 5000;
const SLOTS = WINDOW_MS / SLOT_MS;

// All outcomes that an access line may have, in groups that are drawn.
const GROUPS = [
	["executed", "Executed", ["executed"]],
	["replayed", "Replayed", ["replayed", "waited", "fenced",
		"looked-up"]],
	["passed", "Passed through", ["passed", "preflight"]],
	["refused", "Refused", ["in-flight", "entity-busy", "stale",
		"mismatch", "key-missing", "key-invalid", "scope-missing",
		"token-invalid", "exhausted", "not-kept", "no-route",
		"bad-request", "too-large"]],
	["failed", "Failed", ["released", "unreachable", "upstream-failed",
		"store-down", "token-unverified", "overloaded", "draining"]],
	["unknown", "Unknown", ["unknown"]],
];

const slots = new Map(); // number of the slot: {outcome: requests}
let counted = null; // {at, counts, started}: the last look

function addTo(slot, outcome, requests) {
	if (!slots.has(slot))
		slots.set(slot, {});
	const of = slots.get(slot);
	of[outcome] = (of[outcome] || 0) + requests;
}

// What came since the last look is spread over the time since then, so that
// a tab that slept draws no peak.
function count(samples, now) {
	const counts = outcomesOf(samples);
	const started = valueOf(samples, "process_start_time_seconds");
	const from = counted && counted.started === started ? counted : null;
	for (const outcome of from ? Object.keys(counts) : []) {
		const came = counts[outcome] - (from.counts[outcome] || 0);
		const first = Math.floor(from.at / SLOT_MS);
		const last = Math.floor(now / SLOT_MS);
		for (let slot = first; slot <= last && came > 0; slot++) {
			const ms = Math.min(now, (slot + 1) * SLOT_MS)
				- Math.max(from.at, slot * SLOT_MS);
			addTo(slot, outcome, came * ms
				/ Math.max(now - from.at, 1));
		}
	}
	counted = {at: now, counts, started};
	for (const slot of slots.keys())
		if (slot <= Math.floor(now / SLOT_MS) - SLOTS)
			slots.delete(slot);
}

function inGroup(requests, outcomes) {
	return outcomes.reduce((sum, o) => sum + (requests[o] || 0), 0);
}

function lastMinutes() {
	const sums = {};
	for (const requests of slots.values())
		for (const outcome of Object.keys(requests))
			sums[outcome] = (sums[outcome] || 0)
				+ requests[outcome];
	return sums;
}

// 1, 2 or 5 times a power of ten, and not below.
function niceTop(value) {
	const power = 10 ** Math.floor(Math.log10(Math.max(value, 0.1)));
	return [1, 2, 5, 10].map(n => n * power).find(n => n >= value) || 1;
}

function number(value) {
	return value.toLocaleString("en", {maximumSignificantDigits: 3});
}

function drawChart(now) {
	const last = Math.floor(now / SLOT_MS);
	const sums = [...slots.values()].map(requests => GROUPS.reduce(
		(sum, group) => sum + inGroup(requests, group[2]), 0));
	const top = niceTop(Math.max(0, ...sums) / (SLOT_MS / 1000));
	const scale = 160 / (top * SLOT_MS / 1000);
	const bars = [];
	for (const [slot, requests] of slots) {
		let y = 160;
		for (const [name, , outcomes] of GROUPS) {
			const n = inGroup(requests, outcomes);
			if (n === 0)
				continue;
			// One unknown of a thousand has to be seen too.
			const height = Math.max(n * scale, 2);
			y -= height;
			bars.push(makeSvg("rect", {class: name,
				x: (SLOTS - 1 - last + slot) * 10 + 1, y,
				width: 8, height}));
		}
	}
	el("chart").replaceChildren(...bars);
	el("top").textContent = number(top) + " /s";
}

function showTraffic(samples, now) {
	count(samples, now);
	drawChart(now);
	const recent = lastMinutes();
	const total = outcomesOf(samples);
	const words = GROUPS.map(([name, title, outcomes]) =>
		[name, title, Math.round(inGroup(recent, outcomes))]);
	el("chart").setAttribute("aria-label",
		"Requests in the last 5 minutes: " + words
			.map(([, title, n]) => `${title} ${n}`).join(", "));
	el("legend").replaceChildren(...words.map(([name, title, n]) =>
		make("li", {}, make("span", {class: "swatch " + name}), title,
			make("b", {class: "n"}, String(n)))));
	el("outcomes").replaceChildren(...Object.keys(total).sort().map(
		outcome => make("tr", {}, make("th", {scope: "row"}, outcome),
			make("td", {class: "n"},
				String(Math.round(recent[outcome] || 0))),
			make("td", {class: "n"}, String(total[outcome])))));
}

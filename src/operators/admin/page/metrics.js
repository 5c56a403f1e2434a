// SPDX-License-Identifier: BSD-2-Clause
"use strict";

// What GET /metrics tells, taken apart.

const WINDOW_MS = 5 * 60 * 1000;

// {name: [{labels, value}, ...]}
function parseMetrics(text) {
	const samples = {};
	for (const line of text.split("\n")) {
		const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
		if (!match)
			continue;
		const labels = {};
		const pairs = (match[2] || "").matchAll(
			/([a-z]+)="((?:[^"\\]|\\.)*)"/g);
		for (const [, name, value] of pairs)
			labels[name] = value.replace(/\\(.)/g,
				(_, c) => c === "n" ? "\n" : c);
		samples[match[1]] ||= [];
		samples[match[1]].push({labels, value: Number(match[3])});
	}
	return samples;
}

// The value of a metric without labels, or of the one that has these.
function valueOf(samples, name, labels = {}) {
	const found = (samples[name] || []).find(s => Object.keys(labels)
		.every(label => s.labels[label] === labels[label]));
	return found ? found.value : null;
}

// {outcome: requests}, all routes together.
function outcomesOf(samples) {
	const counts = {};
	for (const {labels, value} of samples.onceproxy_requests_total || [])
		counts[labels.outcome] = (counts[labels.outcome] || 0) + value;
	return counts;
}

// {value of the label: {bounds, counts}}; counts are of "le" and below.
function histogramsOf(samples, name, label) {
	const found = {};
	for (const {labels, value} of samples[name + "_bucket"] || []) {
		const of = found[labels[label]] ||= {bounds: [], counts: []};
		of.bounds.push(labels.le === "+Inf" ? Infinity
			: Number(labels.le));
		of.counts.push(value);
	}
	return found;
}

// What came since an earlier look; all of it where there was none.
function since(now, before) {
	if (!before || before.counts.length !== now.counts.length)
		return now;
	const counts = now.counts.map((n, i) => n - before.counts[i]);
	return counts.some(n => n < 0) ? now : {bounds: now.bounds, counts};
}

function totalOf(histogram) {
	return histogram.counts[histogram.counts.length - 1];
}

// Seconds, even within a bucket, as Prometheus' histogram_quantile has it;
// Infinity beyond the last bound.
function quantile(histogram, q) {
	const {bounds, counts} = histogram;
	const rank = q * totalOf(histogram);
	const i = counts.findIndex(n => n >= rank);
	if (bounds[i] === Infinity)
		return Infinity;
	const below = i > 0 ? counts[i - 1] : 0;
	const low = i > 0 ? bounds[i - 1] : 0;
	return low + (bounds[i] - low) * (rank - below)
		/ Math.max(counts[i] - below, 1);
}

function inSeconds(seconds, histogram) {
	if (seconds === Infinity)
		return "> " + histogram.bounds[histogram.bounds.length - 2]
			+ " s";
	const ms = seconds * 1000;
	if (ms < 10)
		return ms.toFixed(1) + " ms";
	return ms < 1000 ? ms.toFixed(0) + " ms" : seconds.toFixed(1) + " s";
}

// Looks of the last minutes, some seconds apart, for "since then".
const looks = [];

function remember(samples, now) {
	const started = valueOf(samples, "process_start_time_seconds");
	if (looks.length > 0 && looks[0].started !== started)
		looks.length = 0; // another process
	while (looks.length > 1 && looks[1].at <= now - WINDOW_MS)
		looks.shift();
	if (looks.length === 0 || now - looks[looks.length - 1].at >= 10000)
		looks.push({at: now, started, samples});
	return looks[0].samples;
}

const LATENCIES = [
	["Requests", "onceproxy_request_seconds", "route"],
	["Upstreams", "onceproxy_upstream_seconds", "upstream"],
	["Redis", "onceproxy_store_seconds", "operation"],
];
// What the gateway asks Redis for its own sake, and this page's.
const ASIDE = ["count", "due", "list", "look"];

function latencyRows(samples, before) {
	const rows = [];
	for (const [kind, name, label] of LATENCIES) {
		const all = histogramsOf(samples, name, label);
		const old = before ? histogramsOf(before, name, label) : {};
		const of = Object.keys(all)
			.map(key => [key, since(all[key], old[key])])
			.filter(([key, histogram]) => totalOf(histogram) > 0 &&
				!(kind === "Redis" && ASIDE.includes(key)));
		if (of.length > 0)
			rows.push([kind, of]);
	}
	return rows;
}

function showLatency(samples, before) {
	const busy = outcomesOf(samples), was = outcomesOf(before);
	const recent = Object.keys(busy).some(
		outcome => busy[outcome] !== (was[outcome] || 0));
	const rows = latencyRows(samples, recent ? before : null);
	el("latency-hint").textContent = recent
		? "The last 5 minutes, while this page was open."
		: "Since the gateway started.";
	el("latency-none").hidden = rows.length > 0;
	el("latency").replaceChildren(...rows.flatMap(([kind, of]) => [
		make("tr", {}, make("td", {class: "kind", colspan: 5}, kind)),
		...of.map(([key, histogram]) => make("tr", {},
			make("th", {scope: "row"}, key),
			make("td", {class: "n"}, String(totalOf(histogram))),
			...[0.5, 0.95, 0.99].map(q => make("td", {class: "n"},
				inSeconds(quantile(histogram, q), histogram)))))
	]));
}

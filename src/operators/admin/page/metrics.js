// SPDX-License-Identifier: BSD-2-Clause
// What GET /metrics tells, taken apart.

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
	return {bounds: now.bounds,
		counts: now.counts.map((n, i) => n - before.counts[i])};
}

// Of lists that tell how many there are in each step, as GET /traffic has it.
function histogramOf(bounds, lists) {
	let sum = 0;
	const counts = [...bounds, Infinity].map((_, i) => sum +=
		lists.reduce((n, list) => n + (list[i] || 0), 0));
	return {bounds: [...bounds, Infinity], counts};
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

function latencyRow(name, histogram) {
	return make("tr", {}, make("th", {scope: "row"}, name),
		make("td", {class: "n"}, number(totalOf(histogram))),
		...[0.5, 0.95, 0.99].map(q => make("td", {class: "n"},
			inSeconds(quantile(histogram, q), histogram))));
}

// --- each route, upstream and operation -------------------------------------

const EACH = [
	["Routes", "onceproxy_request_seconds", "route"],
	["Upstreams", "onceproxy_upstream_seconds", "upstream"],
	["Redis", "onceproxy_store_seconds", "operation"],
];
let opened = null; // {at, started, samples}: the first look

// Since the page was opened, where there were any since.
function showEach(samples, now) {
	const started = valueOf(samples, "process_start_time_seconds");
	if (opened === null || opened.started !== started)
		opened = {at: now, started, samples};
	const rows = old => EACH.map(([kind, name, label]) => {
		const before = histogramsOf(old, name, label);
		return [kind, Object.entries(histogramsOf(samples, name, label))
			.map(([key, all]) => [key, since(all, before[key])])
			.filter(([, histogram]) => totalOf(histogram) > 0)];
	}).filter(([, of]) => of.length > 0);
	const recent = rows(opened.samples);
	const busy = recent.some(([kind]) => kind === "Routes");
	put(el("each-title"), busy
		? "Since you opened this page, " + clockOf(opened.at)
		: "Since the gateway started");
	el("each").replaceChildren(...(busy ? recent : rows({})).flatMap(
		([kind, of]) => [make("tr", {}, make("td",
			{class: "kind", colspan: 5}, kind)),
		...of.map(([key, histogram]) => latencyRow(key, histogram))]));
}

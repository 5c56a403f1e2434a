// SPDX-License-Identifier: BSD-2-Clause
// The last hour, which the gateway remembers: a bar for every minute.

const MINUTE_MS = 60000;
const MINUTES = 61; // the last one is the one that runs
const HEIGHT = 160;

// All outcomes that an access line may have, in groups that are drawn.
const GROUPS = [
	["executed", "Executed", ["executed"]],
	["replayed", "Replayed", ["replayed", "waited", "fenced",
		"looked-up"]],
	["passed", "Passed", ["passed", "preflight"]],
	["refused", "Refused", ["in-flight", "entity-busy", "stale",
		"mismatch", "key-missing", "key-invalid", "scope-missing",
		"token-invalid", "exhausted", "not-kept", "no-route",
		"bad-request", "too-large"]],
	["failed", "Failed", ["released", "unreachable", "upstream-failed",
		"store-down", "token-unverified", "overloaded", "draining"]],
	["unknown", "Unknown", ["unknown"]],
];

function inGroup(requests, outcomes) {
	return outcomes.reduce((sum, o) => sum + (requests[o] || 0), 0);
}

function sumOf(minutes) {
	const sums = {};
	for (const {outcomes} of minutes)
		for (const [outcome, n] of Object.entries(outcomes))
			sums[outcome] = (sums[outcome] || 0) + n;
	return sums;
}

// 1, 2 or 5 times a power of ten, and not below.
function niceTop(value) {
	const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
	return [1, 2, 5, 10].map(n => n * power).find(n => n >= value);
}

function number(value) {
	return value.toLocaleString("en");
}

// A bar of that minute; how many minutes it is ago tells where.
function bar(kind, minute, now, y, height) {
	const ago = Math.round((Date.parse(now.from) - Date.parse(minute.from))
		/ MINUTE_MS);
	return makeSvg("rect", {class: kind, x: (MINUTES - 1 - ago) * 10 + 1,
		y, width: 8, height});
}

function trafficBars(minutes) {
	const now = minutes[minutes.length - 1];
	const top = niceTop(Math.max(...minutes.map(({outcomes}) =>
		Object.values(outcomes).reduce((sum, n) => sum + n, 0))));
	put(el("top"), number(top));
	return minutes.flatMap(minute => {
		let y = HEIGHT;
		return GROUPS.flatMap(([kind, , outcomes]) => {
			const n = inGroup(minute.outcomes, outcomes);
			if (n === 0)
				return [];
			// One unknown of a thousand has to be seen too.
			const height = Math.max(n * HEIGHT / top, 2);
			y -= height;
			return [bar(kind, minute, now, y, height)];
		});
	});
}

// From 1 ms at the bottom to 100 s at the top, by powers of ten.
function heightOf(seconds) {
	const decades = Math.log10(Math.min(seconds, 100) / 0.001);
	return HEIGHT * Math.max(decades, 0) / 5;
}

function latencyBars(minutes, bounds) {
	const now = minutes[minutes.length - 1];
	return minutes.filter(({requests}) => requests.length > 0)
		.flatMap(minute => {
			const all = histogramOf(bounds, [minute.requests]);
			const [low, high, top] = [0.5, 0.95, 0.99].map(q =>
				heightOf(quantile(all, q)));
			return [["tail", high, top], ["body", low, high]].map(
				([kind, from, to]) => bar(kind, minute, now,
					HEIGHT - Math.max(to, from + 2),
					Math.max(to - from, 2)));
		});
}

function showOutcomes(minutes, samples) {
	const total = outcomesOf(samples), hour = sumOf(minutes);
	const recent = sumOf(minutes.slice(-5));
	const words = GROUPS.map(([kind, title, outcomes]) =>
		[kind, title, number(inGroup(hour, outcomes))]);
	el("chart").setAttribute("aria-label",
		"Requests in the last hour: " + words
			.map(([, title, n]) => `${title} ${n}`).join(", "));
	el("legend").replaceChildren(...words.map(([kind, title, n]) =>
		make("li", {}, make("span", {class: "swatch " + kind}), title,
			make("b", {class: "n"}, n))));
	el("outcomes").replaceChildren(...Object.keys(total).sort().map(
		outcome => make("tr", {}, make("th", {scope: "row"}, outcome),
			...[recent, hour, total].map(of => make("td",
				{class: "n"}, String(of[outcome] || 0))))));
}

function showHour({minutes, bounds, now}, samples) {
	const first = Date.parse(minutes[0].from);
	const at = Date.parse(now);
	for (const part of document.querySelectorAll(".short"))
		put(part, minutes.length < MINUTES
			? `, since ${clockOf(first)}, when it started` : "");
	for (const axis of document.querySelectorAll(".clock"))
		axis.replaceChildren(...[60, 45, 30, 15].map(ago =>
			make("span", {}, clockOf(at - ago * MINUTE_MS, false))),
		make("span", {}, "now"));
	el("chart").replaceChildren(...trafficBars(minutes));
	el("times").replaceChildren(...latencyBars(minutes, bounds));
	showOutcomes(minutes, samples);
	const rows = [["Requests", "requests"], ["Upstreams", "upstreams"],
		["Redis", "redis"]].map(([title, name]) => [title,
		histogramOf(bounds, minutes.map(minute => minute[name]))])
		.filter(([, histogram]) => totalOf(histogram) > 0);
	el("latency").replaceChildren(...rows.map(([title, histogram]) =>
		latencyRow(title, histogram)));
	el("latency-none").hidden = rows.length > 0;
	el("times").setAttribute("aria-label", "Latency in the last hour"
		+ rows.slice(0, 1).map(([, all]) => [0.5, 0.95, 0.99].map(q =>
			`, p${q * 100} ${inSeconds(quantile(all, q), all)}`)
			.join("")).join(""));
}

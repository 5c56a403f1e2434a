// SPDX-License-Identifier: BSD-2-Clause
// The page: what it asks the admin interface for, and when.

const SAMPLE_MS = 2000;
let timer = null;
let turn = 0; // number of the last look that was begun
let counts = null; // of unknown and failed keys, as last said

// Markup is never made of text: there are no other ways than these.
function el(id) {
	return document.getElementById(id);
}

function fill(node, attributes, children) {
	for (const name of Object.keys(attributes))
		node.setAttribute(name, attributes[name]);
	node.append(...children);
	return node;
}

function make(tag, attributes, ...children) {
	return fill(document.createElement(tag), attributes, children);
}

function makeSvg(tag, attributes) {
	return fill(document.createElementNS("http://www.w3.org/2000/svg", tag),
		attributes, []);
}

function say(words) {
	el("said").textContent = words;
}

// --- asking ---------------------------------------------------------------

class Refused extends Error {
	constructor(status, words) {
		super(words);
		this.status = status;
	}
}

function fieldsOf(body) {
	const fields = {};
	const token = sessionStorage.getItem("token");
	if (token !== null)
		fields.Authorization = "Bearer " + token;
	if (body !== undefined)
		fields["Content-Type"] = "application/json";
	return fields;
}

async function problemOf(response) {
	try {
		const problem = await response.json();
		return problem.detail || problem.title;
	} catch {
		return `The gateway answered ${response.status}.`;
	}
}

// The answer: its JSON or text, and the gateway's clock.
async function ask(method, path, body) {
	const response = await fetch(path, {method, headers: fieldsOf(body),
		body: body === undefined ? undefined : JSON.stringify(body)});
	if (!response.ok && path !== "/readyz")
		throw new Refused(response.status, await problemOf(response));
	const text = await response.text();
	const type = response.headers.get("Content-Type") || "";
	return {
		text,
		json: type.startsWith("application/json") ? JSON.parse(text)
			: null,
		now: Date.parse(response.headers.get("Date")) || Date.now(),
	};
}

// --- the tiles ------------------------------------------------------------

function tile(title, value, more, kind) {
	return make("div", {class: kind || ""}, make("dt", {}, title),
		make("dd", {}, value), make("dd", {}, more));
}

function countWord(n) {
	return n === null ? "?" : number(n);
}

function storeTile(status) {
	const {state, redis, fault, error} = status.store;
	if (fault)
		return tile("Redis", "Not trusted", fault, "bad");
	return state === "up" ? tile("Redis", "Up", redis || "")
		: tile("Redis", "Down", error || redis || "", "bad");
}

function journalTile({entries, writable, blocked}) {
	const more = entries > 0 ? "outcomes that Redis has not accepted yet"
		: "Redis has every outcome";
	if (!writable)
		return tile("Journal", "Not writable",
			"new claims are refused", "bad");
	if (blocked > 0)
		return tile("Journal", number(entries),
			`${number(blocked)} of damaged records`, "bad");
	return tile("Journal", entries > 0 ? number(entries) : "Empty", more,
		entries > 0 ? "warn" : "");
}

function showTiles(status, samples) {
	const gauge = (name, labels) => valueOf(samples, "onceproxy_" + name,
		labels);
	const unknown = gauge("records", {state: "UNKNOWN"});
	const failed = gauge("records", {state: "FAILED"});
	const waiting = gauge("waiting");
	el("tiles").replaceChildren(
		storeTile(status),
		journalTile(status.journal),
		tile("In flight", countWord(gauge("in_flight")),
			waiting > 1
				? `${number(waiting)} retries wait for their `
					+ "first request"
				: `${waiting ? 1 : "no"} retry waits for its `
					+ "first request"),
		tile("Unknown", countWord(unknown), "across all gateways",
			unknown ? "bad" : ""),
		tile("Failed", countWord(failed), "across all gateways",
			failed ? "warn" : ""));
	sayCounts(unknown, failed);
}

// The title is what is seen of a tab in the background; what changes is said
// to those who hear the page.
function sayCounts(unknown, failed) {
	const sum = unknown === null ? "?" : unknown + (failed || 0);
	document.title = (sum !== 0 ? `(${sum}) ` : "") + "onceproxy";
	if (counts !== null && unknown !== null &&
	    (counts.unknown !== unknown || counts.failed !== failed))
		el("heard").textContent =
			`${unknown} unknown and ${failed} failed keys.`;
	counts = {unknown, failed};
}

function showStatus(status, ready) {
	const up = ageOf(status.uptime_seconds * 1000);
	const workers = status.workers === 1 ? "1 worker"
		: `${status.workers} workers`;
	put(el("about"), `${status.version}, ${workers}, up for ${up}`);
	const {name, read_only: looksOnly} = status.you;
	put(el("you"), name === null ? "" : looksOnly
		? `${name}, who may only look` : name);
	document.body.classList.toggle("looks-only", looksOnly);
	const chip = el("ready");
	const reason = ready.status === "ready" ? "Ready"
		: "Not ready: " + ready.reason;
	put(chip, reason);
	chip.className = "chip " + (ready.status === "ready" ? "good" : "bad");
}

// A reload that was refused is said until one succeeds.
function showRefused({refused}) {
	el("refused").hidden = refused === null;
	if (refused === null)
		return;
	const [{member, line, error}] = refused.errors;
	const where = (line ? `line ${line}, ` : "") + (member || "the file");
	put(el("refused"), "The file of the configuration was refused at "
		+ `${refused.time}, and the old one stays in force: ${where}: `
		+ error);
}

// What a reload did not change is said until a restart, or until the file has
// what runs.
function showRestart({restart}) {
	el("restart").hidden = restart.length === 0;
	put(el("restart"), "The file has been reloaded, but a restart of the "
		+ "gateway is needed for " + restart.map(({member}) => member)
			.join(", ") + ".");
}

// --- the loop -------------------------------------------------------------

function showBoard(shown) {
	const token = sessionStorage.getItem("token");
	el("board").hidden = !shown;
	el("login").hidden = shown;
	el("forget").hidden = !shown || token === null;
}

function askForToken() {
	const had = sessionStorage.getItem("token") !== null;
	sessionStorage.removeItem("token");
	for (const dialog of document.querySelectorAll("dialog"))
		dialog.close();
	showBoard(false);
	put(el("ready"), "Locked");
	el("ready").className = "chip";
	put(el("about"), "");
	put(el("you"), "");
	el("login-error").textContent = had ? "That is not the token." : "";
	el("token").value = "";
	el("token").focus();
}

// All that is shown at a time; Redis may be down: then there is no list.
async function look() {
	const ready = await ask("GET", "/readyz");
	const status = await ask("GET", "/status");
	const metrics = await ask("GET", "/metrics");
	const up = status.json.store.state === "up";
	const keys = up ? await askKeys() : null;
	return {ready, status, metrics, keys, sources: await askSources(),
		relays: await ask("GET", "/relays"),
		observed: await ask("GET", "/observed")};
}

function show(seen) {
	const {ready, status, metrics, keys, sources} = seen;
	const now = Date.now();
	const samples = parseMetrics(metrics.text);
	showBoard(true);
	showStatus(status.json, ready.json);
	showRefused(status.json.configuration);
	showRestart(status.json.configuration);
	showTiles(status.json, samples);
	showTraffic(samples, now);
	showLatency(samples, remember(samples, now));
	showKeys(keys);
	showSources(sources);
	showRelays(seen.relays);
	showWitnesses(status.json.witnesses, status.now);
	showObserved(seen.observed);
	if (document.body.classList.contains("stale")) {
		document.body.classList.remove("stale");
		say("");
	}
}

function showTrouble(trouble) {
	if (trouble.status === 401)
		return askForToken();
	document.body.classList.add("stale");
	put(el("ready"), trouble.status ? "Refused" : "No answer");
	el("ready").className = "chip bad";
	put(el("said"), trouble.status ? trouble.message
		: "The gateway does not answer; what you see is out of date.");
}

// A look that a later one has overtaken is not shown.
async function refresh() {
	const mine = ++turn;
	clearTimeout(timer);
	try {
		const seen = await look();
		if (mine === turn)
			show(seen);
	} catch (trouble) {
		if (mine === turn)
			showTrouble(trouble);
	}
	if (mine === turn && !document.hidden && el("login").hidden)
		timer = setTimeout(refresh, SAMPLE_MS);
}

el("login").addEventListener("submit", event => {
	event.preventDefault();
	sessionStorage.setItem("token", el("token").value.trim());
	refresh();
});
el("forget").addEventListener("click", () => {
	clearTimeout(timer);
	sessionStorage.removeItem("token");
	askForToken();
});
el("held-more").addEventListener("click", () => {
	heldLimit = Math.min(heldLimit + 100, 1000);
	refresh();
});
el("ask-picked").addEventListener("click", () => askAbout(picked()));
el("find").addEventListener("submit", event => {
	event.preventDefault();
	findText = el("find-text").value.trim();
	el("find-end").hidden = findText === "";
	refresh();
});
el("find-end").addEventListener("click", () => {
	findText = el("find-text").value = "";
	el("find-end").hidden = true;
	refresh();
});
document.addEventListener("visibilitychange", () => {
	if (!document.hidden && el("login").hidden)
		refresh();
});
refresh();

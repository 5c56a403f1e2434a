// SPDX-License-Identifier: BSD-2-Clause
// The page: what it asks the admin interface for, and when.

const SAMPLE_MS = 2000;
const OLD_MS = 6000;
let timer = null;
let turn = 0; // number of the last look that was begun
let seenAt = null; // when the last one ended
let counts = null; // what waits for people, as last said

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
	if (!response.ok)
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

// {name, value, more, kind, to}: to is the list that it is about.
function fillTile(item, {name, value, more, kind, to}) {
	const [link, text] = item.querySelector("dd").children;
	item.className = kind || "";
	put(item.querySelector("dt"), name);
	put(link, to ? value : "");
	put(text, to ? "" : value);
	put(item.querySelector(".more"), more);
	if (to) {
		link.href = "#" + to;
		link.setAttribute("aria-label", `${name}: ${value}, ${more}`);
	}
}

function countWord(n) {
	return n === null ? "?" : number(n);
}

function storeTile({state, redis, fault, error}) {
	const tile = {name: "Redis", value: "Up", more: redis || ""};
	if (fault)
		return {...tile, value: "Not trusted", more: fault,
			kind: "bad"};
	return state === "up" ? tile
		: {...tile, value: "Down", more: error || redis || "",
			kind: "bad"};
}

function journalTile({entries, writable, blocked}) {
	const tile = {name: "Journal", value: number(entries), kind: "bad"};
	if (!writable)
		return {...tile, value: "Not writable",
			more: "new claims are refused"};
	if (blocked > 0)
		return {...tile, more: `${number(blocked)} of damaged records`};
	return entries > 0
		? {...tile, kind: "warn",
			more: "outcomes that Redis has not accepted yet"}
		: {...tile, kind: "", value: "Empty",
			more: "Redis has every outcome"};
}

function waitWords(waiting) {
	return waiting > 1
		? `${number(waiting)} retries wait for their first request`
		: `${waiting ? 1 : "no"} retry waits for its first request`;
}

// null: not known, of one source at least; of no sources there are none.
function deadOf(sources) {
	const each = sources === null ? [null]
		: sources.sources.json.sources.map(({dead}) => dead);
	return each.includes(null) ? null
		: each.reduce((sum, dead) => sum + dead, 0);
}

function showTiles(status, samples, sources) {
	const gauge = (name, labels) => valueOf(samples, "onceproxy_" + name,
		labels);
	const unknown = gauge("records", {state: "UNKNOWN"});
	const failed = gauge("records", {state: "FAILED"});
	const dead = deadOf(sources), flying = gauge("in_flight");
	const tiles = [{name: "Unknown", value: countWord(unknown),
		more: "across all gateways", to: "held-title",
		kind: unknown ? "bad" : ""},
	{name: "Failed", value: countWord(failed),
		more: "across all gateways", to: "held-title",
		kind: failed ? "warn" : ""}];
	if (sources === null || sources.messages !== null)
		tiles.push({name: "Dead letters", value: countWord(dead),
			more: "of all sources", to: "sources-title",
			kind: dead ? "bad" : ""});
	tiles.push({name: "In flight", value: countWord(flying),
		more: waitWords(gauge("waiting")), to: "flying-title"},
	journalTile(status.journal), storeTile(status.store));
	syncList(el("tiles"), tiles, ({name}) => "tile-" + name,
		"tile", fillTile);
	sayCounts({unknown, failed, dead}, status.instance);
}

// The title is what is seen of a tab in the background; what changes is said
// to those who hear the page.
function sayCounts({unknown, failed, dead}, instance) {
	const known = unknown !== null && dead !== null;
	const sum = known ? unknown + (failed || 0) + dead : "?";
	const words = `${unknown} unknown and ${failed} failed keys, `
		+ `${dead} dead letters.`;
	document.title = (sum !== 0 ? `(${sum}) ` : "")
		+ `onceproxy ${instance}`;
	if (counts !== null && known && counts !== words)
		put(el("heard"), words);
	counts = words;
}

// Which gateway this is, and whose keys it counts with its own.
function placeOf({instance, store}) {
	const redis = store.cluster ? store.cluster.join(" ")
		: store.master || store.redis || "";
	return `${instance} of the cluster at ${redis}`
		+ (store.prefix ? `, prefix ${store.prefix}` : "");
}

// Why new claims are not taken, as GET /readyz has it; null: they are.
function unreadyOf({draining, store, journal}) {
	if (draining)
		return "draining";
	if (store.state !== "up" || store.fault)
		return "store";
	return journal.writable ? null : "journal";
}

function showStatus(status) {
	const up = ageOf(status.uptime_seconds * 1000);
	const workers = status.workers === 1 ? "1 worker"
		: `${status.workers} workers`;
	put(el("place"), placeOf(status));
	put(el("about"), `${status.version}, ${workers}, up for ${up}`);
	const {name, read_only: looksOnly} = status.you;
	put(el("you"), name === null ? "" : looksOnly
		? `${name}, who may only look` : name);
	document.body.classList.toggle("looks-only", looksOnly);
	const reason = unreadyOf(status);
	putChip(el("ready"), reason === null ? "Ready" : "Not ready: " + reason,
		reason === null ? "good" : "bad");
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
	putChip(el("ready"), "Locked");
	for (const name of ["place", "about", "you", "trouble"])
		put(el(name), "");
	el("login-error").textContent = had ? "That is not the token." : "";
	el("token").value = "";
	el("token").focus();
}

// All that is shown at a time; Redis may be down: then there is no list.
async function look() {
	const status = await ask("GET", "/status");
	const metrics = await ask("GET", "/metrics");
	const up = status.json.store.state === "up";
	const keys = up ? await askKeys() : null;
	return {status, metrics, keys, sources: await askSources(),
		traffic: await ask("GET", "/traffic"),
		relays: await ask("GET", "/relays"),
		observed: await ask("GET", "/observed")};
}

function show(seen) {
	const {status, metrics, keys, sources} = seen;
	const samples = parseMetrics(metrics.text);
	showBoard(true);
	showStatus(status.json);
	showRefused(status.json.configuration);
	showRestart(status.json.configuration);
	showTiles(status.json, samples, sources);
	showSources(sources);
	showKeys(keys);
	showHour(seen.traffic.json, samples);
	showEach(samples, status.now);
	showRelays(seen.relays);
	showWitnesses(status.json.witnesses, status.now);
	showObserved(seen.observed);
	seenAt = Date.now();
	showAge();
	document.body.classList.remove("stale");
	put(el("trouble"), "");
}

// Each second: a page that stands still looks like one where nothing happens.
function showAge() {
	const ms = Date.now() - seenAt;
	const known = seenAt !== null && !el("board").hidden;
	put(el("updated"), known
		? `updated ${Math.round(ms / 1000)} s ago` : "");
	el("updated").className = known && ms > OLD_MS ? "chip bad" : "";
}

function showTrouble(trouble) {
	if (trouble.status === 401)
		return askForToken();
	document.body.classList.add("stale");
	putChip(el("ready"), trouble.status ? "Refused" : "No answer", "bad");
	put(el("trouble"), trouble.status ? trouble.message
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
el("find").addEventListener("submit", event => {
	event.preventDefault();
	search(el("find-text").value.trim());
});
el("find-end").addEventListener("click", () => {
	el("find-text").value = "";
	search("");
});
el("chosen-ask").addEventListener("click", () => askAbout(
	[...chosen.values()].filter(({askable}) => askable), placeOfChosen()));
for (const act of ["release", "complete"])
	el("chosen-" + act).addEventListener("click", () => openOrder(act,
		[...chosen.values()], placeOfChosen()));
el("chosen-none").addEventListener("click", () => {
	chosen.clear();
	showChosen();
	el("held-title").focus();
	refresh();
});
setInterval(showAge, 1000);
document.addEventListener("visibilitychange", () => {
	if (!document.hidden && el("login").hidden)
		refresh();
});
refresh();

// SPDX-License-Identifier: BSD-2-Clause
// Keys that are not completed, oldest first.

const REASONS = {
	"lease-expired": "its gateway fell silent",
	"timeout": "the API did not answer in time",
	"broken": "the answer broke off",
	"malformed": "the answer was not well-formed HTTP",
	"status": "the API's status does not say whether it happened",
	"drain": "the gateway had to shut down before the API answered",
	"operator": "an operator said so",
};

function ageOf(ms) {
	const units = [["day", 86400], ["hour", 3600], ["minute", 60],
		["second", 1]];
	const seconds = Math.max(0, Math.floor(ms / 1000));
	const [unit, size] = units.find(([, n]) => seconds >= n) || units[3];
	const n = Math.floor(seconds / size);
	return `${n} ${unit}${n === 1 ? "" : "s"}`;
}

function whyOf(record) {
	if (record.state === "FAILED")
		return "All attempts are used up.";
	if (record.state === "PROCESSING")
		return "";
	const words = REASONS[record.reason];
	return words ? `${record.reason}: ${words}.` : record.reason || "";
}

// By what people know it.
function fromOf(record) {
	const request = record.method
		? `${record.method} ${record.path || ""}` : "";
	return [record.label, request,
		record.request_id && `request ${record.request_id}`,
		record.instance && `on ${record.instance}`]
		.filter(part => part).join(", ");
}

// What was done about it, the latest first.
function pastOf({history}, now) {
	const words = {release: "released", complete: "completed",
		delete: "deleted", ask: "asked about"};
	return [...history || []].reverse().map(({time, act, who, note}) =>
		`${words[act]} ${ageOf(now - Date.parse(time))} ago`
		+ (who ? " by " + who : "") + (note ? ": " + note : ""))
		.join("; ");
}

const CHIPS = {PROCESSING: "", UNKNOWN: "bad", FAILED: "warn"};

// Only what differs is written: a screen reader, a selection and the focus
// stay where they are.
function put(node, text) {
	if (node.textContent !== text)
		node.textContent = text;
}

function fillItem(item, record, now) {
	const part = name => item.querySelector(name);
	item.record = record;
	put(part(".chip"), record.state);
	part(".chip").className = "chip " + (CHIPS[record.state] || "");
	put(part(".route"), record.route || "");
	put(part(".attempt"), "attempt " + record.attempt);
	put(part("time"), "for " + ageOf(now - Date.parse(record.changed)));
	part("time").dateTime = record.changed;
	part("time").title = "since " + record.changed;
	put(part(".why"), whyOf(record));
	put(part(".from"), fromOf(record));
	part(".asks").hidden = !record.askable;
	part(".acts").hidden = record.state !== "UNKNOWN" &&
		record.state !== "FAILED";
	put(part(".past"), pastOf(record, now));
	put(part(".id"), record.key_id);
}

// --- asking the API ---------------------------------------------------------

function picked() {
	return [...el("held").children].filter(item => item.record.askable &&
		item.querySelector(".pick").checked).map(item => item.record);
}

function showPicked() {
	const count = picked().length;
	el("held-picked").hidden = count === 0;
	put(el("ask-picked"), `Ask the API about ${number(count)} selected`);
}

// What came of each is said; those that are unknown no more leave the list.
async function askAbout(records) {
	const came = {};
	let trouble = "";
	for (const [i, record] of records.entries()) {
		say(`Asking about ${record.label || record.key_id} `
			+ `(${i + 1} of ${records.length}).`);
		try {
			const {json} = await ask("POST",
				`/keys/${record.key_id}/reconcile`, {});
			came[json.state] = (came[json.state] || 0) + 1;
		} catch (refused) {
			trouble = refused.message;
			came.refused = (came.refused || 0) + 1;
		}
	}
	const words = {UNKNOWN: "still unknown", RELEASED: "free to execute",
		COMPLETED: "completed", FAILED: "failed",
		PROCESSING: "in flight", refused: "not asked"};
	say("Asked: " + Object.entries(came).map(([state, count]) =>
		`${number(count)} ${words[state] || state}`).join(", ") + "."
		+ (trouble ? " " + trouble : ""));
	for (const item of el("held").children)
		item.querySelector(".pick").checked = false;
	refresh();
}

function makeItem(record) {
	const item = el("key").content.firstElementChild.cloneNode(true);
	const pick = item.querySelector(".pick");
	pick.setAttribute("aria-label", "select " + record.key_id);
	pick.addEventListener("change", showPicked);
	const question = item.querySelector(".ask");
	question.setAttribute("aria-label",
		"ask the API about " + record.key_id);
	question.addEventListener("click", () => askAbout([item.record]));
	for (const act of ["release", "complete"]) {
		const button = item.querySelector("." + act);
		button.setAttribute("aria-label", `${act} ${record.key_id}`);
		button.addEventListener("click",
			() => openOrder(act, item.record));
	}
	return item;
}

// The list has these now; nodes of those that stay, stay.
function syncList(name, records, idOf, makeOne, fillOne) {
	const list = el(name);
	const focus = list.contains(document.activeElement);
	const ids = new Set(records.map(idOf));
	for (const item of [...list.children])
		if (!ids.has(item.id))
			item.remove();
	records.forEach((record, i) => {
		let item = el(idOf(record));
		if (item === null) {
			item = makeOne(record);
			item.id = idOf(record);
		}
		fillOne(item, record);
		if (list.children[i] !== item)
			list.insertBefore(item, list.children[i] || null);
	});
	if (focus && !list.contains(document.activeElement))
		el(name + "-title").focus();
	el(name + "-none").hidden = records.length > 0;
}

function showList(name, records, now) {
	syncList(name, records, record => "k" + record.key_id, makeItem,
		(item, record) => fillItem(item, record, now));
}

let heldLimit = 50;
let findText = "";
const FLYING_LIMIT = 20;

async function askKeys() {
	const held = await ask("GET", (findText
		? "/keys?find=" + encodeURIComponent(findText)
		: "/keys?state=UNKNOWN&state=FAILED") + "&limit=" + heldLimit);
	const flying = await ask("GET",
		"/keys?state=PROCESSING&limit=" + FLYING_LIMIT);
	return {held, flying};
}

let keysAt = null; // when those that are shown were told

// Redis is down: what is not known is not none.
function missKeys() {
	put(el("held-old"), "Redis does not answer: nobody can tell now which "
		+ "keys are unknown, failed or in flight."
		+ (keysAt === null ? "" : " What is shown was told at "
			+ keysAt.toLocaleTimeString() + "."));
	for (const name of ["held", "flying"])
		el(name + "-none").hidden = true;
	put(el("flying-more"), "Not known while Redis does not answer.");
}

function showKeys(keys) {
	el("held-old").hidden = keys !== null;
	if (keys === null)
		return missKeys();
	const {held, flying} = keys;
	keysAt = new Date(held.now);
	showList("held", held.json.keys, held.now);
	put(el("held-none"), findText
		? "None. A completed one is found by its whole label or key_id."
		: "None. Nothing is waiting for you.");
	showPicked();
	el("held-more").hidden = held.json.next === null || heldLimit >= 1000;
	showList("flying", flying.json.keys, flying.now);
	put(el("flying-more"), flying.json.next === null ? ""
		: `Only the ${FLYING_LIMIT} oldest are shown.`);
}

// SPDX-License-Identifier: BSD-2-Clause
// Sources, the messages that wait, and what an operator says about them.

const MESSAGE_REASONS = {
	"unknown": "nobody knows whether its request was executed",
	"broken": "its key's record is damaged",
	"released": "the API did not execute it, and may be asked again",
	"not-sent": "nothing could be sent to the API",
	"letter-too-large": "its dead letter is larger than the topic takes",
};
const LETTER_REASONS = {
	"refused": "the API refused it, and that answer is stored",
	"exhausted": "all its attempts failed",
	"mismatch": "its key was used for another request",
	"unknown": "nobody knows whether its request was executed",
	"malformed": "no request can be made of it",
	"key-missing": "it has nothing to make a key of",
	"too-large": "it is larger than its route allows",
	"expired": "it was too old when it was taken",
	"behind": "it waits for the first of its order",
};
const MESSAGES_LIMIT = 50;
let lettersOf = null; // the source whose dead letters are shown

function countsOf(source) {
	const parts = [];
	if (source.lag !== null)
		parts.push(`${number(source.lag)} not taken yet`);
	for (const [name, words] of [["in_flight", "in flight"],
		["held", "held"], ["retrying", "to be tried again"],
		["waiting", "waiting for others"], ["parked", "orders parked"]])
		if (source[name] > 0)
			parts.push(`${number(source[name])} ${words}`);
	return parts.join(", ");
}

function pausedBy({since, who, note}, now) {
	const ago = ageOf(now - Date.parse(since));
	return `Paused ${ago} ago by ${who}${note ? ": " + note : "."}`;
}

function fillSource(item, source, now) {
	const part = name => item.querySelector(name);
	item.record = source;
	const kind = source.stream || source.table || source.topics;
	put(part(".chip"), source.standing || "goes");
	part(".chip").className = "chip " + (source.standing === null ? "good"
		: source.standing === "operator" ? "warn" : "bad");
	put(part(".name"), source.name);
	put(part(".of"), `${source.kind} ${source.broker}, ${kind}`);
	put(part(".counts"), countsOf(source));
	put(part(".why"), source.paused ? pausedBy(source.paused, now)
		: [source.why, source.error].filter(Boolean).join(" "));
	part(".pause").hidden = source.paused !== null;
	part(".resume").hidden = source.paused === null;
	part(".letters").setAttribute("aria-pressed",
		String(lettersOf === source.name));
}

function agoOf(time, message, now) {
	put(time, "for " + ageOf(now - Date.parse(message.first)));
	time.dateTime = message.first;
	time.title = "since " + message.first;
}

function fillMessage(item, message, now) {
	const part = name => item.querySelector(name);
	item.record = message;
	put(part(".chip"), message.state);
	part(".chip").className = "chip "
		+ (message.state === "held" ? "bad" : "");
	put(part(".name"), message.source);
	put(part(".attempt"), message.attempt ? `attempt ${message.attempt}`
		: "not sent yet");
	agoOf(part("time"), message, now);
	const words = MESSAGE_REASONS[message.reason];
	put(part(".why"), words ? `${message.reason}: ${words}.`
		: message.reason || "");
	put(part(".id"), message.key_id ? "key " + message.key_id
		: "at " + message.position);
}

function fillLetter(item, message, now) {
	const part = name => item.querySelector(name);
	item.record = message;
	put(part(".chip"), message.reason || "dead");
	part(".chip").className = "chip "
		+ (message.state === "parked" ? "" : "bad");
	put(part(".name"), message.source);
	put(part(".attempt"), message.attempt ? `attempt ${message.attempt}`
		: "");
	part("time").hidden = message.first === null;
	if (message.first !== null)
		agoOf(part("time"), message, now);
	put(part(".why"), [LETTER_REASONS[message.reason], message.detail]
		.filter(Boolean).join(": "));
	put(part(".id"), message.key_id ? "key " + message.key_id
		: "at " + message.position);
}

// A node of that template, whose buttons open their dialogs.
function makeOf(template, acts, nameOf) {
	return record => {
		const item = el(template).content.firstElementChild
			.cloneNode(true);
		for (const act of acts) {
			const button = item.querySelector("." + act);
			button.setAttribute("aria-label",
				`${act} ${nameOf(record)}`);
			button.addEventListener("click",
				() => openOrder(act, item.record));
		}
		return item;
	};
}

const makeActs = makeOf("source-item", ["pause", "resume"],
	source => source.name);
const makeMessage = makeOf("message-item", ["drop"], message => message.id);
const makeLetter = makeOf("letter-item", ["replay", "drop"],
	message => message.position);

// Its dead letters are asked for only while somebody looks at them.
function makeSource(source) {
	const item = makeActs(source);
	const button = item.querySelector(".letters");
	button.setAttribute("aria-label", `dead letters of ${source.name}`);
	button.addEventListener("click", () => {
		lettersOf = lettersOf === source.name ? null : source.name;
		refresh();
	});
	return item;
}

async function askLetters() {
	const of = lettersOf;
	if (of === null)
		return null;
	try {
		const page = await ask("GET", "/messages?state=dead"
			+ "&state=parked&source=" + encodeURIComponent(of)
			+ "&limit=" + MESSAGES_LIMIT);
		return {of, list: page.json.messages, more: page.json.next,
			now: page.now, trouble: ""};
	} catch (trouble) {
		if (trouble.status === undefined || trouble.status === 401)
			throw trouble;
		return {of, list: [], more: null, trouble: trouble.message};
	}
}

function showLetters(letters) {
	el("letters-part").hidden = letters === null;
	if (letters === null)
		return;
	put(el("letters-title"), "Dead letters of " + letters.of);
	put(el("letters-trouble"), letters.trouble);
	el("letters-trouble").hidden = letters.trouble === "";
	syncList("letters", letters.list, message => "d" + message.id,
		makeLetter, (item, message) =>
			fillLetter(item, message, letters.now));
	if (letters.trouble !== "")
		el("letters-none").hidden = true;
	put(el("letters-more"), letters.more === null ? ""
		: "Only the first are shown; onceproxy messages list --source "
			+ `${letters.of} --state dead has all.`);
}

// What cannot be had now stays as it was: null.
async function askSources() {
	try {
		const sources = await ask("GET", "/sources");
		const some = sources.json.sources.length > 0;
		const messages = some ? await ask("GET",
			"/messages?limit=" + MESSAGES_LIMIT) : null;
		return {sources, messages, letters: some ? await askLetters()
			: null};
	} catch (trouble) {
		if (trouble.status !== 503)
			throw trouble;
		return null;
	}
}

function showSources({sources, messages, letters}) {
	el("sources-card").hidden = messages === null;
	if (messages === null)
		return;
	showLetters(letters);
	syncList("sources", sources.json.sources, source => "s" + source.name,
		makeSource, (item, source) =>
			fillSource(item, source, sources.now));
	syncList("messages", messages.json.messages,
		message => "m" + message.id, makeMessage, (item, message) =>
			fillMessage(item, message, messages.now));
	put(el("messages-more"), messages.json.next === null ? ""
		: `Only the ${MESSAGES_LIMIT} oldest are shown; onceproxy `
			+ "messages list has all.");
}

// --- what an operator says -------------------------------------------------

const ORDERS = {
	drop: {
		path: message => `/messages/${message.id}/drop`,
		about: message => [`${message.state}, ${message.source}, at `,
			make("b", {}, message.position)],
		done: message => `${message.position} of ${message.source} is `
			+ "dropped.",
	},
	replay: {
		path: message => `/messages/${message.id}/replay`,
		about: message => [`${message.reason}, ${message.source}, at `,
			make("b", {}, message.position)],
		done: message => `${message.position} of ${message.source} is `
			+ "replayed.",
	},
	pause: {
		path: source => "/sources/" + encodeURIComponent(source.name)
			+ "/pause",
		about: source => [make("b", {}, source.name)],
		done: source => `${source.name} is paused.`,
	},
	stop: {
		path: relay => "/relays/" + encodeURIComponent(relay.name)
			+ "/pause",
		about: relay => [make("b", {}, relay.name)],
		done: relay => `${relay.name} is paused.`,
	},
	go: {
		path: relay => "/relays/" + encodeURIComponent(relay.name)
			+ "/resume",
		about: relay => [make("b", {}, relay.name)],
		done: relay => `${relay.name} is resumed.`,
	},
	resume: {
		path: source => "/sources/" + encodeURIComponent(source.name)
			+ "/resume",
		about: source => [make("b", {}, source.name)],
		done: source => `${source.name} is resumed.`,
	},
};
let ordered = null; // what the open dialog is about

function openOrder(act, record) {
	const dialog = el(act);
	ordered = record;
	dialog.querySelector("form").reset();
	dialog.querySelector(".error").textContent = "";
	dialog.querySelector(".subject").replaceChildren(
		...ORDERS[act].about(record));
	dialog.showModal();
}

async function doOrder(act) {
	const dialog = el(act), button = dialog.querySelector(".do");
	const error = dialog.querySelector(".error");
	const note = dialog.querySelector("form").elements.note.value;
	const record = ordered;
	if (button.disabled)
		return;
	button.disabled = true;
	error.textContent = "";
	try {
		await ask("POST", ORDERS[act].path(record),
			note === "" ? {} : {note});
		dialog.close();
		say(ORDERS[act].done(record));
		refresh();
	} catch (trouble) {
		error.textContent = trouble.message;
	}
	button.disabled = false;
}

for (const act of Object.keys(ORDERS))
	readyDialog(act, () => doOrder(act));

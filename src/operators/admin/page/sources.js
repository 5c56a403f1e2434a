// SPDX-License-Identifier: BSD-2-Clause
// Sources, the messages that wait, and what an operator says about them.

const MESSAGE_REASONS = {
	"unknown": "nobody knows whether its request was executed",
	"broken": "its key's record is damaged",
	"released": "the API did not execute it, and may be asked again",
	"not-sent": "nothing could be sent to the API",
	"letter-too-large": "the copy of its dead letter is larger than the "
		+ "topic takes",
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
// What a replay does not mend.
const LETTER_CURES = {
	"mismatch": "Ask who made it which of the two is right: drop the "
		+ "other, or have it made again under another key.",
};
const MESSAGES_LIMIT = 100;
let lettersOf = null; // the source whose dead letters are shown
let lettersLed = false; // somebody wants to be led there

function countsOf(source) {
	const parts = [];
	parts.push(source.lag === null ? "lag not known"
		: `${number(source.lag)} not taken yet`);
	for (const [name, words] of [["in_flight", "in flight"],
		["held", "held"], ["retrying", "to be tried again"],
		["waiting", "waiting for others"],
		["parked", "parked"]])
		if (source[name] > 0)
			parts.push(`${number(source[name])} ${words}`);
	if (source.dead === null)
		parts.push("dead letters not known");
	return parts.join(", ");
}

function deadWords({dead}) {
	if (dead === null || dead === 0)
		return "Dead letters";
	return number(dead) + (dead === 1 ? " dead letter" : " dead letters");
}

function pausedBy({since, who, note}, now) {
	return `Paused ${agoOf(since, now)}, by ${who}`
		+ (note ? ": " + note : ".");
}

function fillSource(item, source, now) {
	const part = name => item.querySelector(name);
	item.record = source;
	const kind = source.stream || source.table || source.topics;
	putChip(part(".chip"), source.standing || "running",
		source.standing === null ? "good"
			: source.standing === "operator" ? "warn" : "bad");
	put(part(".name"), source.name);
	put(part(".of"), `${source.kind} ${source.broker}, ${kind}`);
	put(part(".counts"), countsOf(source));
	put(part(".why"), source.paused ? pausedBy(source.paused, now)
		: [source.why, source.error].filter(Boolean).join(" "));
	part(".pause").hidden = source.paused !== null;
	part(".resume").hidden = source.paused === null;
	part(".rewind").hidden = source.kind !== "kafka";
	part(".prove").hidden = source.parts_standing === 0
		&& !source.reasons.includes("unproven");
	part(".restore").hidden = !source.reasons.includes("unproven");
	put(part(".letters"), deadWords(source));
	part(".letters").hidden = source.dead === 0 && source.parked === 0;
	nameButtons(item, source.name);
}

// --- messages and letters ---------------------------------------------------

const isDead = ({state}) => state === "dead" || state === "parked";

// What people know it by.
function nameOfMessage({label, position}) {
	return label || position;
}

function reasonOf({state, reason, detail, status}) {
	const words = isDead({state}) ? LETTER_REASONS[reason]
		: MESSAGE_REASONS[reason];
	const why = [reason, words, detail, status && "status " + status]
		.filter(Boolean).join(": ");
	return LETTER_CURES[reason] ? `${why}. ${LETTER_CURES[reason]}` : why;
}

function fillMessage(item, message, now) {
	const part = name => item.querySelector(name);
	const name = nameOfMessage(message);
	item.record = message;
	put(part(".name"), name);
	part("time").hidden = message.first === null;
	if (message.first !== null)
		putTime(part("time"), message.first, now);
	putChip(part(".chip"), message.state, message.state === "held"
		|| message.state === "dead" ? "bad" : "");
	put(part(".why"), [reasonOf(message), message.source,
		message.attempt ? `attempt ${message.attempt}` : "not sent yet"]
		.filter(Boolean).join(" · "));
	put(part(".by"), (name === message.position ? ""
		: `at ${message.position} `)
		+ (message.key_id ? "· key" : ""));
	put(part("code"), message.key_id || "");
	part(".copy").hidden = !message.key_id;
	part(".replay").hidden = !isDead(message);
	nameButtons(item, name);
}

function syncMessages(name, prefix, messages, now) {
	syncList(el(name), messages, message => prefix + message.id,
		"message-item", (item, message) =>
			fillMessage(item, message, now));
}

// Dead letters are asked for only while somebody looks at them; who wants to is
// led there.
CLICKS.letters = ({record}) => {
	lettersOf = record.name;
	lettersLed = true;
	refresh();
};

el("letters-end").addEventListener("click", () => {
	const item = el("s" + lettersOf);
	lettersOf = null;
	el("letters-part").hidden = true;
	(item ? item.querySelector(".letters") : el("sources-title")).focus();
});

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
	syncMessages("letters", "d", letters.list, letters.now);
	if (letters.trouble !== "")
		el("letters-none").hidden = true;
	if (lettersLed) {
		el("letters-title").focus();
		el("letters-title").scrollIntoView();
	}
	lettersLed = false;
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

// One that waits for its key is one with it: it stands there.
const waitsForKey = ({state, reason, key_id: id}) =>
	state === "held" && reason === "unknown" && id;

function showMessages({json, now}) {
	const held = json.messages.filter(waitsForKey);
	heldMessages = new Map(held.map(message => [message.key_id, message]));
	syncMessages("messages", "m", json.messages.filter(message =>
		!waitsForKey(message)), now);
	el("messages-held").hidden = held.length === 0;
	put(el("messages-held"), `${number(held.length)} held, with `
		+ (held.length === 1 ? "its key" : "their keys") + ", above.");
	put(el("messages-more"), json.next === null ? ""
		: `Only the ${MESSAGES_LIMIT} oldest are shown; onceproxy `
			+ "messages list has all.");
}

function showSources(seen) {
	el("sources-old").hidden = seen !== null;
	if (seen === null) {
		el("sources-card").hidden = false;
		for (const name of ["sources", "messages", "letters"])
			el(name + "-none").hidden = true;
		return;
	}
	const {sources, messages, letters} = seen;
	el("sources-card").hidden = messages === null;
	if (messages === null)
		return;
	showLetters(letters);
	syncList(el("sources"), sources.json.sources,
		source => "s" + source.name, "place-item", (item, source) =>
			fillSource(item, source, sources.now));
	showMessages(messages);
}

// --- what an operator says -------------------------------------------------

const aboutMessage = message => [[message.first
	&& agoOf(message.first, Date.now()), message.state, message.reason,
	message.source, "at " + message.position].filter(Boolean).join(" · "),
...message.key_id ? [" · key ", make("b", {}, message.key_id)] : []];
const ofMessage = word => message => `${nameOfMessage(message)} is ${word}: `
	+ `at ${message.position} of ${message.source}.`;
const itsName = ({name}) => name;
const aboutPlace = ({kind, broker, receiver, group}) => [[kind,
	broker || receiver, group && "group " + group].filter(Boolean)
	.join(", ")];
// Of a source, or of a relay: that one stands for no reason.
const pathOf = act => ({name, standing}) => (standing === undefined
	? "/relays/" : "/sources/") + encodeURIComponent(name) + "/" + act;

// "TOPIC/PARTITION", one per line or with spaces between; none: all.
function partitionsOf(fields, name) {
	const partitions = fields.more.value.split(/\s+/).filter(Boolean);
	return partitions.length === 0 ? {} : {[name]: partitions};
}

addOrders({
	drop: {
		path: message => `/messages/${message.id}/drop`,
		name: nameOfMessage,
		about: aboutMessage,
		title: "drop, it is not needed any more",
		means: "You are saying that nothing more is to be done about "
			+ "this message. It is acknowledged at its broker, or "
			+ "taken from the dead letters, and no result is put. "
			+ "The record of its key stays as it is; what is "
			+ "parked behind it comes back.",
		warning: "It is gone for good, executed or not.",
		button: "Drop the message",
		done: ofMessage("dropped"),
	},
	replay: {
		path: message => `/messages/${message.id}/replay`,
		name: nameOfMessage,
		about: aboutMessage,
		title: "replay, it is to be tried again",
		means: "You are saying that what it died of is mended, or, of "
			+ "one whose record is gone, that it did not happen. "
			+ "It goes the way of every message again, under the "
			+ "same key, with a fresh allowance of attempts; what "
			+ "is parked behind it follows. If it was executed "
			+ "already, it is not executed again, as long as its "
			+ "record is kept.",
		warning: "If nobody knows whether it was executed, resolve its "
			+ "key first.",
		button: "Replay the message",
		done: ofMessage("replayed"),
	},
	pause: {
		path: pathOf("pause"),
		name: itsName,
		about: aboutPlace,
		title: "pause",
		means: "All gateways stop taking its messages, or delivering "
			+ "its events, until somebody resumes it, also after "
			+ "they were started anew. What is in flight is "
			+ "finished.",
		warning: "What comes meanwhile piles up: messages at their "
			+ "broker, events in Redis, as many as "
			+ "store.events.maxlen allows.",
		button: "Pause for all gateways",
		done: ({name}) => `${name} is paused.`,
	},
	resume: {
		path: pathOf("resume"),
		name: itsName,
		about: aboutPlace,
		title: "resume",
		means: "All gateways go on with it where they stopped.",
		warning: "What it was paused for should be over.",
		button: "Resume for all gateways",
		done: ({name}) => `${name} is resumed.`,
	},
	rewind: {
		path: pathOf("rewind"),
		name: itsName,
		about: aboutPlace,
		title: "rewind, its logs are read again",
		means: "You are saying that a topic was made again, or that "
			+ "you want its messages again. Whoever has these "
			+ "partitions reads them from their beginning. What "
			+ "comes again finds its records, and gives its "
			+ "results once more, marked.",
		warning: "What has no record any more is executed again: a "
			+ "record lives as long as the route's retention.",
		more: ["Partitions", "(TOPIC/NUMBER, one per line; none: all "
			+ "that are unproven)"],
		body: fields => partitionsOf(fields, "partitions"),
		button: "Read them again",
		done: ({name}) => `${name} is rewound.`,
	},
	prove: {
		path: pathOf("resume"),
		name: itsName,
		about: aboutPlace,
		title: "resume what is unproven",
		means: "You are saying that what was finished stays so. Of "
			+ "partitions, whoever has them goes on behind that, "
			+ "or at the log's end. Where Redis has lost its data, "
			+ "the source goes on without what was dead or parked.",
		warning: "Nothing before that is executed, though it may be "
			+ "new: look at what is there first.",
		more: ["Partitions", "(of Kafka: TOPIC/NUMBER, one per line; "
			+ "none: all that are unproven)"],
		body: fields => ({unproven: [],
			...partitionsOf(fields, "unproven")}),
		button: "Go on behind what was finished",
		done: ({name}) => `${name} goes on.`,
	},
	restore: {
		path: pathOf("restore"),
		name: itsName,
		about: aboutPlace,
		title: "restore the dead letters",
		means: "You are saying that Redis has lost its data. The "
			+ "copies in the broker's own place become dead "
			+ "letters again, in their order, but for those that "
			+ "were replayed or dropped. Then the source goes on.",
		warning: "What was in flight has no record any more: ask the "
			+ "API what it has executed first.",
		button: "Restore the dead letters",
		done: ({name}) => `${name} has its dead letters again.`,
	},
});

// One that is held is in its key's row.
CLICKS.drop = item => openOrder("drop", [item.message || item.record], item);

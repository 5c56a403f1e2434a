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
const MESSAGES_LIMIT = 50;
let lettersOf = null; // the source whose dead letters are shown

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
	else if (source.dead > 0)
		parts.push(number(source.dead) + (source.dead === 1
				? " dead letter" : " dead letters"));
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
	part(".rewind").hidden = source.kind !== "kafka";
	part(".prove").hidden = source.parts_standing === 0
		&& !source.reasons.includes("unproven");
	part(".restore").hidden = !source.reasons.includes("unproven");
	part(".letters").setAttribute("aria-pressed",
		String(lettersOf === source.name));
}

function agoOf(time, message, now) {
	put(time, "for " + ageOf(now - Date.parse(message.first)));
	time.dateTime = message.first;
	time.title = "since " + message.first;
}

// What people know it by, and its key or place.
function knownBy({label, key_id, position}) {
	return [label, key_id ? "key " + key_id : "at " + position]
		.filter(Boolean).join(", ");
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
	put(part(".id"), knownBy(message));
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
	const words = [LETTER_REASONS[message.reason], message.detail,
		message.status && "status " + message.status]
		.filter(Boolean).join(": ");
	const cure = LETTER_CURES[message.reason];
	put(part(".why"), cure ? `${words}. ${cure}` : words);
	put(part(".id"), knownBy(message));
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

const makeActs = makeOf("source-item", ["pause", "resume", "rewind", "prove",
	"restore"],
	source => source.name);
const makeMessage = makeOf("message-item", ["drop"],
	message => message.id);
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

const aboutMessage = word => message => [
	`${message[word]}, ${message.source}, at `,
	make("b", {}, message.position)];
const aboutName = ({name}) => [make("b", {}, name)];
const pathOf = (kind, act) => ({name}) =>
	`/${kind}/${encodeURIComponent(name)}/${act}`;

// "TOPIC/PARTITION", one per line or with spaces between; none: all.
function partitionsOf(fields, name) {
	const partitions = fields.more.value.split(/\s+/).filter(Boolean);
	return partitions.length === 0 ? {} : {[name]: partitions};
}

addOrders({
	drop: {
		path: message => `/messages/${message.id}/drop`,
		about: aboutMessage("state"),
		title: "Drop: it is not needed any more",
		means: "You are saying that nothing more is to be done about "
			+ "this message. It is acknowledged at its broker, or "
			+ "taken from the dead letters, and no result is put. "
			+ "The record of its key stays as it is; what is "
			+ "parked behind it comes back.",
		warning: "It is gone for good, executed or not.",
		button: "Drop the message",
		done: message => `${message.position} of ${message.source} is `
			+ "dropped.",
	},
	replay: {
		path: message => `/messages/${message.id}/replay`,
		about: aboutMessage("reason"),
		title: "Replay: it is to be tried again",
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
		done: message => `${message.position} of ${message.source} is `
			+ "replayed.",
	},
	pause: {
		path: pathOf("sources", "pause"),
		about: aboutName,
		title: "Pause the source",
		means: "All gateways stop taking and executing its messages "
			+ "until somebody resumes it, also after they were "
			+ "started anew. What is in flight is finished.",
		warning: "Its messages pile up at the broker meanwhile.",
		button: "Pause for all gateways",
		done: ({name}) => `${name} is paused.`,
	},
	resume: {
		path: pathOf("sources", "resume"),
		about: aboutName,
		title: "Resume the source",
		means: "All gateways go on with its messages where they "
			+ "stopped.",
		warning: "What it was paused for should be over.",
		button: "Resume for all gateways",
		done: ({name}) => `${name} is resumed.`,
	},
	rewind: {
		path: pathOf("sources", "rewind"),
		about: ({name, group}) => [make("b", {}, name), ", group ",
			make("b", {}, group)],
		title: "Rewind: its logs are read again",
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
		path: pathOf("sources", "resume"),
		about: ({name, group}) => [make("b", {}, name), ", group ",
			make("b", {}, group)],
		title: "Resume what is unproven",
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
		path: pathOf("sources", "restore"),
		about: aboutName,
		title: "Restore the dead letters",
		means: "You are saying that Redis has lost its data. The "
			+ "copies in the broker's own place become dead "
			+ "letters again, in their order, but for those that "
			+ "were replayed or dropped. Then the source goes on.",
		warning: "What was in flight has no record any more: ask the "
			+ "API what it has executed first.",
		button: "Restore the dead letters",
		done: ({name}) => `${name} has its dead letters again.`,
	},
	stop: {
		path: pathOf("relays", "pause"),
		about: aboutName,
		title: "Pause the relay",
		means: "No gateway brings anything more until somebody resumes "
			+ "it, also after they were started anew.",
		warning: "Events pile up in Redis meanwhile, as many as "
			+ "store.events.maxlen allows.",
		button: "Pause for all gateways",
		done: ({name}) => `${name} is paused.`,
	},
	go: {
		path: pathOf("relays", "resume"),
		about: aboutName,
		title: "Resume the relay",
		means: "It goes on where it stopped.",
		warning: "What it was paused for should be over.",
		button: "Resume for all gateways",
		done: ({name}) => `${name} is resumed.`,
	},
});

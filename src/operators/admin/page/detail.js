// SPDX-License-Identifier: BSD-2-Clause
// One key or message with all that is known of it, and its text for elsewhere.

// Where the browser lets no page write there, the text is selected.
async function copyText(button, node) {
	button.dataset.words ||= button.textContent;
	try {
		await navigator.clipboard.writeText(node.textContent);
		put(button, "Copied");
	} catch {
		getSelection().selectAllChildren(node);
		put(button, "Press Ctrl+C");
	}
	say(button.textContent);
	setTimeout(() => put(button, button.dataset.words), 2000);
}

const withClock = time => time && `${clockOf(time)} (${time})`;

function answerOf({status, bytes, headers, body, body_base64: base64}) {
	if (headers === undefined)
		return bytes === undefined ? "It was not kept." : "";
	const lines = headers.map(([name, value]) => `${name}: ${value}`);
	return [`Status ${status}`, ...lines, "", base64 === undefined ? body
		: `(${number(bytes)} bytes that are no text, in base64)\n`
			+ base64].join("\n");
}

function openDetail(title, facts, past, [head, text]) {
	put(el("detail-title"), title);
	el("facts").replaceChildren(...facts.filter(([, value]) =>
		value !== undefined && value !== null && value !== "")
		.map(([name, value]) => make("div", {}, make("dt", {}, name),
			make("dd", {}, String(value)))));
	el("past").replaceChildren(...past.map(words =>
		make("li", {}, words)));
	el("past-title").hidden = past.length === 0;
	put(el("answer-title"), head);
	put(el("answer"), text);
	el("answer-title").hidden = el("answer").hidden = text === "";
	el("detail").showModal();
}

// The key_id is the last of the facts, as everywhere.
async function showKey({key_id: id}) {
	const {json, now} = await ask("GET", `/keys/${id}?body=1`);
	openDetail(nameOf(json), [["State", json.state],
		["Reason", whyOf(json)],
		["Request", json.path && `${json.method} ${json.path}`],
		["Route", json.route], ["Attempt", json.attempt],
		["Created", withClock(json.created)],
		["Changed", withClock(json.changed)],
		["Lease until", withClock(json.lease_until)],
		["Kept until", withClock(json.expires)],
		["Gateway", json.instance], ["Owner", json.owner],
		["Request id", json.request_id],
		["Not readable", json.unreadable], ["key_id", json.key_id]],
	pastOf(json, now), ["The stored answer", json.state === "COMPLETED"
		? answerOf(json) : ""]);
}

async function showMessage({id}) {
	const {json} = await ask("GET", "/messages/" + encodeURIComponent(id));
	openDetail(nameOfMessage(json), [["State", json.state],
		["Reason", reasonOf(json)], ["Source", json.source],
		["Position", json.position], ["Route", json.route],
		["Attempt", json.attempt],
		["Taken first", withClock(json.first)],
		["Tried again", withClock(json.next_try)],
		["Status", json.status], ["Id", json.id],
		["key_id", json.key_id]],
	[], ["The API's answer", json.answer || json.answer_base64 || ""]);
}

CLICKS.name = ({record}) => record.position === undefined ? showKey(record)
	: showMessage(record);
CLICKS.copy = (item, button) => copyText(button, item.querySelector("code"));
el("detail").querySelector(".cancel").addEventListener("click", () =>
	el("detail").close());
el("detail").querySelector(".copy").addEventListener("click", event =>
	copyText(event.target, el("facts").querySelector(":last-child > dd")));

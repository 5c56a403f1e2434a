// SPDX-License-Identifier: BSD-2-Clause
// Keys: what is known of each, and the API's word.

const REASONS = {
	"lease-expired": "its gateway fell silent",
	"timeout": "the API did not answer in time",
	"broken": "the answer broke off",
	"malformed": "the answer was not well-formed HTTP",
	"status": "the API's status does not say whether it happened",
	"drain": "the gateway had to shut down before the API answered",
	"operator": "an operator said so",
};

function whyOf({state, reason}) {
	if (state === "FAILED")
		return "all attempts are used up";
	if (state === "BROKEN")
		return "its record is damaged, and can only be deleted";
	const words = REASONS[reason];
	return words ? `${reason}: ${words}` : reason || "";
}

// What people know it by.
function nameOf({label, method, path, changed}) {
	return label || (path ? `${method} ${path}` : "No label")
		+ (changed ? ", " + clockOf(changed) : "");
}

// What was done about it, the latest first.
const ACTS = {release: "released", complete: "completed", delete: "deleted",
	ask: "asked about"};

function pastOf({history}, now) {
	return [...history || []].reverse().map(({time, act, who, note}) =>
		`${ACTS[act]} ${agoOf(time, now)}` + (who ? ", by " + who : "")
		+ (note ? ": " + note : ""));
}

const CHIPS = {PROCESSING: "", UNKNOWN: "bad", FAILED: "warn",
	COMPLETED: "good", BROKEN: "bad"};
const isHeld = ({state}) => state === "UNKNOWN" || state === "FAILED";

// --- one key ----------------------------------------------------------------

let heldMessages = new Map(); // by the key that a message waits for

function fillKey(item, record, now, grouped) {
	const part = name => item.querySelector(name);
	const message = heldMessages.get(record.key_id);
	item.record = record;
	item.message = message;
	put(part(".name"), nameOf(record));
	part("time").hidden = !record.changed;
	if (record.changed)
		putTime(part("time"), record.changed, now);
	putChip(part(".chip"), record.state, CHIPS[record.state]);
	part(".chip").hidden = grouped;
	put(part(".why"), [grouped ? record.reason : whyOf(record),
		record.path && `${record.method} ${record.path}`,
		record.route, record.attempt && "attempt " + record.attempt]
		.filter(Boolean).join(" · "));
	put(part(".message"), message ? `A message of ${message.source}, at `
		+ `${message.position}, waits for it.` : "");
	part(".message").hidden = !message;
	put(part(".past"), pastOf(record, now).join("; "));
	put(part(".by"), [record.request_id && "request " + record.request_id,
		record.instance && `on ${record.instance} ·`]
		.filter(Boolean).join(" "));
	put(part("code"), record.key_id);
	part(".tick").hidden = !isHeld(record);
	part(".pick").checked = chosen.has(record.key_id);
	part(".acts").hidden = !isHeld(record);
	part(".ask").hidden = !record.askable;
	part(".drop").hidden = !message;
	nameButtons(item, nameOf(record));
}

CLICKS.pick = ({record}, {checked}) => {
	if (checked)
		chosen.set(record.key_id, record);
	else
		chosen.delete(record.key_id);
	showChosen();
};

function syncKeys(list, records, now, grouped) {
	syncList(list, records, record => "k" + record.key_id, "key",
		(item, record) => fillKey(item, record, now, grouped));
}

// --- asking the API ---------------------------------------------------------

const CAME = {UNKNOWN: "still unknown", RELEASED: "free to execute",
	COMPLETED: "completed", FAILED: "failed", PROCESSING: "in flight",
	refused: "not asked"};

// What came of each is said; those that are unknown no more leave the list.
// Who puts away what is said has enough; the others stay selected.
async function askAbout(records, place) {
	const came = {};
	let trouble = "";
	tell("Asking the API.", place);
	for (const [i, record] of records.entries()) {
		if (!result.isConnected)
			break;
		retell(`Asking about ${nameOf(record)} `
			+ `(${i + 1} of ${records.length}).`);
		try {
			const {json} = await ask("POST",
				`/keys/${record.key_id}/reconcile`, {});
			came[json.state] = (came[json.state] || 0) + 1;
		} catch (refused) {
			trouble = ` ${nameOf(record)}: ${refused.message}`;
			came.refused = (came.refused || 0) + 1;
		}
		chosen.delete(record.key_id);
	}
	const words = Object.entries(came).map(([state, count]) =>
		`${number(count)} ${CAME[state] || state}`).join(", ");
	retell((records.length === 1 ? `${nameOf(records[0])}, asked: `
		: "Asked: ") + words + "." + trouble);
	say(result.textContent);
	refresh();
}

CLICKS.ask = item => askAbout([item.record], item);

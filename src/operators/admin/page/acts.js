// SPDX-License-Identifier: BSD-2-Clause
// What an operator says: each act has a dialog, which asks before anything is
// done.

const ORDERS = {}; // by the id of the dialog
let subject = null; // {records, place}: what the open dialog is about

// The most that is said of each: nobody reads a hundred names.
const NAMED_MAX = 5;

function subjectOf(order, records) {
	if (records.length === 1)
		return order.about(records[0]);
	const names = records.slice(0, NAMED_MAX).map(order.name);
	const more = records.length - names.length;
	return [names.join("; ") + (more > 0
		? `; and ${number(more)} more` : "")];
}

// place is the row: what comes of it is shown there.
function openOrder(act, records, place) {
	const dialog = el(act), order = ORDERS[act];
	const many = records.length > 1;
	const part = name => dialog.querySelector(name);
	subject = {records, place};
	part("form").reset();
	put(part(".error"), "");
	put(part(".name"), many ? `${number(records.length)} selected`
		: order.name(records[0]));
	part(".subject").replaceChildren(...subjectOf(order, records));
	part(".sure").hidden = !many;
	part(".sure input").required = many;
	dialog.showModal();
}

function noteOf(fields) {
	return fields.note.value === "" ? {} : {note: fields.note.value};
}

// The dialog that was opened for that is open still, and not for others.
function isOpenFor(act, mine) {
	return el(act).open && subject === mine;
}

// One after the other, until the dialog is closed or nobody answers.
async function carryOut(act, mine, bodies) {
	const {records} = mine;
	const button = el(act).querySelector(".do");
	const words = button.textContent;
	const came = {done: 0, refused: []};
	for (const [i, record] of records.entries()) {
		if (records.length > 1)
			put(button, `${i + 1} of ${records.length}`);
		try {
			await ask("POST", ORDERS[act].path(record), bodies[i]);
			came.done++;
		} catch (trouble) {
			came.refused.push([record, trouble]);
		}
		const away = came.refused.some(([, trouble]) =>
			trouble.status === undefined);
		if (!isOpenFor(act, mine) || away)
			break;
	}
	put(button, words);
	return came;
}

// Of many: how many, and why not the others.
function wordsOf(act, records, {done, refused}) {
	const {name, many, done: words} = ORDERS[act];
	const more = refused.length - NAMED_MAX;
	if (records.length === 1)
		return words(records[0]);
	return [`${number(done)} of ${number(records.length)} selected: `
		+ many, ...refused.slice(0, NAMED_MAX).map(
		([record, trouble]) => `${name(record)}: ${trouble.message}`),
	more > 0 ? `And ${number(more)} more.` : ""].join(" ").trim();
}

// A refusal of one of many stops only that one.
async function doOrder(act) {
	const dialog = el(act), form = dialog.querySelector("form");
	const error = dialog.querySelector(".error");
	const button = dialog.querySelector(".do");
	const mine = subject, {records, place} = mine, {body} = ORDERS[act];
	if (button.disabled || !form.reportValidity())
		return;
	button.disabled = true;
	put(error, "");
	try {
		const came = await carryOut(act, mine, records.map(
			record => ({...noteOf(form.elements),
				...body ? body(form.elements, record) : {}})));
		if (records.length === 1 && came.done === 0)
			throw came.refused[0][1];
		if (isOpenFor(act, mine))
			dialog.close();
		tell(wordsOf(act, records, came), place);
		for (const {key_id: id} of ORDERS[act].many ? records : [])
			chosen.delete(id);
		refresh();
	} catch (trouble) {
		if (isOpenFor(act, mine))
			put(error, trouble.message);
		else
			tell(trouble.message, place);
	}
	button.disabled = false;
}

// One that the page does not have: of the words of its order.
function makeDialog(act, order) {
	const dialog = copyOf("order");
	const part = name => dialog.querySelector(name);
	dialog.id = act;
	dialog.setAttribute("aria-labelledby", act + "-title");
	part("h2").id = act + "-title";
	for (const [name, words] of [[".title", order.title],
		[".means", order.means], [".warning", order.warning],
		[".do", order.button]])
		put(part(name), words);
	if (order.more) {
		part(".more b").textContent = order.more[0];
		part(".more span").textContent = order.more[1];
	} else {
		part(".more").remove();
	}
	document.body.append(dialog);
}

// No button submits: Enter in a field says nothing about a payment.
function addOrders(orders) {
	for (const [act, order] of Object.entries(orders)) {
		ORDERS[act] = order;
		if (el(act) === null)
			makeDialog(act, order);
		const dialog = el(act);
		dialog.querySelector("form").addEventListener("submit",
			event => event.preventDefault());
		dialog.querySelector(".cancel").addEventListener("click",
			() => dialog.close());
		dialog.querySelector(".do").addEventListener("click",
			() => doOrder(act));
		CLICKS[act] = item => openOrder(act, [item.record], item);
	}
}

// --- of keys ---------------------------------------------------------------

// "Name: value" lines as pairs; throws what is wrong.
function headersOf(text) {
	return text.split("\n").filter(line => line.trim() !== "").map(line => {
		const colon = line.indexOf(":");
		if (colon < 1)
			throw new Error(`A header must be "Name: value", `
				+ `not "${line}".`);
		return [line.slice(0, colon), line.slice(colon + 1)]
			.map(part => part.trim());
	});
}

// What an answer of that status may have behind its head; throws what is wrong:
// nobody can put in later what was forgotten.
function bodyOf(status, headers, {body, bare}) {
	const typed = headers.find(([name]) =>
		name.toLowerCase() === "content-type");
	const never = [204, 205, 304].includes(status);
	if (body.value !== "" && bare.checked)
		throw new Error("There is a body, and you say that there is "
			+ "none.");
	if (body.value === "" && !bare.checked && !never)
		throw new Error("Every retry would get an empty answer, for "
			+ "good: put in the API's body, or say that it had "
			+ "none.");
	if (body.value !== "" && typed && /[/+]json\b/i.test(typed[1]))
		try {
			JSON.parse(body.value);
		} catch (trouble) {
			throw new Error("The body is no JSON, which its "
				+ "Content-Type says: " + trouble.message);
		}
	return body.value;
}

// The outcome that the form tells; what is not there has no type.
function outcomeOf(fields) {
	const status = Number(fields.status.value);
	const headers = headersOf(fields.headers.value);
	const body = bodyOf(status, headers, fields);
	return {status, body, headers: headers.filter(([name]) =>
		body !== "" || name.toLowerCase() !== "content-type")};
}

const aboutKey = record => [
	[agoOf(record.changed, Date.now()), record.state === "UNKNOWN"
		? record.reason : record.state,
	record.path && `${record.method} ${record.path}`, record.route,
	"attempt " + record.attempt].filter(Boolean).join(" · ") + " · key ",
	make("b", {}, record.key_id)];

// The attempt that was looked at: another one may have been made meanwhile, of
// which the operator knows nothing; once the key was deleted it has the same
// number.
const meant = ({attempt, changed}) => ({attempt, changed});

addOrders({
	release: {
		path: record => `/keys/${record.key_id}/release`,
		name: nameOf,
		about: aboutKey,
		title: "release, it did not happen",
		means: "You are saying that this did not happen. The next "
			+ "retry is sent to the API, which executes it. So "
			+ "ask the API, or look in its ledger, before you say "
			+ "so. A gateway that is down may still have the "
			+ "answer in its journal.",
		warning: "If it did happen after all, it will happen twice.",
		button: "It did not happen: release",
		body: (fields, record) => meant(record),
		done: record => `${nameOf(record)} is released: its next retry `
			+ `executes. Key ${record.key_id}.`,
		many: "released: their next retries execute.",
	},
	complete: {
		path: record => `/keys/${record.key_id}/complete`,
		name: nameOf,
		about: aboutKey,
		body: (fields, record) => ({
			...meant(record),
			...outcomeOf(fields),
		}),
		done: record => `${nameOf(record)} is completed: every retry `
			+ `gets this answer. Key ${record.key_id}.`,
		many: "completed: every retry of each gets this answer.",
	},
});

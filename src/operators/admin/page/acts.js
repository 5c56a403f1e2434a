// SPDX-License-Identifier: BSD-2-Clause
// What an operator says: each act has a dialog, which asks before anything is
// done.

const ORDERS = {}; // by the id of the dialog
let subject = null; // the record that the open dialog is about

function openOrder(act, record) {
	const dialog = el(act);
	subject = record;
	dialog.querySelector("form").reset();
	dialog.querySelector(".error").textContent = "";
	dialog.querySelector(".subject").replaceChildren(
		...ORDERS[act].about(record));
	dialog.showModal();
}

function noteOf(fields) {
	return fields.note.value === "" ? {} : {note: fields.note.value};
}

async function doOrder(act) {
	const dialog = el(act), form = dialog.querySelector("form");
	const error = dialog.querySelector(".error");
	const button = dialog.querySelector(".do");
	const record = subject, order = ORDERS[act];
	if (button.disabled || !form.reportValidity())
		return;
	button.disabled = true;
	error.textContent = "";
	try {
		const more = order.body ? order.body(form.elements, record)
			: {};
		await ask("POST", order.path(record),
			Object.assign(more, noteOf(form.elements)));
		dialog.close();
		say(order.done(record));
		refresh();
	} catch (trouble) {
		error.textContent = trouble.message;
	}
	button.disabled = false;
}

// One that the page does not have: of the words of its order.
function makeDialog(act, order) {
	const dialog = el("order").content.firstElementChild.cloneNode(true);
	const part = name => dialog.querySelector(name);
	dialog.id = act;
	dialog.setAttribute("aria-labelledby", act + "-title");
	part("h2").id = act + "-title";
	for (const [name, words] of [["h2", order.title],
		[".means", order.means], [".warning", order.warning],
		[".do", order.button]])
		part(name).textContent = words;
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
	`${record.state}, ${record.route || "no route"}, attempt `
		+ `${record.attempt}, key `, make("b", {}, record.key_id)];

// The attempt that was looked at: another one may have been made meanwhile, of
// which the operator knows nothing.
addOrders({
	release: {
		path: record => `/keys/${record.key_id}/release`,
		about: aboutKey,
		body: (fields, record) => ({attempt: record.attempt}),
		done: record => `${record.key_id} is released: its next retry `
			+ "executes.",
	},
	complete: {
		path: record => `/keys/${record.key_id}/complete`,
		about: aboutKey,
		body: (fields, record) => ({
			attempt: record.attempt,
			...outcomeOf(fields),
		}),
		done: record => `${record.key_id} is completed: every retry `
			+ "gets this answer.",
	},
});

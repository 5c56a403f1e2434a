// SPDX-License-Identifier: BSD-2-Clause
// What an operator says about a key: two dialogs.

let subject = null; // the record that the open dialog is about

function openAct(act, record) {
	const dialog = el(act);
	subject = record;
	dialog.querySelector("form").reset();
	dialog.querySelector(".error").textContent = "";
	dialog.querySelector(".subject").replaceChildren(
		`${record.state}, ${record.route || "no route"}, attempt `
		+ `${record.attempt}, key `, make("b", {}, record.key_id));
	dialog.showModal();
}

// "Name: value" lines as pairs; throws what is wrong.
function headersOf(text) {
	return text.split("\n").filter(line => line.trim() !== "").map(line => {
		const colon = line.indexOf(":");
		if (colon < 1)
			throw new Error(`A header has to be "Name: value", `
				+ `not "${line}".`);
		return [line.slice(0, colon), line.slice(colon + 1)]
			.map(part => part.trim());
	});
}

function bodyOf(act, form) {
	const fields = form.elements;
	const body = fields.note.value === "" ? {}
		: {note: fields.note.value};
	if (act !== "complete")
		return body;
	return Object.assign(body, {
		status: Number(fields.status.value),
		headers: headersOf(fields.headers.value),
		body: fields.body.value,
	});
}

// What was looked at must still be so: another attempt may have been made
// meanwhile, of which the operator knows nothing.
async function checkUnchanged(record) {
	const {json} = await ask("GET", "/keys/" + record.key_id);
	if (json.state !== record.state || json.attempt !== record.attempt ||
	    json.changed !== record.changed)
		throw new Error(`The record has changed meanwhile: it is `
			+ `${json.state} now, attempt ${json.attempt}. Nothing `
			+ `was done. Cancel, and look again.`);
}

const DONE = {
	release: "is released: the next retry executes it.",
	complete: "is completed: every retry is given this answer.",
};

async function doAct(act) {
	const dialog = el(act), form = dialog.querySelector("form");
	const error = dialog.querySelector(".error");
	const button = dialog.querySelector(".do");
	const record = subject;
	if (button.disabled || !form.reportValidity())
		return;
	button.disabled = true;
	error.textContent = "";
	try {
		const body = bodyOf(act, form);
		await checkUnchanged(record);
		await ask("POST", `/keys/${record.key_id}/${act}`, body);
		dialog.close();
		say(`${record.key_id} ${DONE[act]}`);
		refresh();
	} catch (trouble) {
		error.textContent = trouble.message;
	}
	button.disabled = false;
}

// No button submits: Enter in a field says nothing about a payment.
for (const act of ["release", "complete"]) {
	const dialog = el(act);
	dialog.querySelector("form").addEventListener("submit",
		event => event.preventDefault());
	dialog.querySelector(".cancel").addEventListener("click",
		() => dialog.close());
	dialog.querySelector(".do").addEventListener("click",
		() => doAct(act));
}

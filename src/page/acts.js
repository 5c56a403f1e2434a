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
			throw new Error(`A header must be "Name: value", `
				+ `not "${line}".`);
		return [line.slice(0, colon), line.slice(colon + 1)]
			.map(part => part.trim());
	});
}

// The attempt that was looked at: another one may have been made meanwhile, of
// which the operator knows nothing.
function bodyOf(act, form) {
	const fields = form.elements;
	const body = {attempt: subject.attempt};
	if (fields.note.value !== "")
		body.note = fields.note.value;
	if (act !== "complete")
		return body;
	return Object.assign(body, {
		status: Number(fields.status.value),
		headers: headersOf(fields.headers.value),
		body: fields.body.value,
	});
}

const DONE = {
	release: "is released: its next retry executes.",
	complete: "is completed: every retry gets this answer.",
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
function readyDialog(name, act) {
	const dialog = el(name);
	dialog.querySelector("form").addEventListener("submit",
		event => event.preventDefault());
	dialog.querySelector(".cancel").addEventListener("click",
		() => dialog.close());
	dialog.querySelector(".do").addEventListener("click", act);
}

for (const act of ["release", "complete"])
	readyDialog(act, () => doAct(act));

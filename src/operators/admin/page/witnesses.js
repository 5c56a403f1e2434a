// SPDX-License-Identifier: BSD-2-Clause
// Witnesses of routes: whether they are believed.

const WITNESS_STATES = {
	"unproven": "Nobody has seen the API write its row yet: what is "
		+ "unknown of this route is not asked about.",
	"proven": "The API writes its row: what was unknown before the last "
		+ "proof is asked about.",
	"enforced": "The API's database enforces the row.",
	"absent": "The API answered 2xx and had written no row: nothing of "
		+ "this route is asked about any more.",
	"broken": "The API answered 2xx for what had been revoked: nothing of "
		+ "this route is asked about any more.",
};

function fillWitness(item, witness, now) {
	const part = name => item.querySelector(name);
	const ended = witness.state === "absent" || witness.state === "broken";
	item.record = witness;
	putChip(part(".chip"), witness.state, ended ? "bad"
		: witness.trusted ? "good" : "warn");
	put(part(".name"), witness.route);
	put(part(".of"), `${witness.broker}, ${witness.table}`
		+ (witness.enforced_by ? `, ${witness.enforced_by}` : ""));
	put(part(".why"), (WITNESS_STATES[witness.state] || "")
		+ (witness.since ? ` Since ${agoOf(witness.since, now)}.`
			: ""));
	part(".trust").hidden = !ended;
	nameButtons(item, witness.route);
}

function showWitnesses(witnesses, now) {
	el("witnesses-card").hidden = witnesses.length === 0;
	syncList(el("witnesses"), witnesses, witness => "w" + witness.route,
		"place-item", (item, witness) =>
			fillWitness(item, witness, now));
}

addOrders({
	trust: {
		path: () => "/witnesses/trust",
		name: ({route}) => route,
		about: ({broker, table}) => [`${broker}, ${table}`],
		title: "trust the witness again",
		means: "You are saying that the API writes its row with each "
			+ "payment again. All gateways ask about what is "
			+ "unknown of this route as soon as that is proven "
			+ "anew, or where its database enforces the row.",
		warning: "What was sent before this stays unknown until it is "
			+ "resolved by hand.",
		button: "Trust it again",
		body: ({note}, {route}) => {
			if (note.value.trim() === "")
				throw new Error("Say in the note what you "
					+ "looked at.");
			return {route};
		},
		done: ({route}) => `The witness of ${route} may be believed `
			+ "again.",
	},
});

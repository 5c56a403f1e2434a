// SPDX-License-Identifier: BSD-2-Clause
// Relays: whether they deliver what they should.

function relayWord(relay) {
	return relay.paused ? "paused" : !relay.runs ? "idle"
		: relay.up ? "delivering" : "down";
}

function deliveredBy(relay) {
	const parts = [`${number(relay.events || 0)} delivered by this `
		+ "gateway"];
	if (!relay.runs && !relay.paused)
		parts.unshift("it stands by, for another gateway");
	if (relay.lag)
		parts.push(`${number(relay.lag)} to be delivered`);
	if (relay.lost)
		parts.push(`${number(relay.lost)} lost`);
	return parts.join(", ");
}

function fillRelay(item, relay, now) {
	const part = name => item.querySelector(name);
	const word = relayWord(relay);
	item.record = relay;
	putChip(part(".chip"), word, {down: "bad", delivering: "good",
		paused: "warn"}[word]);
	put(part(".name"), relay.name);
	put(part(".of"), [relay.kind, relay.broker, relay.table, relay.topic,
		relay.receiver].filter(Boolean).join(" "));
	put(part(".counts"), deliveredBy(relay));
	put(part(".why"), relay.paused ? pausedBy(relay.paused, now)
		: relay.error || "");
	part(".pause").hidden = Boolean(relay.paused);
	part(".resume").hidden = !relay.paused;
	nameButtons(item, relay.name);
}

function showRelays(relays) {
	el("relays-card").hidden = relays.json.relays.length === 0;
	syncList(el("relays"), relays.json.relays, relay => "r" + relay.name,
		"place-item", (item, relay) =>
			fillRelay(item, relay, relays.now));
}

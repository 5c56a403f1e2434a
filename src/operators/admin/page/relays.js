// SPDX-License-Identifier: BSD-2-Clause
// Relays: whether they bring what they should.

function relayWord(relay) {
	return relay.paused ? "paused" : !relay.runs ? "elsewhere"
		: relay.up ? "brings" : "down";
}

function broughtBy(relay) {
	const parts = [`${number(relay.events || 0)} brought by this gateway`];
	if (relay.lag)
		parts.push(`${number(relay.lag)} to be brought`);
	if (relay.lost)
		parts.push(`${number(relay.lost)} lost`);
	return parts.join(", ");
}

function fillRelay(item, relay, now) {
	const part = name => item.querySelector(name);
	const word = relayWord(relay);
	item.record = relay;
	put(part(".chip"), word);
	part(".chip").className = "chip " + (word === "down" ? "bad"
		: word === "brings" ? "good" : word === "paused" ? "warn" : "");
	put(part(".name"), relay.name);
	put(part(".of"), [relay.kind, relay.broker, relay.table, relay.topic,
		relay.receiver].filter(Boolean).join(" "));
	put(part(".counts"), broughtBy(relay));
	put(part(".why"), relay.paused ? pausedBy(relay.paused, now)
		: relay.error || "");
	part(".stop").hidden = Boolean(relay.paused);
	part(".go").hidden = !relay.paused;
}

const makeRelay = makeOf("relay-item", ["stop", "go"], relay => relay.name);

function showRelays(relays) {
	el("relays-card").hidden = relays.json.relays.length === 0;
	syncList("relays", relays.json.relays, relay => "r" + relay.name,
		makeRelay, (item, relay) => fillRelay(item, relay, relays.now));
}

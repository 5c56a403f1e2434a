// SPDX-License-Identifier: BSD-2-Clause
// Routes that only observe: what they would have done.

const WOULD = {
	"executed": "executed, as the first of their key",
	"replayed": "given the first one's answer",
	"in-flight": "refused, while the first one is at work (409)",
	"mismatch": "refused, as the key was another request's (422)",
	"unknown": "held, as nobody knows what became of the first (409)",
	"passed": "passed on without a key",
	"key-missing": "refused for want of a key (400)",
	"key-invalid": "refused for a key that is none (400)",
	"scope-missing": "refused for naming no tenant (400)",
	"token-invalid": "refused for a token that is not valid (401)",
	"bad-request": "refused as malformed (400)",
	"too-large": "refused as too large (413)",
	"not-observed": "not looked at",
};

function wouldOf(counts) {
	const parts = Object.keys(WOULD).filter(name => counts[name] > 0)
		.map(name => `${number(counts[name])} ${WOULD[name]}`);
	return parts.length > 0 ? parts.join("; ") : "No requests yet.";
}

function fillObserved(item, route) {
	const part = name => item.querySelector(name);
	put(part(".chip"), route.observes ? "observes" : "observed");
	put(part(".name"), route.route);
	put(part(".of"), route.observes ? ""
		: "until a reload; it does not observe any more");
	put(part(".counts"), wouldOf(route.would));
}

function fillAgain(item, request, now) {
	const part = name => item.querySelector(name);
	put(part(".chip"), request.would);
	put(part(".name"), request.route);
	putTime(part("time"), request.time, now);
	put(part(".why"), `request ${request.request_id} has the key of `
		+ `${request.first_request_id}`);
	put(part(".id"), "key " + request.key_id);
}

function showObserved(observed) {
	const {routes, duplicates} = observed.json;
	el("observed-card").hidden = routes.length === 0;
	syncList(el("observed"), routes, route => "o-" + route.route,
		"place-item", fillObserved);
	syncList(el("again"), duplicates, request =>
		`a-${request.time}-${request.request_id}`,
		"again-item", (item, request) =>
			fillAgain(item, request, observed.now));
}

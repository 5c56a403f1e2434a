// SPDX-License-Identifier: BSD-2-Clause
// Keys that are not completed, oldest first: in groups, by what became of them
// and where, and those that are selected.

const FEW = 10; // so many keys are shown without being asked for
const PAGE = 50;
const SELECTED_MAX = 1000;
let findText = "";
const folds = new Map(); // by the id of a group: {open, limit}

function groupIdOf({state, route, reason}) {
	return `g-${state}-${route || ""}-${reason || ""}`;
}

function listOf({found, state, route, reason}, limit) {
	const part = text => encodeURIComponent(text || "");
	return (found ? `/keys?find=${part(findText)}` : `/keys?state=${state}`
		+ `&route=${part(route)}&reason=${part(reason)}`)
		+ `&limit=${limit}`;
}

function fillHead(item, group, now) {
	const part = name => item.querySelector(".head " + name);
	const where = group.route || "no route";
	const mine = [...chosen.values()].filter(record =>
		groupIdOf(record) === group.id).length;
	const all = part(".all");
	put(part(".count"), number(group.count));
	putChip(part(".chip"), group.state, CHIPS[group.state]);
	put(part(".route"), where);
	put(part(".why"), whyOf(group));
	put(part("time"), group.oldest ? "oldest " + agoOf(group.oldest, now)
		: "");
	part(".fold").setAttribute("aria-expanded",
		String(folds.get(group.id).open));
	all.setAttribute("aria-label", `select all ${number(group.count)} of `
		+ `${where}, ${whyOf(group)}`);
	all.checked = mine > 0 && mine >= Math.min(group.count, SELECTED_MAX);
	all.indeterminate = mine > 0 && !all.checked;
}

function fillGroup(item, group, now) {
	const {open, limit} = folds.get(group.id);
	const list = item.querySelector("ul");
	item.group = group;
	item.querySelector(".head").hidden = Boolean(group.found);
	if (!group.found)
		fillHead(item, group, now);
	list.hidden = !open;
	syncKeys(list, open && group.keys ? group.keys : [], now,
		!group.found);
	item.querySelector(".more").hidden = !open || !group.next
		|| limit >= 1000;
}

CLICKS.fold = ({group}) => {
	const fold = folds.get(group.id);
	fold.open = !fold.open;
	refresh();
};

CLICKS.more = ({group}) => {
	folds.get(group.id).limit += PAGE;
	refresh();
};

// --- the selection ----------------------------------------------------------

const chosen = new Map(); // by key_id: the record that was looked at

function showChosen() {
	const none = chosen.size === 0;
	const askable = [...chosen.values()].some(record => record.askable);
	const words = none ? "" : `${number(chosen.size)} selected`;
	if (!none && el("chosen-count").textContent !== words)
		say(words);
	put(el("chosen-count"), words);
	el("chosen-hint").hidden = !none;
	for (const act of ["release", "complete", "none"])
		el("chosen-" + act).hidden = none;
	el("chosen-ask").hidden = !askable;
	for (const pick of document.querySelectorAll(".pick"))
		pick.checked = chosen.has(
			pick.closest("li").record.key_id);
}

// All of a group: the first thousand, in one page.
CLICKS.all = async ({group}, {checked}) => {
	const {json} = checked ? await ask("GET", listOf(group, SELECTED_MAX))
		: {json: {keys: []}};
	for (const [id, record] of chosen)
		if (groupIdOf(record) === group.id)
			chosen.delete(id);
	for (const record of json.keys)
		chosen.set(record.key_id, record);
	showChosen();
	refresh();
};

// What has been resolved is not selected any more.
function forgetResolved(groups) {
	const known = new Map(groups.map(group => [group.id, group]));
	for (const [id, record] of chosen) {
		const group = known.get(groupIdOf(record));
		const keys = group && !group.next && group.keys;
		if (!group || (keys && !keys.some(key => key.key_id === id)))
			chosen.delete(id);
	}
}

// Where the result of what is done with the selection is shown.
function placeOfChosen() {
	const [first] = chosen.values();
	return el(groupIdOf(first)) || el("held").firstElementChild;
}

// --- all of it --------------------------------------------------------------

const FLYING_LIMIT = 20;

// Of the groups, those that are unfolded have their keys.
async function askKeys() {
	const told = findText ? {json: {groups: [{found: true}], more: false}}
		: await ask("GET", "/keys/groups");
	const {groups, more} = told.json;
	const total = groups.reduce((sum, {count}) => sum + count, 0);
	for (const group of groups) {
		group.id = group.found ? "g" : groupIdOf(group);
		if (!folds.has(group.id))
			folds.set(group.id, {limit: PAGE,
				open: group.found || total <= FEW});
		const {open, limit} = folds.get(group.id);
		if (open)
			Object.assign(group, (await ask("GET",
				listOf(group, limit))).json);
	}
	const flying = await ask("GET",
		"/keys?state=PROCESSING&limit=" + FLYING_LIMIT);
	return {groups, more, flying: flying.json, now: flying.now};
}

let keysAt = null; // when those that are shown were told

// Redis is down: what is not known is not none.
function missKeys() {
	put(el("held-old"), "Redis does not answer: nobody can tell now which "
		+ "keys are unknown, failed or in flight."
		+ (keysAt === null ? "" : " What is shown was told at "
			+ clockOf(keysAt) + "."));
	for (const name of ["held", "flying"])
		el(name + "-none").hidden = true;
	put(el("flying-more"), "Not known while Redis does not answer.");
}

function showKeys(keys) {
	el("held-old").hidden = keys !== null;
	if (keys === null)
		return missKeys();
	const {groups, flying, now} = keys;
	keysAt = now;
	if (!findText)
		forgetResolved(groups);
	showChosen();
	const shown = groups.filter(group => !group.found
		|| group.keys.length > 0);
	syncList(el("held"), shown, group => group.id, "group",
		(item, group) => fillGroup(item, group, now));
	el("chosen").hidden = shown.length === 0;
	put(el("held-none"), findText
		? "None. A completed one is found by its whole label or key_id."
		: "None. Nothing is waiting for you.");
	put(el("held-more"), keys.more ? "There are more groups than these."
		: "");
	syncKeys(el("flying"), flying.keys, now, false);
	put(el("flying-more"), flying.next === null ? ""
		: `Only the ${FLYING_LIMIT} oldest are shown.`);
}

function search(text) {
	findText = text;
	el("find-end").hidden = text === "";
	folds.delete("g");
	refresh();
}

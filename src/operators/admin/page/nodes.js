// SPDX-License-Identifier: BSD-2-Clause
"use strict";

// Elements of the page.  Markup is never made of text: there are no other ways
// than these.
function el(id) {
	return document.getElementById(id);
}

function fill(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes))
		node.setAttribute(name, value);
	node.append(...children);
	return node;
}

function make(tag, attributes, ...children) {
	return fill(document.createElement(tag), attributes, children);
}

function makeSvg(tag, attributes) {
	return fill(document.createElementNS("http://www.w3.org/2000/svg", tag),
		attributes, []);
}

function copyOf(template) {
	return el(template).content.firstElementChild.cloneNode(true);
}

// Only what differs is written: a screen reader, a selection and the focus
// stay where they are.
function put(node, text) {
	if (node.textContent !== text)
		node.textContent = text;
}

function putChip(node, word, kind) {
	put(node, word);
	node.className = "chip " + (kind || "");
}

// --- times ------------------------------------------------------------------

function ageOf(ms) {
	const units = [["day", 86400], ["hour", 3600], ["minute", 60],
		["second", 1]];
	const seconds = Math.max(0, Math.floor(ms / 1000));
	const [unit, size] = units.find(([, n]) => seconds >= n) || units[3];
	const n = Math.floor(seconds / size);
	return `${n} ${unit}${n === 1 ? "" : "s"}`;
}

// On the clock of whoever reads it; with the day, where that is not today.
function clockOf(time, seconds = true) {
	const then = new Date(time);
	const today = then.toDateString() === new Date().toDateString();
	return then.toLocaleString("en", {hourCycle: "h23", hour: "2-digit",
		minute: "2-digit", ...seconds ? {second: "2-digit"} : {},
		...today ? {} : {month: "short", day: "numeric"}});
}

function agoOf(time, now) {
	return `${ageOf(now - Date.parse(time))} ago, ${clockOf(time)}`;
}

function putTime(node, time, now) {
	put(node, agoOf(time, now));
	node.dateTime = node.title = time;
}

// --- lists ------------------------------------------------------------------

// What a button is about, and then what it does, as it is read there.
function nameButtons(item, name) {
	for (const button of item.querySelectorAll("button:not(.name)"))
		button.setAttribute("aria-label",
			`${name}: ${button.textContent}`);
	for (const pick of item.querySelectorAll(".pick"))
		pick.setAttribute("aria-label", `${name}: select`);
}

// The list has these now; nodes of those that stay, stay.
function syncList(list, records, idOf, template, fillOne) {
	const focus = list.contains(document.activeElement);
	const ids = new Set(records.map(idOf));
	for (const item of [...list.children].filter(item => item !== result
		&& !ids.has(item.id))) {
		if (item.contains(result))
			keepResult(item);
		item.remove();
	}
	let place = list.firstElementChild;
	for (const record of records) {
		if (place === result)
			place = place.nextElementSibling;
		let item = list.children.namedItem(idOf(record));
		if (item === null) {
			item = copyOf(template);
			item.id = idOf(record);
		}
		fillOne(item, record);
		if (item === place)
			place = place.nextElementSibling;
		else
			list.insertBefore(item, place);
	}
	if (focus && !list.contains(document.activeElement))
		headOf(list).focus();
	const none = el(list.id + "-none");
	if (none !== null)
		none.hidden = records.length > 0;
}

// What came of the last row of a list stays, where that list was.
function keepResult(item) {
	const focus = result.contains(document.activeElement);
	item.before(result);
	if (focus)
		result.focus();
}

function headOf(list) {
	const section = list.closest("section");
	return el(list.id + "-title") || (section ? section.querySelector("h2")
		: el("held-title"));
}

// What a button or a box of a row does, by the first of its classes.
const CLICKS = {};

document.addEventListener("click", async ({target}) => {
	const button = target.closest("li :is(button, input)");
	const act = button && CLICKS[button.classList[0]];
	if (!act)
		return;
	const item = button.closest("li");
	try {
		await act(item, button);
	} catch (trouble) {
		tell(trouble.message, item);
	}
});

// --- what came of an act ----------------------------------------------------

// It stands where the act was, until it is read or another one comes.
const result = copyOf("result");

function retell(words) {
	put(result.querySelector(".words"), words);
}

// Those who hear the page hear it, too.
function say(words) {
	el("said").textContent = words;
}

function tell(words, place) {
	retell(words);
	if (place !== null && place.isConnected)
		place.before(result);
	else if (!result.isConnected)
		el("held").prepend(result);
	result.focus();
	say(words);
}

CLICKS.ok = () => {
	const head = headOf(result.parentElement);
	result.remove();
	head.focus();
};

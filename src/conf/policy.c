/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/loader_private.h"

/* --- fingerprint.include --- */

void
parse_parts(struct loader *l, const struct given *given)
{
	unsigned parts = 0;
	if (!json_is_array(given->value)) {
		complain_at(l, given->at, "must be a list of strings");
		return;
	}
	for (size_t i = 0; i < json_array_size(given->value); i++) {
		struct place at = {given->at, NULL, i};
		int index = choice_of(l, &at, json_array_get(given->value, i),
		    given->option->words);
		if (index >= 0)
			parts |= 1u << index;
	}
	*(unsigned *)given_field(given) = parts;
}

/* --- outcomes --- */

/* The statuses that "503" or "5xx" stands for; none: it is neither. */
static unsigned
statuses_of(const char *name, unsigned *ret_first)
{
	bool digits = strspn(name, "0123456789") == 3;
	bool class = strspn(name, "0123456789") == 1 && !strcmp(name + 1, "xx");
	if (strlen(name) != 3 || (!digits && !class) || name[0] < '2' ||
	    name[0] > '5')
		return 0;
	*ret_first = (unsigned)(name[0] - '0') * 100;
	if (class)
		return 100;
	*ret_first +=
	    (unsigned)(name[1] - '0') * 10 + (unsigned)(name[2] - '0');
	return 1;
}

/* Reads the entries that stand for so many statuses. */
static void
read_outcomes(struct loader *l, const struct given *given, unsigned wanted)
{
	uint8_t *outcomes = given_field(given);
	const char *name;
	json_t *value;
	json_object_foreach(given->value, name, value)
	{
		struct place at = {given->at, name, 0};
		unsigned first = 0;
		if (statuses_of(name, &first) != wanted)
			continue;
		if (wanted == 0) {
			complain_at(l, &at,
			    "must be a status from \"200\" to \"599\" or a "
			    "class from \"2xx\" to \"5xx\"");
			continue;
		}
		int outcome = choice_of(l, &at, value, given->option->words);
		if (outcome >= 0)
			memset(outcomes + first, outcome, wanted);
	}
}

/*
 * Lays the entries over what the table has already: a status beats its class,
 * and because the built-in entries, those of `defaults` and the route's own
 * come one after the other, each beats those before.
 */
void
parse_outcomes(struct loader *l, const struct given *given)
{
	if (!json_is_object(given->value)) {
		complain_at(l, given->at, "must be an object");
		return;
	}
	read_outcomes(l, given, 0);
	read_outcomes(l, given, 100);
	read_outcomes(l, given, 1);
}

/* --- on_unknown --- */

/* The path to ask the upstream at, with one {key}. */
static const char *
wrong_reconcile(const char *path)
{
	const char *wrong = wrong_target(path);
	const char *key = strstr(path, "{key}");
	if (wrong != NULL)
		return wrong;
	if (key == NULL || strchr(path, '{') != key ||
	    strchr(path, '}') != key + 4 || strpbrk(key + 5, "{}") != NULL)
		return "must have {key} once, and no other braces";
	return NULL;
}

static void
parse_reconcile(struct loader *l, const struct given *given,
    struct conf_idempotency *policy)
{
	static const char member[] = "reconcile";
	json_t *value = json_object_get(given->value, member);
	struct place at = {given->at, member, 0};
	const char *name;
	json_t *other;
	json_object_foreach(given->value, name, other)
	{
		struct place extra = {given->at, name, 0};
		if (strcmp(name, member) != 0)
			complain_at(l, &extra, "there is no such member");
	}
	if (value == NULL) {
		complain_at(l, given->at, "\"%s\" is missing", member);
		return;
	}
	char *text = text_of(l, &at, value);
	if (text == NULL)
		return;
	const char *wrong = wrong_reconcile(text);
	if (wrong != NULL) {
		complain_at(l, &at, "%s", wrong);
		text_free(&text);
		return;
	}
	text_free(&policy->reconcile);
	policy->reconcile = text;
	policy->on_unknown = UNKNOWN_RECONCILE;
}

void
parse_on_unknown(struct loader *l, const struct given *given)
{
	struct conf_idempotency *policy = given->base;
	if (json_is_object(given->value) && !is_text(given->value)) {
		parse_reconcile(l, given, policy);
		return;
	}
	int choice =
	    choice_of(l, given->at, given->value, given->option->words);
	if (choice < 0)
		return;
	policy->on_unknown = (enum on_unknown)choice;
	text_free(&policy->reconcile);
}

void
clear_on_unknown(void *base, void *field)
{
	struct conf_idempotency *policy = base;
	(void)field;
	text_free(&policy->reconcile);
}

/* --- the whole object --- */

/* Lays the file's `defaults` over the policy; what is wrong is said there. */
static void
inherit(struct loader *l, struct conf_idempotency *policy)
{
	const struct option *option =
	    option_at(GROUP_ROOT, offsetof(struct conf, defaults));
	json_t *defaults = file_value(l, option);
	if (defaults == NULL)
		return;
	struct complaints said_already = {NULL, 0};
	struct loader quiet = *l;
	quiet.complaints = &said_already;
	load_object(&quiet, GROUP_IDEMPOTENCY, NULL, defaults, policy);
	complaints_free(&said_already);
}

static void
read_policy(struct loader *l, const struct given *given, bool inherits)
{
	struct conf_idempotency *policy = mem_zero(sizeof *policy);
	load_presets(l, GROUP_IDEMPOTENCY, policy);
	if (inherits)
		inherit(l, policy);
	load_object(l, GROUP_IDEMPOTENCY, given->at, given->value, policy);
	check_idempotency(l, given->at, policy);
	clear_idempotency(NULL, given_field(given));
	*(const struct conf_idempotency **)given_field(given) = policy;
}

void
parse_idempotency(struct loader *l, const struct given *given)
{
	read_policy(l, given, true);
}

void
parse_defaults(struct loader *l, const struct given *given)
{
	read_policy(l, given, false);
}

void
clear_idempotency(void *base, void *field)
{
	struct conf_idempotency **policy = field;
	(void)base;
	if (*policy == NULL)
		return;
	clear_group(GROUP_IDEMPOTENCY, *policy);
	free(*policy);
	*policy = NULL;
}

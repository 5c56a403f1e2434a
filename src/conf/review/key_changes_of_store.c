/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "conf/review/key_changes.h"
#include "conf/review/key_changes_private.h"
#include "conf/review/warning_private.h"
#include "conf/show.h"
#include "conf/show_running.h"

#define AFTER_A_RESTART                                                \
	"a reload does not change this; after a restart, keys that exist " \
	"are not found any more, and their retries are executed again"

static void
warn_of_store(struct complaints *complaints, const char *name)
{
	char *pointer = mem_printf("/store/%s", name);
	warning_add(complaints, pointer, AFTER_A_RESTART);
	free(pointer);
}

static void
warn_of_state_dir(struct complaints *complaints)
{
	warning_add(complaints, "/state_dir",
	    "the private Redis is there; " AFTER_A_RESTART);
}

void
key_changes_of_store(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	static const char *const names[] = {
#define STORE_OPTION(name) name,
#include "tbl/key_options.h"
#undef STORE_OPTION
	    "secret"};
	if (running->store.redis.managed && next->store.redis.managed &&
	    strcmp(running->state_dir, next->state_dir) != 0)
		warn_of_state_dir(complaints);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const struct option *option =
		    option_find(GROUP_ROOT, SPAN("store."), names[i]);
		must(option != NULL);
		size_t at = (size_t)(option - options) * DIGEST_BYTES;
		if (!memcmp(running->fixed + at, next->fixed + at,
			DIGEST_BYTES))
			continue;
		warn_of_store(complaints, names[i]);
	}
}

/* A member's text; empty: it has none. */
static const char *
text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text != NULL ? text : "";
}

void
key_changes_of_store_told(const json_t *told, const struct conf *next,
    struct complaints *complaints)
{
	static const char *const names[] = {
#define STORE_OPTION(name) name,
#include "tbl/key_options.h"
#undef STORE_OPTION
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		json_t *value = show_option(
		    option_find(GROUP_ROOT, SPAN("store."), names[i]), next);
		json_t *old = json_object_get(told, names[i]);
		if (value == NULL)
			value = json_null();
		if (!json_equal(old, value))
			warn_of_store(complaints, names[i]);
		json_decref(value);
	}
	json_t *secret =
	    show_running_secret(next->store.secret, text_of(told, "salt"));
	if (!json_equal(json_object_get(told, "secret"), secret))
		warn_of_store(complaints, "secret");
	json_decref(secret);
	if (json_object_get(told, "state_dir") != NULL &&
	    next->store.redis.managed &&
	    strcmp(text_of(told, "state_dir"), next->state_dir) != 0)
		warn_of_state_dir(complaints);
}

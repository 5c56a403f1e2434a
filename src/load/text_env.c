/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/secret.h"
#include "load/text_private.h"

/*
 * What the environment had, so that a reload finds it again: for as long as
 * the process lives.  Main thread.
 */
static struct hidden {
	struct hidden *next;
	char *name;
	char *value; /* of base/secret.h */
} *all_hidden;

static struct hidden *
find_hidden(const char *name)
{
	struct hidden *hidden = all_hidden;
	while (hidden != NULL && strcmp(hidden->name, name) != 0)
		hidden = hidden->next;
	return hidden;
}

const char *
text_env_value(const char *name)
{
	const char *value = getenv(name);
	const struct hidden *hidden = find_hidden(name);
	bool taken = value != NULL && *value == '\0' && hidden != NULL;
	return taken ? hidden->value : value;
}

/*
 * In place: what begins a process stands in its memory, and for everybody of
 * its user in /proc.  The name stays, so that no list changes that another
 * thread may read.
 */
void
text_env_hide(const json_t *value)
{
	const char *name = json_string_value(json_object_get(value, "env"));
	char *text = name ? getenv(name) : NULL;
	if (text == NULL || *text == '\0')
		return;
	struct hidden *hidden = find_hidden(name);
	if (hidden == NULL) {
		hidden = mem_zero(sizeof *hidden);
		hidden->name = mem_str(span_str(name));
		hidden->next = all_hidden;
		all_hidden = hidden;
	}
	secret_free(hidden->value);
	hidden->value = secret_str(span_str(text));
	sodium_memzero(text, strlen(text));
}

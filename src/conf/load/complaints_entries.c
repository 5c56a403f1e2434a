/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/complaints_private.h"

/* Lists whose entries have a name, and the word for an entry. */
static const struct {
	const char *list, *member, *word;
} named[] = {
    {"/routes/", "name", "route"},
    {"/store/encryption_keys/", "id", "key"},
};

/* The name of the entry that a pointer leads to or through; NULL: none. */
static const char *
entry_name(const char *pointer, json_t *root, const char **ret_word)
{
	for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
		size_t len = strlen(named[i].list);
		if (strncmp(pointer, named[i].list, len) != 0)
			continue;
		struct span rest = span_of(named[i].list + 1, len - 2);
		struct span member;
		json_t *value = root;
		while (span_next(&rest, '/', &member)) {
			char *name = mem_str(member);
			value = json_object_get(value, name);
			free(name);
		}
		value = json_array_get(
		    value, strtoul(pointer + len, NULL, 10));
		*ret_word = named[i].word;
		return json_string_value(
		    json_object_get(value, named[i].member));
	}
	return NULL;
}

/* Whether the words say already which it is; an upstream may be called so. */
static bool
is_named(const char *words, const char *word, const char *name)
{
	char *quoted = mem_printf("%s \"%s\"", word, name);
	bool has = strstr(words, quoted) != NULL;
	free(quoted);
	return has;
}

void
complaints_entries_name(struct complaints *complaints, json_t *root)
{
	for (size_t i = 0; i < complaints->count; i++) {
		struct complaint *c = &complaints->list[i];
		const char *word = NULL;
		const char *name = entry_name(c->pointer, root, &word);
		if (name == NULL || is_named(c->message, word, name))
			continue;
		char *longer =
		    mem_printf("%s \"%s\": %s", word, name, c->message);
		free(c->message);
		c->message = longer;
	}
}

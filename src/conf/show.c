/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/conf_load.h"
#include "conf/show_types.h"

typedef json_t *show(
    const struct option *option, const void *base, const void *field);

/* How each type of conf/types.h is written. */
static show *const shows[TYPE_COUNT_] = {
    [TYPE_BOOLEAN] = show_boolean,
    [TYPE_COUNT] = show_count,
    [TYPE_DURATION] = show_duration,
    [TYPE_SIZE] = show_size,
    [TYPE_CHOICE] = show_choice,
    [TYPE_TOGGLE] = show_toggle,
    [TYPE_TEXT] = show_text,
    [TYPE_SECRET] = show_secret,
    [TYPE_KEY_NAME] = show_text,
    [TYPE_PREFIX] = show_text,
    [TYPE_URI_PREFIX] = show_text,
    [TYPE_FIELD] = show_text,
    [TYPE_FIELDS] = show_strings,
    [TYPE_KEY_FIELDS] = show_one_or_more,
    [TYPE_METHODS] = show_strings,
    [TYPE_HOST_PORTS] = show_strings,
    [TYPE_POINTERS] = show_pointers,
    [TYPE_DERIVE_KEY] = show_derive_key,
    [TYPE_PARTS] = show_parts,
    [TYPE_OUTCOMES] = show_outcomes,
    [TYPE_ON_UNKNOWN] = show_on_unknown,
    [TYPE_ADDRESS] = show_address,
    [TYPE_REDIS] = show_redis,
    [TYPE_MODE] = show_mode,
    [TYPE_PATH] = show_text,
    [TYPE_UPSTREAM_NAME] = show_upstream_name,
    [TYPE_TARGETS] = show_targets,
    [TYPE_KEY_BYTES] = NULL, /* a secret, shown by its list */
    [TYPE_LISTENS] = show_listens,
    [TYPE_ENCRYPTION_KEYS] = show_encryption_keys,
    [TYPE_UPSTREAMS] = show_upstreams,
    [TYPE_ROUTES] = show_routes,
    [TYPE_IDEMPOTENCY] = show_idempotency,
    [TYPE_DEFAULTS] = show_idempotency,
};

json_t *
option_show(const struct option *option, const void *base)
{
	show *shown = shows[option->type];
	must(shown != NULL);
	return shown(option, base, (const char *)base + option->offset);
}

/* Puts a value where the dots of the path lead. */
static void
put(json_t *object, const char *path, json_t *value)
{
	const char *dot = strchr(path, '.');
	if (dot == NULL) {
		must(json_object_set_new(object, path, value) == 0);
		return;
	}
	char *name = mem_str(span_of(path, (size_t)(dot - path)));
	json_t *inner = json_object_get(object, name);
	if (inner == NULL) {
		inner = json_object();
		must(json_object_set_new(object, name, inner) == 0);
	}
	put(inner, dot + 1, value);
	free(name);
}

json_t *
group_show(enum group group, const void *base)
{
	json_t *object = json_object();
	for (size_t i = 0; i < n_options; i++) {
		json_t *value = options[i].group == group
		    ? option_show(&options[i], base)
		    : NULL;
		if (value != NULL)
			put(object, options[i].path, value);
	}
	return object;
}

json_t *
conf_show(const struct conf *conf)
{
	return group_show(GROUP_ROOT, conf);
}

const struct conf *
conf_of_presets(void)
{
	static const char least[] =
	    "{\"listen\": [\"127.0.0.1:0\"],"
	    " \"upstreams\": {\"x\": \"http://127.0.0.1\"},"
	    " \"routes\": [{\"path\": \"/\", \"upstream\": \"x\","
	    "   \"idempotency\": {}}]}";
	struct complaints complaints = {0};
	const struct conf *conf =
	    conf_parse("", span_of(least, sizeof least - 1), &complaints);
	must(conf != NULL);
	return conf;
}

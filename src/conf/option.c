/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/must.h"
#include "conf/conf.h"
#include "conf/option.h"

/* The struct that each group fills. */
typedef struct conf in_ROOT;
typedef struct conf_listen in_LISTEN;
typedef struct conf_admin_token in_ADMIN_TOKEN;
typedef struct conf_encryption_key in_ENCRYPTION_KEY;
typedef struct conf_upstream in_UPSTREAM;
typedef struct conf_route in_ROUTE;
typedef struct conf_idempotency in_IDEMPOTENCY;
typedef struct conf_scope in_SCOPE;
typedef struct conf_idempotency in_RECONCILE;
typedef struct conf_idempotency in_WITNESS;
typedef struct conf_broker in_BROKER;
typedef struct conf_source in_SOURCE;
typedef struct conf_relay in_RELAY;

/* A field must have the type that the functions of its option write. */
#define TYPE(name, ctype, ...) typedef __typeof__(ctype) field_##name;
#include "conf/types.h"
#undef TYPE
#define OPT(group, path, type, field, ...)                        \
	_Static_assert(__builtin_types_compatible_p(__typeof__(   \
	    ((in_##group *)NULL)->field), field_##type) ||        \
	    (TYPE_##type == TYPE_CHOICE &&                        \
	    sizeof(((in_##group *)NULL)->field) ==                \
	    sizeof(unsigned)) || TYPE_##type == TYPE_ON_UNKNOWN,  \
	    "the field of " path " has another type");
#include "tbl/options.h"
#undef OPT

/* The words of the columns of tbl/options.h. */
#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)
#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)
#define TIB (INT64_C(1) << 40)
#define ANY .min = 0
#define RANGE(least, most) .min = (least), .max = (most)
#define WORDS(list) .words = "" list
#define RELOAD .restart = false
#define RESTART .restart = true

/* The default is taken as it is spelled, which is JSON. */
#define OPT(g, p, t, field, range, change, text, ...) \
	{.group = GROUP_##g,                                  \
	    .path = p,                                        \
	    .type = TYPE_##t,                                 \
	    .offset = offsetof(in_##g, field),                \
	    range,                                            \
	    change,                                           \
	    .sentence = text,                                 \
	    .preset = #__VA_ARGS__},

const struct option options[] = {
#include "tbl/options.h"
};
#undef OPT

const size_t n_options = sizeof options / sizeof options[0];

const struct option *
option_of_path(enum group group, const char *path)
{
	size_t i = 0;
	while (i < n_options &&
	    (options[i].group != group || strcmp(options[i].path, path) != 0))
		i++;
	must(i < n_options);
	return &options[i];
}

#define IS_LIST(group, list)                                           \
	_Static_assert(offsetof(in_##group, n_##list) ==               \
		offsetof(in_##group, list) +                           \
		    offsetof(struct option_entries, count),            \
	    "the number of " #list " follows them")
IS_LIST(ROOT, listen);
IS_LIST(ROOT, admin_tokens);
IS_LIST(ROOT, upstreams);
IS_LIST(ROOT, routes);
IS_LIST(ROOT, brokers);
IS_LIST(ROOT, sources);
IS_LIST(ROOT, relays);
_Static_assert(offsetof(struct conf_store, n_encryption_keys) ==
	offsetof(struct conf_store, encryption_keys) +
	    offsetof(struct option_entries, count),
    "the number of keys follows them");

const struct option_list option_lists[TYPE_COUNT_] = {
#define LIST(named, group, own) \
	{GROUP_##group, named, sizeof(in_##group), own}
    [TYPE_LISTENS] = LIST(false, LISTEN, NULL),
    [TYPE_ADMIN_TOKENS] = LIST(true, ADMIN_TOKEN, NULL),
    [TYPE_ENCRYPTION_KEYS] = LIST(false, ENCRYPTION_KEY, "id"),
    [TYPE_UPSTREAMS] = LIST(true, UPSTREAM, NULL),
    [TYPE_ROUTES] = LIST(false, ROUTE, "name"),
    [TYPE_BROKERS] = LIST(true, BROKER, NULL),
    [TYPE_SOURCES] = LIST(true, SOURCE, NULL),
    [TYPE_RELAYS] = LIST(true, RELAY, NULL),
#undef LIST
};

const char *const option_schemas[] = {
#define TYPE(name, ctype, parse, show, ...) #__VA_ARGS__,
#include "conf/types.h"
#undef TYPE
};

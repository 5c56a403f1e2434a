/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/digest.h"
#include "conf/conf_load.h"
#include "conf/option.h"

/*
 * What the files of conf/ share while one configuration is loaded, and
 * nobody else sees: where we are in the file, what was found wrong, and one
 * parse_ and one clear_ function for each line of conf/types.h.  A value that
 * is wrong is complained about and its field left as it was; loading goes on,
 * so that all that is wrong is found in one go.  Main thread.
 */

/* A place in the file: a member or an element of the one it stands in. */
struct place {
	const struct place *up; /* NULL: it stands in the whole file */
	const char *member;     /* NULL: an element */
	size_t index;
};

struct loader {
	struct conf *conf; /* in the making */
	struct complaints *complaints;
	json_t *root; /* of the file; borrowed, like all values */
	/* From the URL of Redis; what is set in the file must not differ. */
	char *url_user;
	char *url_password; /* of base/secret.h */
};

/* A value on its way into the field of an option. */
struct given {
	const struct option *option;
	const struct place *at; /* NULL: the whole file */
	json_t *value;
	void *base; /* the struct of the option's group */
};

static inline void *
given_field(const struct given *given)
{
	return (char *)given->base + given->option->offset;
}

/* --- complaints --- */

/* Complains about what stands at a place; NULL: about the whole file. */
void complain_at(struct loader *l, const struct place *at, const char *fmt,
    ...) PRINTF_LIKE(3, 4);
/* The same about a member of the object at that place. */
void complain_option(struct loader *l, const struct place *at,
    const struct option *option, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Puts them into the order in which the file has their pointers. */
void complaints_sort(struct complaints *complaints, json_t *root);
/* Complains about each member that an object of the JSON text has twice. */
void complain_duplicates(struct loader *l, struct span text);

/* --- objects (load.c) --- */

/* Gives every field of a group its default; the struct is zeroed. */
void load_presets(struct loader *l, enum group group, void *base);
/* Reads an object of a group. */
void load_object(struct loader *l, enum group group, const struct place *at,
    json_t *value, void *base);
/* Reads one value, as the option wants it. */
void load_option(struct loader *l, const struct option *option,
    const struct place *at, json_t *value, void *base);
/* What the file has for the option of the whole file; NULL: nothing. */
json_t *file_value(const struct loader *l, const struct option *option);
/* Reads one more target of an upstream (url.c). */
void load_target(struct loader *l, const struct place *at,
    const json_t *value, struct conf_upstream *upstream);
/*
 * The certificates that an entry of listen names, as they are now; they are
 * freed with it (tls.c).
 */
void load_tls(struct loader *l, const struct place *at,
    struct conf_listen *listen);
void clear_tls(struct conf_tls *tls);
/* The routes, once upstreams and defaults are known (section.c). */
void load_routes(struct loader *l);
/* What spans more than one member, and what follows from others (check.c). */
void check_whole(struct loader *l);
void check_idempotency(struct loader *l, const struct place *at,
    struct conf_idempotency *policy);
/* Frees what the fields of a group hold (conf.c). */
void clear_group(enum group group, void *base);

/* --- strings (text.c) --- */

/* True of a string, and of {"env"} or {"file"} instead of one. */
bool is_text(const json_t *value);
/*
 * The string that a value is or names, never with a NUL inside; NULL after
 * complaining.  The caller frees it with text_free.
 */
char *text_of(struct loader *l, const struct place *at, const json_t *value);
/* The variable of the environment; NULL: there is none. */
const char *env_value(const char *name);
/*
 * Where the value is a secret that {"env"} names: it is taken out of the
 * environment, and env_value() still has it (secret.c).
 */
void env_hide(const json_t *value);
/* Moves a string into memory for secrets; NULL stays NULL. */
char *secret_of(char **text);
/* Wipes and frees a string, nulls the pointer; NULL is accepted. */
void text_free(char **text);
/*
 * Reads a whole file; 0 or an errno, EFBIG beyond max bytes.  The caller
 * frees *ret_text with text_free; it ends in a NUL that ret_len leaves out.
 */
int file_read(const char *name, size_t max, char **ret_text, size_t *ret_len);
/* Where a word stands in a list of words; -1: nowhere. */
int word_index(const char *message, const char *word);
/* `"a", "b" or "c"`, for complaints; the caller frees it. */
char *words_listed(const char *message);
/* Which of the words the value is; -1 after complaining (value.c). */
int choice_of(struct loader *l, const struct place *at, const json_t *value,
    const char *message);

/* "30s" and "64KiB", with the largest unit that fits (value.c); the caller
 * frees them.  A number of bytes without a unit is only digits. */
char *duration_text(int64_t ms);
char *size_text(int64_t bytes);

/* --- checks of one string: what is wrong with it, or NULL --- */

const char *wrong_name(const char *text);
const char *wrong_field(const char *text);
const char *wrong_host_port(const char *text);
/* A path with an optional query, as it stands in a request's target. */
const char *wrong_target(const char *text);
const char *address_parse(const char *text, struct address *ret_address);
const char *host_port_parse(struct span text, char **ret_host,
    uint16_t *ret_port, bool *ret_has_port);

/* Whether an address can only be reached from this machine. */
bool address_is_local(const struct address *address);

/* --- types --- */

#define TYPE(name, ctype, parse, clear, ...) \
	void parse_##parse(struct loader *l, const struct given *given);
#include "conf/types.h"
#undef TYPE

/* Several types share one of these, which C allows. */
#define TYPE(name, ctype, parse, clear, ...) \
	void clear_##clear(void *base, void *field);
#include "conf/types.h"
#undef TYPE

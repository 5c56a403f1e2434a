/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/must.h"
#include "conf/conf.h"

/*
 * What keys.c (the command line) and keys_verbs.c (what is done) share.  Main
 * thread.
 */
enum { WELL = 0, REFUSED = 1, WRONG_USAGE = 2 };

/* What the command line says. */
struct line {
	const char *file;
	bool as_json;
	const char *state;
	long limit;
	const char *key;
	const char *namespace;
	json_t *scope; /* an object */
	bool with_body;
	long status;
	json_t *headers; /* a list of pairs */
	const char *body_file;
	const char *note;
	const char *key_id;

	const struct conf *conf;
};

/* Says on standard error what is wrong with the command line. */
int keys_usage(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Each returns an exit code; conf is set. */
int keys_list(struct line *line);
int keys_show(struct line *line);
int keys_release(struct line *line);
int keys_complete(struct line *line);
int keys_delete(struct line *line);

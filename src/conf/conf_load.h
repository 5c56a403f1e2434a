/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * From the file to a struct conf: reads JSON (jansson), walks the one table
 * of options (tbl/options.h), and finds all that is wrong in one go, each
 * with its JSON pointer (RFC 6901) and a sentence for people.  It opens no
 * socket.  Main thread.
 */
struct complaint {
	char *pointer; /* "/" for the whole file; NULL: not about a member */
	char *message;
};

struct complaints {
	struct complaint *list;
	size_t count;
};

/*
 * Loads a file; NULL when there is anything to complain about.  Complaints
 * are in the order of the file's members; the caller frees them.
 */
MUST_USE const struct conf *conf_load(
    const char *file, struct complaints *complaints);
/* The same from text, for tests; file is the name that messages have. */
MUST_USE const struct conf *conf_parse(
    const char *file, struct span text, struct complaints *complaints);

/*
 * What differs between two files and a reload does not change, so that the
 * operator is told to start anew.  A secret whose {"file"} changed is not
 * noticed.
 */
void conf_needs_restart(const struct conf *running, const struct conf *next,
    struct complaints *complaints);

/* A NULL pointer says that it is not about a member. */
void complain(struct complaints *complaints, const char *pointer,
    const char *fmt, ...) PRINTF_LIKE(3, 4);
void complaints_free(struct complaints *complaints);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/keys_line_private.h"

/*
 * Which records `onceproxy keys` is to look at or to resolve: the KEY_IDs of
 * the command line and of --from-file.  It knows no verb.  Main thread.
 */

/*
 * Takes the arguments, and the first word of each line of line->ids_file, into
 * line->ids; a table's title is left out, so that a list of `onceproxy keys
 * list` may be such a file.  An exit code.
 */
int keys_ids_read(struct keys_line *line, int n_names, char **names);

/* The KEY_ID of a problem document's instance; any other text as it is. */
const char *keys_ids_of_instance(const char *text);

/* "ACT the record KEY_ID? FOLLOWS", and "nothing was DONE". */
struct keys_question {
	const char *act, *follows, *done;
};
/*
 * Asks on the terminal whether that is meant, unless the line has --yes.  An
 * exit code: whoever does not say yes says no.
 */
int keys_ids_ask(
    const struct keys_line *line, const struct keys_question *question);

/* SPDX-License-Identifier: BSD-2-Clause */
#include <fnmatch.h>
#include <string.h>

#include "jsonc/spots.h"
#include "review/warning_private.h"
#include "review/warnings_variables_private.h"

/*
 * What is no value, has its own warning, or may have variables of ours, of
 * which one that does not exist is an error.
 */
static const char *const others[] = {
    "/$schema",
    "/state_dir",
    "/defaults/namespace",
    "/defaults/on_unknown/*",
    "/routes/*/idempotency/namespace",
    "/routes/*/idempotency/on_unknown/*",
    "/sources/*/request/*",
};

static void
warn_of_text(void *arg, const char *pointer)
{
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (fnmatch(others[i], pointer, 0) == 0)
			return;
	warning_add(arg, pointer,
	    "no \"${NAME}\" or \"$NAME\" is replaced: it is taken as it "
	    "stands; write "
	    "{\"env\": \"NAME\"} instead of the whole text");
}

/* A shell would put something else in the place of these. */
static void
warn_of_state_dir(struct complaints *complaints, const char *path)
{
	if (*path == '~' || strstr(path, "${") != NULL)
		warning_add(complaints, "/state_dir",
		    "it is a folder of exactly this name; no \"~\" and no "
		    "\"${...}\" is replaced: write the whole path, or "
		    "{\"env\": NAME}");
}

void
warnings_variables_find(
    const struct conf *conf, struct complaints *complaints)
{
	warn_of_state_dir(complaints, conf->state_dir);
	spots_each_variable(conf->spots, warn_of_text, complaints);
}

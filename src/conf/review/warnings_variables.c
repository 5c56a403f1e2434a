/* SPDX-License-Identifier: BSD-2-Clause */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "conf/jsonc/spots.h"
#include "conf/review/warning_private.h"
#include "conf/review/warnings_variables_private.h"

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

/* "$NAME", which may begin any of a path's names. */
static bool
has_shell_variable(const char *path)
{
	const char *dollar = strchr(path, '$');
	return dollar != NULL &&
	    (ascii_is_alpha(dollar[1]) || dollar[1] == '_' || dollar[1] == '{');
}

/* A shell would put something else in the place of these. */
static void
warn_of_state_dir(struct complaints *complaints, const char *path)
{
	if (*path == '~' || has_shell_variable(path))
		warning_add(complaints, "/state_dir",
		    "it is a folder of exactly this name; no \"~\", no "
		    "\"$NAME\" and no \"${NAME}\" is replaced: write the "
		    "whole path, or {\"env\": NAME}");
}

/* --- secrets that are the name of a file --- */

/* What base64 has, and a path hardly, tells passwords apart. */
static bool
looks_like_file(const char *secret)
{
	if (*secret != '/')
		return false;
	return access(secret, F_OK) == 0 ||
	    (strchr(secret + 1, '/') != NULL && strpbrk(secret, "+=") == NULL);
}

static void
warn_of_secret(struct complaints *complaints, const struct conf *conf,
    const char *pointer, const char *secret)
{
	char *env = mem_printf("%s/env", pointer);
	char *file = mem_printf("%s/file", pointer);
	if (secret != NULL && looks_like_file(secret) &&
	    spots_has(conf->spots, pointer) && !spots_has(conf->spots, env) &&
	    !spots_has(conf->spots, file))
		warning_add(complaints, pointer,
		    "this is the secret itself, and no file is read; did you "
		    "mean {\"file\": PATH}?");
	free(env);
	free(file);
}

static void
warn_of_secrets(struct complaints *complaints, const struct conf *conf)
{
	warn_of_secret(complaints, conf, "/admin/token", conf->admin_token);
	warn_of_secret(complaints, conf, "/store/secret", conf->store.secret);
	warn_of_secret(complaints, conf, "/store/password",
	    conf->store.redis.password);
	for (size_t i = 0; i < conf->n_brokers; i++) {
		char *pointer = mem_printf(
		    "/brokers/%s/password", conf->brokers[i].name);
		warn_of_secret(
		    complaints, conf, pointer, conf->brokers[i].password);
		free(pointer);
	}
}

void
warnings_variables_find(
    const struct conf *conf, struct complaints *complaints)
{
	warn_of_state_dir(complaints, conf->state_dir);
	spots_each_variable(conf->spots, warn_of_text, complaints);
	warn_of_secrets(complaints, conf);
}

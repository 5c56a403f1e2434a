/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "base/loop/loop.h"
#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * The admin interface: health, status and the operator's view of records, as
 * JSON over HTTP.  It has a front and a store of its own and runs on the main
 * thread's loop, so that it answers while workers are busy and to the end of
 * a drain.  It shares nothing with the workers but the configuration and the
 * numbers that it reads of them; its memory for bodies is its own.
 */
struct admin;
struct store_health;
struct worker;

/* /status shows these besides; all of it outlives the admin interface. */
struct admin_view {
	const char *address; /* its own, as it really is */
	const char *const *listen;
	size_t n_listen;
	struct worker *const *workers; /* conf->workers of them */
	int64_t started_ms;            /* since 1970 */
};

/* Serves on that listening socket, which is its own from now on. */
struct admin *admin_new(struct loop *loop, const struct conf *conf,
    struct store_health *health, int fd, const struct admin_view *view);
/* The routes and policies of that configuration count from now on; or NULL. */
void admin_reload(struct admin *admin, const struct conf *conf);
/*
 * The complaints that /status tells of the last reload; all have their places.
 * Accepts NULL.
 */
enum admin_reload_news {
	ADMIN_RELOAD_REFUSED, /* for these reasons; what was loaded stays */
	ADMIN_RELOAD_PARTIAL, /* these are not changed before a restart */
	/*
	 * These are changed of keys that there are, which is shown until
	 * another reload changes some, or a restart.
	 */
	ADMIN_RELOAD_KEYS,
};
void admin_reload_tell(struct admin *admin, enum admin_reload_news news,
    const struct complaints *complaints);
/* From now on /readyz says that the gateway drains. */
void admin_drain(struct admin *admin);
/* Cuts what it is answering; nulls the caller's pointer, accepts NULL. */
void admin_free(struct admin **admin);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"
#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * The admin interface tells health and status, and shows operators their
 * records, sources and messages, as JSON over HTTP.  It has a front and a store
 * of its own and runs on the main thread's loop, so that it answers while
 * workers are busy and to the end of a drain.  It shares nothing with the
 * workers but the configuration and the numbers that it reads of them; its
 * memory for bodies is its own.
 */
struct admin;
struct store_health;
struct worker;

/* /status shows these, too; all of it outlives the admin interface. */
struct admin_view {
	const char *address; /* its own, as it really is */
	const char *const *listen;
	size_t n_listen;
	struct worker *const *workers; /* conf->workers of them */
	int64_t started_ms;            /* since 1970 */
};

/* Starts to serve on a listening socket, which is its own from now on. */
struct admin *admin_new(struct loop *loop, const struct conf *conf,
    struct store_health *health, int fd, const struct admin_view *view);
/* Has that configuration's routes and policies count now; accepts NULL. */
void admin_reload(struct admin *admin, const struct conf *conf);
/* The complaints of a reload are about this: */
enum admin_reload_news {
	ADMIN_RELOAD_REFUSED, /* it was refused; what was loaded stays */
	ADMIN_RELOAD_PARTIAL, /* members that change only with a restart */
	/*
	 * Members that existing keys depend on were changed; this is shown
	 * until another reload changes some, or a restart.
	 */
	ADMIN_RELOAD_KEYS,
};
/* Has /status show complaints, which have their places.  Accepts NULL. */
void admin_reload_tell(struct admin *admin, enum admin_reload_news news,
    const struct complaints *complaints);
/* Has /readyz say from now on that the gateway drains. */
void admin_drain(struct admin *admin);
/* Cuts its answers short; nulls the caller's pointer, accepts NULL. */
void admin_free(struct admin **admin);

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

/* What /status shows besides; all of it outlives the admin interface. */
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
 * A reload was refused, for these reasons, which have their places; what was
 * loaded stays.  Accepts NULL.
 */
void admin_reload_refused(
    struct admin *admin, const struct complaints *complaints);
/*
 * What the reload did not change, and a restart would; all have their places.
 * Accepts NULL.
 */
void admin_reload_partial(
    struct admin *admin, const struct complaints *complaints);
/*
 * What the reload changes of keys that there are, which is shown until another
 * one does, or a restart: all have their places.  Accepts NULL.
 */
void admin_reload_keys(
    struct admin *admin, const struct complaints *complaints);
/* From now on /readyz says that the gateway drains. */
void admin_drain(struct admin *admin);
/* Cuts what it is answering; nulls the caller's pointer, accepts NULL. */
void admin_free(struct admin **admin);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "base/loop/loop.h"
#include "conf/conf.h"
#include "gate/worker_part.h"

/*
 * The sources of one worker, or its relays, as its part: those of the
 * configuration that are its own, each begun, changed and ended as the
 * configuration says.  One is always the same worker's, by its name.  It knows
 * nothing of what they do.  The worker's thread, but for members_of.
 */
struct members;

/* One of them; a member of its own struct. */
struct part_member {
	struct list item; /* of its worker's */
	/* As it is configured, for as long as it is there. */
	const char *name;
	struct span digest;
	bool draining; /* it begins nothing any more, and is gone soon */
};

struct member_kind {
	const char *word; /* as worker_owns has it */
	/* Name and digest of that one of the configuration; false: no more. */
	bool (*read)(
	    const struct conf *conf, size_t at, struct part_member *ret_member);
	/* Begins that one of the worker's present configuration. */
	struct part_member *(*begin)(struct members *all, size_t at);
	/* Called once, when it is draining. */
	void (*drain)(struct part_member *member);
	/* Whether there is nothing to wait for; in each turn from then on. */
	bool (*is_drained)(struct part_member *member);
	/* Ends what is left, and frees it; it is in no list any more. */
	void (*end)(struct part_member *member);
};

/* The first member of the part of each kind. */
struct members {
	struct worker_part part; /* first */
	const struct member_kind *kind;
	struct worker *worker;
	struct list list; /* of struct part_member */
	struct hook hook;
	bool draining;
};

/* Begins those of the worker; part.kind is set. */
void members_begin(struct members *members, const struct member_kind *kind,
    struct worker *worker);

/* As struct worker_part_kind has them. */
void members_reload(struct worker_part *part, struct generation *generation);
void members_drain(struct worker_part *part);
void members_over(struct worker_part *part);
bool members_are_idle(const struct worker_part *part);
void members_end(struct worker_part *part);

/* That worker's part of that kind, as its own struct; NULL: it has none. */
void *members_of(
    const struct worker *worker, const struct worker_part_kind *kind);

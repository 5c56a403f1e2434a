/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "base/loop/log.h"
#include "store/redis/link.h"
#include "store/redis/redis_error.h"
#include "store/store_parts.h"

/*
 * A channel is one connection to a node's server, by which scripts are run, and
 * what is kept for that connection alone.  Each run has a name that no other
 * has, in any store, and the script puts it into its reply (lua/clock.lua):
 * nothing else tells one reply from another, and where one is lost or comes
 * twice on the way, each run behind it would be given its neighbour's.  Where
 * Redis does not have a script, the channel brings it there.  It knows neither
 * what scripts do nor who runs them.  For src/store/ alone; the store's thread.
 */
enum { CHANNEL_NAME_CHARS = 16 };

/* FUNCTION LOAD of our library (record/script.h). */
struct channel_loader {
	struct link_call call;
	bool under_way;
	bool failed; /* Redis refused the last one; the log has the reason */
};

/* WAIT (replicas.h). */
struct replicas {
	struct link_call call;
	struct hook flush;
	struct list delayed; /* replies, the last one first */
	bool wanted;      /* a step was sent, and no WAIT after it */
	bool under_way;
	bool few;         /* the last WAIT counted too few */
};

/* Batches that leave at the end of this turn (batch.h). */
enum { BATCH_KINDS = 3 };
struct batches {
	struct batch *open[BATCH_KINDS]; /* as batch.c has them */
	struct hook flush;
	bool hooked;
	struct resp command; /* its room is used again and again */
	int64_t refused_us; /* clock_us() when Redis last refused one; 0 */
};

struct channel {
	struct store *store;
	struct link *link; /* of the large channel: NULL until needed */
	struct list queue; /* calls that wait until they can be sent */
	bool is_late;   /* a call on it has timed out (call.c) */
	bool said_down; /* the log has it that the large one is down */
	/* A library is loaded, and WAIT counts, for what it has sent itself. */
	struct channel_loader loader;
	struct replicas replicas;
	struct batches batches;
};

/* One run of a script; a member of whoever waits for it, and sets link.done. */
struct channel_run {
	struct link_call link;
	enum script script;
	bool whole; /* the script, or its library, was sent with it */
	bool reads; /* as the function that only reads */
	char name[CHANNEL_NAME_CHARS + 1]; /* as it was last sent */
};

/*
 * Begins the command of a run, under a new name: n_args arguments follow, of
 * which the first is the number of keys; then channel_send.
 */
void channel_begin(struct channel *channel, struct channel_run *run,
    size_t n_args, struct resp *command);
/* Sends the command of a run; the channel's link must be up. */
void channel_send(struct channel *channel, struct channel_run *run,
    struct resp *command);
/*
 * True: a reply, which was read without an error and has that name, is to this
 * run.  Otherwise the connection is cut.
 */
MUST_USE bool channel_is_own(struct channel *channel,
    const struct channel_run *run, bool read, struct span name);
/*
 * The run was refused by that error.  True: because Redis lacks the script; it
 * is to be sent once more, and then brings the script along.
 */
bool channel_brings_script(struct channel *channel, struct channel_run *run,
    enum redis_error error);

/* Sends a command of those words, which is no run. */
void channel_ask(struct channel *channel, struct link_call *call,
    const struct span *words, size_t count);
/*
 * False where a reply is neither of the type that its command has nor an error
 * nor NULL: it belongs to another command, and the connection is cut.
 */
bool channel_check_type(
    struct channel *channel, const struct redisReply *reply, int type);
/*
 * Logs that Redis refused something, of which what is a word such as "claim":
 * errors of the same kind (their first word) in a row once a second.
 */
void channel_log_refused(struct channel *channel, enum event event,
    const char *what, const char *error);

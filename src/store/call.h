/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/batch.h"
#include "store/replicas.h"

/*
 * A call is one run of one script, asked for by an operation (struct store_op),
 * which somebody waits for and which may have several, or by nobody.  It finds
 * the node that has its shard, waits for it while it may still come up, is sent
 * on a channel to it, alone or in a batch, and follows a slot that has moved.
 * Its reply is believed where it is the reply to this call, and given to its
 * done where enough replicas have what it says.  A call may outlive its
 * operation, and frees itself at its end.
 *
 * It knows nothing of what scripts do, but for the arguments that several have
 * in common; their order is at the head of each script in
 * src/store/record/lua/.  For src/store/, src/gate/key/, src/messages/shared/
 * and src/messages/relay/; the store's thread.
 */
enum call_end {
	CALL_ANSWERED, /* reply has the answer */
	CALL_NOT_RUN,  /* never sent, or refused before anything changed */
	CALL_LOST,     /* sent; nobody knows whether it was executed */
};

struct store_call {
	struct channel_run run;
	struct link_call ahead; /* of ASKING: each of them has its own reply */
	struct store *store;
	unsigned shard;    /* the shard of all keys that it touches */
	/* The node that it was sent to or waits for; NULL: none yet. */
	struct node *node;
	struct channel *channel; /* of the node */
	bool large; /* it carries or brings a large value: the large channel */
	char *refused; /* it only reads, after this error; NULL: after none */
	bool asking;        /* goes after ASKING: its slot is being moved */
	unsigned redirects; /* how often it was sent to another node */
	size_t n_args;      /* numkeys, keys and arguments */
	struct resp args;   /* those, as they follow the script's name */
	int64_t events_maxlen; /* follows; 0: no events, no such argument */
	struct batch_item item; /* where it may leave with others */
	bool alone;    /* that was tried, and it is no usual one */
	bool in_doubt; /* … but an error came, and it may have been executed */

	struct key_id key_id; /* for the log; a renewal has none */
	struct owner owner;   /* whose outcome it stores */

	/* The operation that waits for it; NULL: none, or none any more. */
	struct store_op *op;
	struct list in_op;
	/* Where it has one, by clock_us(): */
	int64_t give_up_us; /* it waits for a node no longer than that … */
	int64_t end_us;     /* … nor for a slow reply than that; 0: no end */
	struct list queued; /* while it waits until it can be sent */
	struct replicas_delayed delayed; /* until replicas have its reply */

	/*
	 * Called at its end, exactly once; then the call is freed, unless it
	 * has set again: then it is started once more.  error is of
	 * tbl/errors.h, 0 where Redis answered; reply, valid during done only,
	 * is NULL where it did not.  NULL: nobody waits for it.
	 */
	void (*done)(struct store_call *call, enum call_end end, int error,
	    const struct call_reply *reply);
	/*
	 * Called before done where the reply was kept back and enough replicas
	 * have what it says.  NULL: nobody wants to know.
	 */
	void (*confirmed)(
	    struct store_call *call, const struct call_reply *reply);
	void *arg; /* of done */
	bool again;
};

/*
 * A call of that script, not yet started; the caller appends n_args arguments
 * to args, numkeys first.
 */
struct store_call *call_new(struct store *store, unsigned shard,
    enum script script, size_t n_args);
/*
 * A call with the keys of one record, those for events included where they are
 * on; n_argv arguments are still to come.  It is the first member of a struct
 * of that size, or all of it; the rest is zeroed, and freed with the call.
 */
struct store_call *call_of_record(struct store *store, enum script script,
    const struct key_id *key_id, size_t n_argv, size_t size);
/*
 * Sends it to its node, or, where it has none, to the one that has its shard;
 * lets it wait while that may still come up, or ends it with E_STORE_DOWN at
 * once: done may have been called, and the call be freed, when this returns.
 */
void call_start(struct store_call *call);

/* --- its arguments --- */

/* Appends sixteen bytes as an argument, in base64: 22 characters. */
void call_arg_token(struct store_call *call, const uint8_t bytes[16]);
/*
 * The same of an owner, and behind it what stands for the label in that
 * provenance (record/label.h), which may have none.
 */
void call_arg_labelled(struct store_call *call, const struct owner *owner,
    struct span provenance);
/* Appends the six digits of an attempt. */
void call_arg_attempt(struct store_call *call, uint32_t attempt);
/* Appends the end of its key's name, its version, and that as JSON. */
void call_arg_entity(
    struct store_call *call, const struct store_entity *entity);
/*
 * Appends what a record is made again with (lua/make_again.lua): four
 * arguments, or eight with an entity, whose version is kept so long.
 */
void call_arg_make_again(struct store_call *call,
    const struct owned_claim *owned, int64_t keep_ms);
/* Up to a newline, which ends the provenance in a record. */
struct span call_one_line(struct span s);
/*
 * The time to live of a PROCESSING record of that policy, from its last renewal
 * on; makes sure that the indexes outlive it.
 */
int64_t call_outlive(
    struct store *store, const struct conf_idempotency *policy);

/* --- the operation that waits for it --- */

/* Starts an operation; its calls are added next. */
void call_begin_op(struct store *store, struct store_op *op);
/* Makes the operation wait for that call too. */
void call_join_op(struct store_call *call, struct store_op *op);
/* Starts all calls that were added; without any it is done. */
void call_start_op(struct store_op *op);
/*
 * That call, which has an operation, has ended; with its last call the
 * operation is done, with the first error of them.
 */
void call_end_op(struct store_call *call, int error);
/* Logs that its reply is not one that its script gives: E_STORE_REFUSED. */
int call_log_odd(const struct store_call *call);

/* --- those that wait --- */

/* Starts every call in the queue; one may end up in the same queue. */
void call_start_queue(struct list *queue);
/* Ends every call in the queue with E_STORE_DOWN. */
void call_fail_queue(struct list *queue);

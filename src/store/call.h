/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/redis/resp.h"
#include "store/replicas.h"

/*
 * A call is one run of one script: it finds the node that has its shard, waits
 * for it while it may still come up, sends EVALSHA (or FCALL, where
 * store.scripting is "function"), sends the script's text where Redis does not
 * have it, follows a slot that has moved, and reads the reply, which it
 * believes where it is the reply to this call.  It knows nothing of what
 * scripts do.  A call may outlive the operation that waits for it, and frees
 * itself at its end.  For src/store/, src/messages/shared/ and
 * src/messages/relay/; the store's thread.
 */

/*
 * Each call is sent under a name that no other has, in any store, and the
 * script puts it into its reply (lua/clock.lua).  Nothing else tells one reply
 * from another: where one is lost or comes twice on the way, each call behind
 * it would be given its neighbour's.
 */
enum { CALL_NAME_CHARS = 16 };
/* The next name, and a NUL. */
void call_name(struct store *store, char ret_name[CALL_NAME_CHARS + 1]);

/* What a script answered, valid during done() only. */
struct call_reply {
	enum verdict verdict;
	uint32_t attempt;
	int64_t now_ms; /* Redis' clock */
	struct redisReply **extra;
	size_t n_extra;
};

enum call_end {
	CALL_ANSWERED, /* reply has the answer */
	CALL_NOT_RUN,  /* never sent, or refused before anything changed */
	CALL_LOST,     /* sent; nobody knows whether it was executed */
};

struct store_call {
	struct link_call link;
	struct link_call ahead; /* of ASKING: each of them has its own reply */
	struct store *store;
	unsigned shard;    /* the shard of all keys that it touches */
	struct node *node; /* the node that it was sent to or waits for */
	struct line *line; /* of the node */
	bool large; /* it carries or brings a large value: the large line */
	enum script script;
	char name[CALL_NAME_CHARS + 1]; /* as it was last sent */
	bool whole;         /* the script's text was sent, not only its name */
	bool reads;         /* sent as the function that only reads, … */
	char *refused; /* … or ended, by this error of Redis; NULL: by none */
	bool asking;        /* goes after ASKING: its slot is being moved */
	unsigned redirects; /* how often it was sent to another node */
	size_t n_args;      /* numkeys, keys and arguments */
	struct resp args;   /* those, as they follow the script's name */
	/*
	 * Where it may leave together with others (joint.h): the offsets in
	 * args of what is sent of it then, its first two keys and some of its
	 * arguments, each up to another offset; joint_to is 0: it may not.
	 */
	size_t keys_from, keys_to, joint_from, joint_to;
	struct joint *joint; /* with which it left; NULL: alone */
	bool alone;          /* that was tried, and it is no usual one */
	bool in_doubt; /* … but an error came, and it may have been executed */
	int64_t events_maxlen; /* follows; 0: no events, no such argument */
	/* Where it has an operation, by clock_us(): */
	int64_t give_up_us; /* it waits for a node no longer than that … */
	int64_t end_us;     /* … nor for a slow reply than that; 0: no end */

	struct key_id key_id; /* for the log; a renewal has none */
	struct owner owner;   /* whose outcome it stores, … */
	uint32_t attempt;     /* … and of which attempt */

	/* The operation that waits for it; NULL: none, or none any more. */
	struct store_op *op;
	struct store_call *sibling; /* another call of the same operation */
	/* While it waits for a node: */
	struct call_queue *queue;
	struct store_call *next;
	struct store_call **queued;
	/* While its reply waits for replicas: */
	struct replicas_held held;

	/*
	 * Fills in the arguments that depend on the node or the time, each time
	 * before it is sent.  NULL: it has none.
	 */
	void (*prepare)(struct store_call *call);
	/*
	 * Called at its end, exactly once; then the call is freed, unless it
	 * has set again: then it is started once more.  error is of
	 * tbl/errors.h, 0 where Redis answered; reply is NULL where it did not.
	 * NULL: whatever comes of it, nobody waits for it.
	 */
	void (*done)(struct store_call *call, enum call_end end, int error,
	    const struct call_reply *reply);
	/*
	 * Called before done where the reply was kept back and enough replicas
	 * have what it says.  NULL: nobody wants to know.
	 */
	void (*confirmed)(
	    struct store_call *call, const struct redisReply *reply);
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
 * The same, as the first member of a struct of that size; the rest is zeroed,
 * and freed with the call.
 */
struct store_call *call_new_sized(struct store *store, unsigned shard,
    enum script script, size_t n_args, size_t size);
/*
 * Sends it, queues it while its node may still come up, or ends it with
 * E_STORE_DOWN at once: done may have been called, and the call be freed, when
 * this returns.
 */
void call_start(struct store_call *call);
/* Sends the calls that waited for a node; it is up now. */
void call_flush_queue(struct call_queue *queue);
/* Starts every call in the queue anew; one may end up in the same queue. */
void call_start_queue(struct call_queue *queue);
/* Ends every call in the queue with E_STORE_DOWN. */
void call_fail_queue(struct call_queue *queue);
/* Ends a call that still waits (E_CANCELLED); false: it was sent. */
bool call_drop(struct store_call *call);
/* How much longer its operation may wait for it, in ms; 0: its time is up. */
int64_t call_left_ms(struct store_call *call);
/*
 * What Redis has answered to it, or to the joint of which it was one; NULL: the
 * connection is lost.  The call may have ended when this returns.
 */
void call_replied(struct store_call *call, const struct redisReply *reply);
/* Sends it on the line that it has; the line must be up. */
void call_send(struct store_call *call);
/* Whether a reply that says it answers the call of that name is to this one. */
bool call_is_own(const struct store_call *call, struct span name);
/*
 * It was given what cannot be its reply: the link is cut, and whether the call
 * was executed is not known.  It has ended when this returns.
 */
void call_distrust(struct store_call *call, const char *message);
/* Logs that its reply is not one that its script gives. */
void call_log_odd(const struct store_call *call);
/* It was sent, and its line is silent: nothing more is to be sent there. */
bool call_is_silent(struct store_call *call);

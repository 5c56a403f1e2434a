/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/loop/op.h"
#include "conf/conf.h"
#include "messages/broker/broker.h"

/*
 * An inquiry is what another thread asks of the sources of all workers, or has
 * one of their messages told.  It goes from one worker to the next, each of
 * which writes its part of the answer into it, as plain data, and comes back
 * with all of it.  Whoever asks may give up at any time; it then ends alone.
 * It knows nothing of who asks.
 */
struct worker;

enum message_state {
#define MESSAGE_STATE(name, word) MESSAGE_STATE_##name,
#include "tbl/message_states.h"
#undef MESSAGE_STATE
	MESSAGE_STATES_,
};
/* So many of them, the first ones, can be listed. */
enum { INQUIRY_LISTED = MESSAGE_STATE_WAITING + 1 };

/* What is asked. */
enum inquiry_kind {
	INQUIRY_SOURCES,  /* all of them */
	INQUIRY_MESSAGES, /* a page of those that rest, the oldest first */
	INQUIRY_MESSAGE,  /* that one */
	INQUIRY_DROP,     /* that one is to be acknowledged unexecuted */
	INQUIRY_REPLAY,   /* that one, where it is a letter */
	INQUIRY_RESTORE,  /* the letters of that source are to be restored */
	INQUIRY_PROOF,    /* that source is to go on, unproven as it is */
};

/* A source; all text is the inquiry's. */
struct source_view {
	struct source_view *next;
	const char *name;
	const char *broker;
	enum broker_kind kind;
	const char *reads; /* its stream or table */
	const char *group; /* NULL: it has none */
	unsigned standing; /* bits of enum standing */
	unsigned parts_standing; /* topics and partitions of it */
	const char *error; /* why, or the broker's last trouble; "": none */
	bool up;           /* the broker can be reached */
	int64_t lag;       /* -1: not known */
	uint64_t in_flight, held, retrying, waiting;
	uint64_t parked; /* messages */
	int64_t dead;    /* the same, without parked ones; -1: not known */
	int64_t paused_ms; /* since then, since 1970; 0: it is not paused */
	const char *paused_by, *note; /* NULL: it is not paused */
};

/* A message; all of it is the inquiry's. */
struct message_view {
	struct message_view *next;
	struct span id; /* opaque: base64url of source and position */
	const char *source;
	struct span position;
	enum message_state state;
	const char *reason; /* why it is in that state; NULL: not known */
	const char *route;  /* NULL: not known */
	const char *key_id; /* "": not known */
	struct span label;  /* of its key; "": none, or not known */
	uint32_t attempt;   /* 0: it had none */
	int64_t first_ms;   /* when it was taken first, since 1970 */
	int64_t next_ms;    /* when it is tried again; 0: not known */
	struct span detail; /* why it is held, or a letter; "" */
	int status;         /* of a letter: the upstream's; 0: none */
	struct span answer; /* likewise, of MESSAGE; ptr NULL: none */
	bool is_base64;     /* the answer */
};

struct inquiry_op;
struct inquiry;

/*
 * In the thread of that worker, which may have ended: its part of the answer.
 * False: that comes later (inquiry_go_on).
 */
typedef bool inquiry_visit(struct inquiry *inquiry, struct worker *worker);

/* What goes from worker to worker; arena and kind are set by inquiry_new. */
struct inquiry {
	struct arena *arena;
	enum inquiry_kind kind;

	/* What is asked, set by whoever asks; spans are of the arena. */
	struct span source;   /* of MESSAGES: of that one only; "": of all */
	struct span position; /* of those of one message, with source */
	bool wanted[INQUIRY_LISTED]; /* of MESSAGES */
	size_t limit;                /* of MESSAGES: the longest page */
	int64_t after_ms;            /* of MESSAGES: what follows that time … */
	struct span after_id;        /* … and id; "": all */

	/* The answer. */
	struct source_view *sources;
	struct message_view *messages; /* in their order; of one worker each */
	size_t count;                  /* of messages */
	bool found; /* the message is, or was, there */
	bool done;  /* of DROP: it is acknowledged; of REPLAY: it has begun */
	bool busy;  /* it is at work, and nothing was changed */
	uint64_t restored;   /* of RESTORE: so many letters … */
	struct span detail;  /* … or why not; "" */

	/* Its own. */
	struct inquiry_op *op; /* NULL: nobody waits for it any more */
	struct loop *asker;
	inquiry_visit *visit;
	struct worker *const *workers;
	unsigned n_workers, at;
};

/* A member of whoever asks. */
struct inquiry_op {
	struct op op;            /* op_init is its owner's to call */
	struct inquiry *inquiry; /* with its answer once op is done */
};

/* The contract's words. */
extern const char *const inquiry_words[MESSAGE_STATES_];
/* As memcmp of what two ids stand for; any other text has its place, too. */
int inquiry_compare_ids(struct span a, struct span b);
/* The id of a message, base64url, in the arena. */
struct span inquiry_id(
    struct arena *arena, struct span source, struct span position);
/* What an id stands for; false: it is none. */
MUST_USE bool inquiry_read_id(struct arena *arena, struct span id,
    struct span *ret_source, struct span *ret_position);

/* A new one; op has it, and nothing runs yet. */
struct inquiry *inquiry_new(struct inquiry_op *op, enum inquiry_kind kind);
/*
 * Asks; op is done when the answer is there, with E_TIMEOUT after that time:
 * a worker has ended or hangs, or a broker does not take an acknowledgement.
 */
void inquiry_ask(struct inquiry_op *op, inquiry_visit *visit,
    struct worker *const *workers, unsigned n_workers, int64_t ms);
/* Gives up, or lets go of the answer; always allowed. */
void inquiry_end(struct inquiry_op *op);

/* For the worker's thread: it was told later, and goes on from here. */
void inquiry_go_on(struct inquiry *inquiry);

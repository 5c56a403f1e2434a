/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/reader.h"
#include "store/redis/link.h"
#include "store/redis/master.h"
#include "store/redis/redis_address.h"
#include "store/redis/sentinel_monitor.h"
#include "store/redis/sha1.h"

/*
 * For the files of the Redis Streams driver alone.  It has two lines: by the
 * taker it takes entries, one step after the other, and waits for what comes;
 * by the teller goes all else.  So nothing that is to be acknowledged waits
 * behind a read.
 *
 *     streams          the driver's table; heartbeats and their opposite, the
 *                      copies of letters, and how a reader leaves
 *     streams_line     the two connections, the scripts, and what an error of
 *                      Redis means
 *     streams_take     its steps: the group, what is pending, what is new
 *     streams_entry    an entry as a message, and its id
 *     streams_finish   acknowledgements, with what is put
 *
 * Nobody blocks in XREADGROUP: Redis would give an entry to a connection that
 * is gone, or to whoever had the leadership of an order before.  A script takes
 * what is there; where that is nothing, XREAD tells when something comes.
 */
struct redisReply;
struct streams;

enum {
	STREAMS_AGAIN_MS = 20,   /* after what passes by itself soon */
	STREAMS_PAUSE_MS = 1000, /* after what Redis refused */
	STREAMS_LIST_MAX = 100,  /* ids of one list, beat or claim */
};

/*
 * The id of an entry: two numbers, which only grow, as a position "MS-SEQ".
 */
struct streams_id {
	uint64_t ms, seq;
};

enum { STREAMS_ID_BYTES = 20 + 1 + 20 + 1 }; /* as text, with its NUL */

/* A connection to the server that has the stream. */
struct streams_line {
	struct streams *streams;
	struct link *link;
};

/*
 * The scripts of a stream's reader, src/store/record/lua/stream_NAME.lua each,
 * which say what they take and answer.
 */
enum streams_script {
	STREAMS_SCRIPT_GROUP,
	STREAMS_SCRIPT_ORIGIN,
	STREAMS_SCRIPT_TAKE,
	STREAMS_SCRIPT_CLAIM,
	STREAMS_SCRIPT_BEAT,
	STREAMS_SCRIPT_PUT,
	STREAMS_SCRIPT_MARK,
	STREAMS_SCRIPT_COPIES,
	STREAMS_SCRIPT_COUNT_,
};

/* What Redis may refuse, the most pressing first (reader_trouble). */
enum streams_trouble {
	STREAMS_TO_CONNECT, /* the taker alone */
	STREAMS_TO_TAKE,
	STREAMS_TO_FINISH,
	STREAMS_TO_BEAT,
};

/* What the taker does next. */
enum streams_step {
	STREAMS_GROUP,  /* sees to it that there is a group */
	STREAMS_ORIGIN, /* asks whose copies are there */
	STREAMS_PASS,   /* takes what is pending and not in flight */
	STREAMS_NEW,    /* takes what nobody has taken */
};

/* Whose entries a pass takes. */
enum streams_pass {
	STREAMS_OWN,    /* our name's; of an order, everybody's */
	STREAMS_OTHERS, /* those that nobody has kept alive */
};

struct streams_take {
	struct link_call call; /* of the step that is under way */
	bool awaited;
	bool waits; /* it is XREAD, which brings nothing itself */
	bool (*read)(struct streams *streams, const struct redisReply *reply);
	enum streams_step step;
	struct timer silence; /* of the step */
	struct timer look;    /* when it looks, and takes nothing */
	bool looks;           /* that is due */
	bool at_end;          /* nothing was left to be taken */
	bool gathering;       /* waits for more credit */
	const char *what;     /* the step's name, of what is refused */
	const char *passing;  /* the same, of what was to pass soon, */
	int64_t passing_ms;   /* and since when it has not; 0: it has */

	/* What is known of the group, and what of it is told to the script. */
	bool was_ready;         /* it was there once */
	struct streams_id last; /* the last that the group has delivered */
	int64_t read_count; /* of the stream; -1: not known */
	int64_t unread;
	int64_t to_tell; /* found lost; counted when the script says so */

	/* A pass: a page of ids after the other, and those that are claimed. */
	enum streams_pass pass;
	bool pass_again; /* our own, from the first entry on */
	struct timer others; /* when a pass of others' entries is due */
	bool others_due;
	struct streams_id cursor; /* the last of the page */
	bool page_was_full;
	struct streams_id ids[STREAMS_LIST_MAX];
	size_t n_ids, at;  /* and those before at are claimed */
	size_t asked;      /* of what is new: so many */
	struct streams_id taken; /* the last that came, of an order's reader */
};

struct streams_flight {
	struct flight flight; /* first */
	bool foreign; /* another reader has been seen to have it */
};

struct streams_finishing {
	struct finishing finishing; /* first */
	struct link_call call;
	bool asks; /* it was not pending: the script says why */
};

struct streams {
	struct broker_reader core; /* first */
	const struct conf_redis *redis;
	struct span key; /* of the stream */
	struct span group;

	struct streams_line taker, teller;
	/* Whom the Sentinels name; in a cluster who has the slot, or may. */
	struct master *master; /* NULL: there is but one server */
	struct sentinel_monitor *sentinels;
	unsigned seed; /* of a cluster: the next of conf's servers to try */
	bool asking;   /* it takes the slot over: ASKING first */

	char sha[STREAMS_SCRIPT_COUNT_][SHA1_HEX + 1];
	bool known[STREAMS_SCRIPT_COUNT_]; /* to Redis, since it was sent */
	struct streams_take take;
	struct timer beat;

	unsigned owed; /* replies that a reader waits for before it ends */
};

/* --- streams_line.c --- */

void streams_line_open(struct streams *streams);
bool streams_line_is_up(const struct streams_line *line);
void streams_line_send(struct streams_line *line, struct link_call *call,
    const struct resp *command);
/*
 * Begins a script's command: its two keys (the second one's ptr NULL: one) are
 * in it, and n_args arguments follow.
 */
void streams_line_script_of(struct streams *streams, enum streams_script script,
    struct span key, struct span other_key, size_t n_args,
    struct resp *ret_command);
/* The same of the stream and the group, in ARGV[1]. */
void streams_line_script(struct streams *streams, enum streams_script script,
    size_t n_more, struct resp *ret_command);
/* An id as an argument. */
void streams_line_id(struct resp *command, struct streams_id id);
/* A reply that cannot be true: the connection is good for nothing. */
void streams_line_distrust(struct streams_line *line);

/*
 * Of an error reply, which says that nothing of what was asked has happened:
 * whether it can be asked again in a moment, or elsewhere; else it would be
 * refused again.  Follows the slot, or has the group made, where that is what
 * it says.
 */
bool streams_line_passes(
    struct streams_line *line, const struct redisReply *reply);

/* --- streams_entry.c --- */

/* Reads "MS-SEQ"; false: it is no id. */
bool streams_entry_id_read(struct span text, struct streams_id *ret_id);
/* As text, in those bytes. */
struct span streams_entry_id_text(
    struct streams_id id, char text[STREAMS_ID_BYTES]);
/*
 * Takes an entry as Redis has it, [id, [name, value, ...]], unless it is in
 * flight.  False: it is no entry, and the connection has been distrusted.
 */
bool streams_entry_take(struct streams *streams,
    const struct redisReply *entry, bool again);
/* A message that is not taken; NULL: it is no entry. */
struct broker_message *streams_entry_copy(
    const struct streams *streams, const struct redisReply *entry);

/* --- streams_take.c --- */

void streams_take_init(struct streams *streams);
/* Sends what is next, if anything is. */
void streams_take_go(struct broker_reader *core);
/* What is pending for our name is looked through, as soon as that can be. */
void streams_take_look_again(struct broker_reader *core);

/* --- streams_finish.c --- */

void streams_finish_send_all(struct broker_reader *core);
int64_t streams_finish_more_ms(struct finishing *finishing);

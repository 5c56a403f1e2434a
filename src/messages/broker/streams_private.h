/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/streams_hand.h"
#include "store/redis/link.h"
#include "store/redis/master.h"
#include "store/redis/redis_address.h"
#include "store/redis/sentinel_monitor.h"
#include "store/redis/sha1.h"

/*
 * The reader of a Redis stream, for its files.  It has two lines: on the one it
 * takes entries, one step after the other, and mostly blocks (streams_take);
 * all else goes by the other (streams_finish, streams_beat, streams_look).  An
 * entry is in its hand (streams_hand) from when it was read until it is
 * finished, given back or lost.  What follows from an error of Redis is decided
 * in streams_line.  One thread.
 */
struct redisReply;

enum {
	STREAMS_WORDS_BYTES = 160, /* of an error of Redis, with the NUL */
	STREAMS_RUN_BYTES = 64,    /* the same, of a run's name */
	STREAMS_MARK_BYTES = 160,  /* the same, of a stream's mark */
	STREAMS_AGAIN_MS = 20,     /* after what passes by itself soon */
	STREAMS_PAUSE_MS = 1000,   /* after what Redis refused */
	STREAMS_SOON_MS = 2000,    /* what does not pass in that is no such */
	STREAMS_MOST = 512,        /* entries that are asked for at once */
};

/* streams_finish: in the order in which they were started. */
struct streams_finishes {
	struct streams_finish *first, **end;
};

/* A connection to the server that has the stream. */
struct streams_line {
	struct streams *streams;
	struct link *link;
	unsigned went; /* in a cluster, the number of the home it was sent to */
	void (*up)(struct streams *streams);
	void (*down)(struct streams *streams);
};

/* What is to be done next on the line that takes. */
enum streams_standing {
	STREAMS_GROUP, /* to see to it that there is a group */
	STREAMS_AGAIN, /* to take what is in hand anew, of a new group */
	STREAMS_OWN,   /* to take what was pending before */
	STREAMS_NEW,   /* to take what nobody has taken */
};

/* What Redis may refuse, each with words of its own. */
enum streams_trouble {
	STREAMS_TO_TAKE,
	STREAMS_TO_FINISH,
	STREAMS_TO_BEAT,
	STREAMS_TO_LOOK,
	STREAMS_TO_COUNT_,
};

/* streams_take: what the answer is awaited to. */
enum streams_reading {
	STREAMS_READ_HISTORY, /* XREADGROUP from an id on */
	STREAMS_READ_NEW,     /* XREADGROUP of ">" */
	STREAMS_READ_OTHERS,  /* the script that claims */
};

struct streams_take {
	struct link_call group;   /* the script that makes the group */
	struct link_call look;    /* the script that looks for losses */
	struct link_call read;    /* what brings entries */
	struct link_call pending; /* XPENDING: of how many entries */
	struct link_call late;    /* XPENDING: of those behind passed */
	struct link_call skip;    /* XPENDING: of one that cannot be read */
	unsigned awaited;  /* replies to come of those six */
	enum streams_reading reading;
	bool blocking;     /* it may last until its time is over */
	bool claiming;     /* others' entries are due, or under way */
	bool remaking;     /* the group has vanished: all finishes wait */
	bool was_ready;    /* the group was there once */
	bool gathering;    /* waits for more credit */
	struct streams_id cursor; /* the next page is of what lies behind */
	struct streams_id newest; /* the highest id that was read as new */
	struct streams_id floor;  /* what stands up to it was finished by all */
	bool has_floor;           /* a look has told it */
	/* What is pending up to it is in hand, where nobody else reads. */
	struct streams_id passed;
	size_t asked; /* for so many new ones */
	/* Those that were finished since the read was sent. */
	struct streams_id *finished;
	size_t n_finished, finished_size;
	unsigned most;    /* entries to ask for; fewer after a lost reply */
	struct streams_id lost_at; /* the cursor when a reply was last lost */
	unsigned in_vain; /* how often in a row that was of one entry alone */
	int64_t looked_ms;
	int64_t passing_ms; /* since when what passes soon has not; 0: none */
	bool looked;       /* and nothing was sent since it was answered */
	uint64_t found;    /* trimmed unread, by a look; not counted yet */
	uint64_t to_count; /* the same, by the look that is under way */
	struct link_call *step; /* what silence is about */
	bool doubts; /* how many were read, since the line is up */
	char run[STREAMS_RUN_BYTES]; /* of Redis when that was known last */
	bool untold; /* entries came, and no look since has kept their number */
	char mark[STREAMS_MARK_BYTES]; /* of the stream, by the last look */
	char history[STREAMS_RUN_BYTES]; /* the server's, as it was marked */
	int64_t unread; /* by the last look, but for what came since */
	struct timer pause;   /* set: nothing is sent before it fires */
	struct timer silence; /* of the step that is under way */
	struct timer claim;   /* when others' entries are due */
};

struct streams {
	struct broker_reader reader; /* first */
	struct loop *loop;
	const struct conf *conf;
	const struct conf_source *source;
	const struct conf_redis *redis;
	struct span key;   /* of the stream */
	struct span group;
	char *instance;    /* the consumer */
	int64_t lease_ms;
	size_t most_bytes;
	bool sole;
	struct broker_events events;
	unsigned credit;

	struct streams_line taker, teller;
	struct master *master; /* NULL: no Sentinels */
	struct sentinel_monitor *sentinels;
	/* In a cluster: who has the slot, or may. */
	struct redis_address home;
	unsigned home_number;  /* raised each time that it is another one */
	unsigned seed;         /* the next of conf's servers to try */
	bool asking;           /* it takes the slot over: ASKING first */
	struct task move;

	enum streams_standing standing;
	struct streams_take take;
	struct streams_hand hand;
	struct streams_finishes waiting, sent;
	struct streams_page *pages; /* of dead letters, under way */
	struct streams_again *agains; /* entries that are read again */
	struct streams_drop *drops; /* entries whose bytes are gone */
	struct timer again;    /* when finishes that had to wait go on */
	char put_sha[SHA1_HEX + 1];
	struct timer beat;
	struct streams_beat *returns; /* gathered in this turn; NULL: none */
	struct task give_back;
	struct timer look;

	struct task work;      /* hands over, and takes more */
	bool changed;          /* health is another one */
	int64_t lag;
	char trouble[STREAMS_TO_COUNT_][STREAMS_WORDS_BYTES]; /* "": none */
	/* What the log has of its connection. */
	enum { STREAMS_SAID_UP, STREAMS_SAID_DOWN, STREAMS_SAID_REFUSED } said;

	uintptr_t age; /* of the streams of that name: its messages' token */
	bool leaving;          /* it was closed */
	unsigned owed;         /* replies that it waits for before it ends */
	struct timer end;
	struct streams *next;  /* of those that leave, in this thread */
};

/* --- streams.c --- */

/* Hands over what there is credit for, and takes more, later in this turn. */
void streams_kick(struct streams *streams);
/* health is another one: the owner hears of it later in this turn. */
void streams_changed(struct streams *streams);
/*
 * Remembers what Redis refused, and logs it where that is new; a reply that is
 * no error, or NULL: it refuses that no more.
 */
void streams_refused(struct streams *streams, enum streams_trouble what,
    const struct redisReply *error);
/* How many entries may be taken beyond those that wait to be handed over. */
unsigned streams_room(const struct streams *streams);
/* Tells the owner, unless it has left; id NULL: of no position. */
void streams_lost(struct streams *streams, enum broker_loss how,
    uint64_t count, const struct streams_id *id);

/* --- streams_line.c --- */

void streams_line_open(struct streams *streams);
void streams_line_close(struct streams *streams);
bool streams_line_is_up(const struct streams_line *line);
void streams_line_send(struct streams_line *line, struct link_call *call,
    const struct resp *command);
/* Begins a script's command: EVAL, its text, the stream's key, the group. */
void streams_line_script(const struct streams *streams, const char *text,
    size_t n_more, struct resp *ret_command);

/* What an error reply means for what was asked; nothing of it has happened. */
enum streams_error {
	STREAMS_REFUSED,  /* it would be refused again */
	STREAMS_LATER,    /* it can be sent again in a moment, or elsewhere */
	STREAMS_NO_GROUP, /* the stream or the group may not be there */
};
/* Follows the slot, or begins to make the group, where that is what it says. */
enum streams_error streams_line_error(
    struct streams_line *line, const struct redisReply *reply);

/* --- streams_group.c --- */

/* Sends the script that makes the group, if it is not there. */
void streams_group_make(struct streams *streams);
/* Whether it is there, and not that of another stream, as it seems to be. */
void streams_group_ask(struct streams *streams);
/* Redis has said that the group is not there. */
void streams_group_vanished(struct streams *streams);

/* --- streams_entry.c --- */

/*
 * Takes an entry as Redis has it, [id, [name, value, ...]], into the hand and
 * the queue, unless it is there already.  False: it is no entry, and the
 * connection has been distrusted.  *ret_id is set where it is one.
 */
bool streams_entry_take(struct streams *streams,
    const struct redisReply *entry, bool again, struct streams_id *ret_id);
/* One of which nothing but its id can be read: too large. */
void streams_entry_take_unread(
    struct streams *streams, struct streams_id id);
/* One that is in hand already; NULL: it is no entry. */
struct broker_message *streams_entry_again(
    struct streams *streams, const struct redisReply *entry);
/* A dead letter, which is in nobody's hand; NULL: it is no entry. */
struct broker_message *streams_entry_letter(
    struct streams *streams, const struct redisReply *entry);

/* --- streams_take.c --- */

void streams_take_init(struct streams *streams);
void streams_take_end(struct streams *streams);
/* Sends what is next, if anything is. */
void streams_take_go(struct streams *streams);
void streams_take_up(struct streams *streams);
void streams_take_down(struct streams *streams);
/* Whether the first of the queue may be handed over: nothing goes before it. */
bool streams_take_is_first(
    const struct streams *streams, struct streams_id id);
/*
 * An entry was finished: the answer to what was asked before may have it still.
 */
void streams_take_note_finished(
    struct streams *streams, struct streams_id id);
bool streams_take_was_finished(
    const struct streams *streams, struct streams_id id);
/* Nothing is sent for that long. */
void streams_take_pause(struct streams *streams, int64_t ms);

/* --- streams_read.c --- */

/*
 * Redis did not do what taking needs: what passes by itself is tried again
 * soon, and what does not is told.
 */
void streams_read_refused(
    struct streams *streams, const struct redisReply *reply);

/* Send one step each, and take in what is answered. */
void streams_read_history(struct streams *streams, size_t count);
void streams_read_new(struct streams *streams, size_t count);
void streams_read_others(
    struct streams *streams, size_t count, int64_t idle_ms);
void streams_read_init(struct streams *streams);

/* --- streams_before.c --- */

void streams_before_init(struct streams *streams);
/*
 * Of an order's reader, with a read of so many: whether anything is pending
 * that is not in hand, which is to be taken before what was read is handed
 * over.
 */
void streams_before_ask(struct streams *streams, size_t count);
/* All that was pending has been taken. */
void streams_before_all_taken(struct streams *streams);
/* The entry is pending, and not in hand any more. */
void streams_before_returned(struct streams *streams, struct streams_id id);

/* --- streams_put.c --- */

/* Whether something is to be put; whether it is about a dead letter. */
bool streams_put_is(const struct broker_finish *finish);
bool streams_put_is_letter(const struct broker_finish *finish);
/* Why it cannot be done at all, a sentence; NULL: it can. */
const char *streams_put_impossible(
    const struct streams *streams, const struct broker_finish *finish);
/*
 * The command; whole: with the script's text; delivered: so often, 0: however
 * often that was.
 */
void streams_put_command(const struct streams *streams,
    const struct broker_finish *finish, bool whole, int64_t delivered,
    struct resp *ret_command);

/* --- streams_finish.c --- */

void streams_finish_start(
    struct streams *streams, struct broker_finish *finish);
/* What waits is sent, if it can be. */
void streams_finish_flush(struct streams *streams);
void streams_finish_down(struct streams *streams);
/* All end, E_CANCELLED. */
void streams_finish_end(struct streams *streams);
void streams_finish_init(struct streams *streams);

/* --- streams_again.c --- */

void streams_again_start(
    struct streams *streams, struct broker_again *again);
/* All end, E_CANCELLED. */
void streams_again_end(struct streams *streams);

/* --- streams_letters.c --- */

void streams_letters_start(
    struct streams *streams, struct broker_letters *letters);
/* All end, E_CANCELLED. */
void streams_letters_end(struct streams *streams);

/* --- streams_beat.c --- */

void streams_beat_init(struct streams *streams);
/* The entry is not in hand any more: others may have it. */
void streams_beat_return(struct streams *streams, struct streams_id id);
/* Sends what was returned. */
void streams_beat_flush(struct streams *streams);
void streams_beat_end(struct streams *streams);

/* --- streams_look.c --- */

void streams_look_init(struct streams *streams);
/* Once the lines are closed: what of it has no answer is told. */
void streams_look_end(struct streams *streams);
/* Entries have come: Redis is told soon how many have been read. */
void streams_look_soon(struct streams *streams);
/*
 * The command that looks, which is sent now; counts: what was lost is not found
 * again.
 */
void streams_look_command(
    struct streams *streams, bool counts, struct resp *ret_command);
/*
 * Its reply.  to_count: what it was to count, 0: it only looked, and what it
 * finds is in take.found for the next that counts.
 */
void streams_look_read(struct streams_line *line,
    const struct redisReply *reply, uint64_t to_count);
/* There is none: it may have been counted, and nobody else will tell of it. */
void streams_look_cut(struct streams *streams, uint64_t to_count);
/*
 * The entry is not in hand any more, and may not have been finished: should the
 * group vanish, it is to come again.
 */
void streams_look_returned(struct streams *streams, struct streams_id id);
/*
 * XACK of an entry whose bytes are gone: it is lost where that finds it, or
 * where it is ours and that does not; then it is not in hand any more, and the
 * owner is told.  False: it cannot be sent now, and stays as it is.
 */
bool streams_look_drop(struct streams *streams, struct streams_id id,
    enum broker_loss how, bool ours);
/* The stream is another one: what was not sent again is lost with it. */
void streams_look_forget(struct streams *streams);
/* Sends those again that got no answer; behind a look at the group. */
void streams_look_drop_again(struct streams *streams);
/* The reader leaves, and waits for what was sent. */
void streams_look_leave(struct streams *streams);

/* --- streams_leave.c --- */

/* It was closed: gives back what is in hand, then frees the reader. */
void streams_leave_begin(struct streams *streams);
/* A reply that it waits for has come, or never will. */
void streams_leave_paid(struct streams *streams);

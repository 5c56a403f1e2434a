/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/body.h"
#include "base/list.h"
#include "gate/key_waiters.h"
#include "gate/meter.h"
#include "store/outcome.h"
#include "store/record/key_set.h"

/*
 * The replay delivers the entries of journals to Redis as soon as Redis is
 * back: those of its own worker, which writes them through its writer, and
 * those that dead processes left.  One goes after the other, and one large one
 * beside them, so that it delays nothing small.  It knows nothing of requests
 * or executions.  The worker's thread only.
 */

/* An entry that is being delivered. */
struct journal_delivery {
	struct journal_replay *replay;
	struct journal *journal;
	uint64_t id;
	/* Its end was not heard of yet, which may be later than op's end. */
	bool under_way;
	struct body bytes;
	struct journal_entry entry;
	struct store_op op;
};

/* The worker's, whose journal it is. */
struct journal_replay_home {
	struct loop *loop;
	const struct conf *conf;
	struct store *store;
	struct budget *budget;
	struct journal_awaited *awaited;
	struct key_waiters *waiters; /* for whom an outcome is delivered */
	struct meter *meter;
};

struct journal_replay {
	struct journal_replay_home home;
	/*
	 * Dead processes' journals, to be emptied, and the own one, which is
	 * the last.  The worker's thread alone changes the list, and does so
	 * with the mutex, so that another one may read it.
	 */
	pthread_mutex_t mutex;
	struct list journals;
	struct replayed_journal {
		struct list item;
		struct journal *journal;
	} own;
	struct journal_writer writer; /* of outcomes that Redis did not take */
	struct journal_adoption *adoption; /* NULL: not this one's to do */
	bool ending;
	/* Keys whose records are damaged, now; and all that the log has. */
	struct key_set broken, said_broken;
	atomic_bool unwritable; /* the log has said it; /status shows it */

	struct journal_delivery small, large;
	/*
	 * A pass goes from the oldest entry to the newest.  An entry that
	 * cannot be delivered now is passed over, and with it all of its key
	 * behind it, until the next pass.
	 */
	struct journal *journal; /* how far it has come: this journal … */
	uint64_t after;          /* … and entry; 0: it begins */
	struct key_set passed_over; /* keys */
	/* Keys of large entries that failed, until others had their turn. */
	struct key_set failed_large;
	unsigned failures; /* in a row */
	struct timer timer;
};

/*
 * Starts it; the journal is its own from now on.  One worker of a process also
 * adopts: it searches, now and then, for journals whose process is gone.
 */
void journal_replay_init(struct journal_replay *replay,
    const struct journal_replay_home *home, struct journal *journal,
    bool adopts);
/* Closes the journals; the next process delivers what is open in them. */
void journal_replay_end(struct journal_replay *replay);

/* False: no new claim may be made, as its outcome could get lost. */
bool journal_replay_can_write(struct journal_replay *replay);
/*
 * Reads an answer for that key of our store that waits to be delivered into
 * *bytes, or does not read it, as journal_read_answer does; *ret_file is the
 * name of the file that has it, for free(); NULL: nobody wants it.  Any thread;
 * the disk is waited for.
 */
MUST_USE int journal_replay_read_answer(struct journal_replay *replay,
    const struct origin *ours, const struct key_id *key_id,
    struct body *bytes, struct journal_entry *ret_entry, char **ret_file);
/*
 * True where nothing of this process waits to be delivered, but for entries
 * that only an operator can help, who may do so after its end.
 */
bool journal_replay_is_done(const struct journal_replay *replay);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/answer.h"
#include "base/arena.h"
#include "base/loop/op.h"
#include "conf/conf.h"
#include "store/record/key_id.h"

/*
 * A witness is a row in the API's own PostgreSQL, which the API writes in the
 * transaction that makes a payment.  A gateway that does not know what became
 * of an attempt asks by writing that row itself, as `revoked`: where it goes
 * in, the attempt has not committed and never can, as its own row is refused;
 * where it does not, the row that is there says what happened.  A question is
 * one batch and one transaction, which the server commits though the gateway
 * freezes, and its answer counts only when the commit has been answered.
 *
 * Nothing is asked of a witness that may not be believed (gate/trust.h).  It
 * knows nothing of records or of clients, and nothing here ever blocks.  The
 * worker's thread only.
 */
struct worker;
struct witnesses;

/* A worker's connections to the databases that its generation names. */
struct witnesses *witness_new(struct worker *worker);
/* A question that is under way ends as UNKNOWN, with away. */
void witness_free(struct witnesses **witnesses);
/* The worker has a new generation, and trust_reload() was called. */
void witness_reload(struct witnesses *witnesses);

enum witness_question {
	WITNESS_REVOKE,
	/* The same, and an attempt that is `started` is revoked, too. */
	WITNESS_REVOKE_STARTED,
};

enum witness_answer {
	/* Nothing is known, and words say why. */
	WITNESS_UNKNOWN,
	/* The attempt has not committed, and never can. */
	WITNESS_REVOKED,
	/* It was executed: status, fields and body are of its row. */
	WITNESS_DONE,
	/* It had begun, and perhaps called somebody else. */
	WITNESS_STARTED,
};

struct witness_op {
	/*
	 * Done with 0 always: answer says what came.  op_cancel() takes back no
	 * question that was sent.
	 */
	struct op op;

	/* Set by the owner; they live while it is pending. */
	const struct conf_route *route;
	const struct conf_idempotency *policy; /* of the claim */
	struct key_id key_id;
	uint32_t attempt;
	/* It was not sent before that, by Redis' clock. */
	int64_t claimed_ms;
	/*
	 * Since when it is UNKNOWN, by the same; 0: it is not, and the API has
	 * answered something else than a 2xx.
	 */
	int64_t unknown_ms;
	/*
	 * An operator frees the key himself: it is asked whatever is believed,
	 * since `done` forbids it, and our row is a fence for an API that
	 * writes its own.
	 */
	bool regardless;
	enum witness_question question;

	/* The answer. */
	enum witness_answer answer;
	/* REVOKED: the row is ours, and new. */
	bool inserted;
	/* UNKNOWN: the database is out of reach: it is no use to ask on. */
	bool away;
	/* UNKNOWN: nothing was asked: the witness may not be believed now. */
	bool distrusted;
	/* DONE: of the row, or else the policy's; 0: neither has one. */
	int status;
	struct fields fields; /* what may stand in a head, as the row has it */
	struct body body;
	/* DONE: its body is more than the policy keeps, and is not here. */
	bool too_large;
	char words[200]; /* UNKNOWN: why, for the log and for people */

	/* The module's own. */
	struct arena *arena; /* has the fields */
	struct list item; /* of those that wait */
	struct witness_asked *asked; /* NULL: not sent */
};

/*
 * Asks.  The op was given op_init(); it may be started anew after
 * witness_clear().
 */
void witness_start(struct witnesses *witnesses, struct witness_op *op);
/* Frees the answer; also allowed of one that was never started. */
void witness_clear(struct witness_op *op);

/*
 * A whole 2xx has come, of an attempt whose claim Redis answered at claim_ms,
 * by its clock, before anything of it was sent.  Where the guard needs to know,
 * its row is looked for in a moment.  0: of one whose record was not its own
 * any more; where that was revoked, the witness is broken.
 */
void witness_saw(struct witnesses *witnesses, const struct conf_route *route,
    const struct key_id *key_id, uint32_t attempt, int64_t claim_ms);

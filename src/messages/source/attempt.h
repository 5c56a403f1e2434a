/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/claimant.h"
#include "gate/key_waiters.h"
#include "messages/source/shape.h"
#include "messages/source/source.h"

/*
 * An attempt at the key of a message, which a message from its broker
 * (source/delivery.h) and a letter that is replayed (source/replay.h) make in
 * the same way: a request is made of the message, its key is claimed, and where
 * the claim is ours it is executed.  What comes of that is a line of
 * tbl/meanings.h.  It knows neither what becomes of the message then, nor
 * brokers.  A member of its machine, which its operations wake; the worker's
 * thread only.
 */
enum found {
#define MEANING(found, step, of_letter, outcome, why) FOUND_##found,
#include "tbl/meanings.h"
#undef MEANING
	FOUND_COUNT_,
};

struct attempt {
	struct source *source;
	struct machine *machine;
	/* The message; its position and arena outlive its bytes. */
	const struct broker_message *message;

	size_t charged; /* for it and its body (source_credit.h), to its end */

	/* The request of this try; c is there while its arena is not NULL. */
	struct claimant c;
	struct body body;
	struct key_waiter waiter;
	bool busy;  /* its entity is held: by another record */
	bool whole; /* the stored answer is wanted, not only its status */
	bool asks;  /* the claim asks what is known, and takes nothing */
	bool lost;  /* and makes the record UNKNOWN that is not there */
	bool fresh; /* memory may be older than what an operator decided */

	/* An execution may have happened: its record is not to be missing. */
	bool sent;
	int met; /* status of its last execution here; 0: no answer came */
	struct span detail; /* of a mismatch, or why no request was made */

	/* What people see of the last try, also after its request. */
	char key_hex[DIGEST_HEX + 1]; /* "": there was none */
	uint32_t number;              /* of the record's attempts; 0 */
	const char *route;            /* NULL */
	struct span label;            /* "" */
	struct source_refusals refusals; /* of its API */
};

void attempt_init(struct attempt *attempt, struct source *source,
    const struct broker_message *message, struct machine *machine);
/* The next try makes its request anew; always allowed. */
void attempt_clear(struct attempt *attempt);
/*
 * The same, and what was charged is given back; claimed: the claim has just
 * ended, and is given back if it is ours, as nobody begins it.
 */
void attempt_end(struct attempt *attempt, bool claimed);

/*
 * The body of the request, and then the request itself, under the present
 * configuration; unless it is good, detail says why.
 */
MUST_USE enum shape_verdict attempt_make_body(struct attempt *attempt);
MUST_USE enum shape_verdict attempt_make_request(struct attempt *attempt);
/* What a message is that cannot be made a request of. */
enum message_outcome attempt_misshapen(enum shape_verdict verdict);
/* A tombstone of Kafka, or a row whose payload is NULL. */
bool attempt_has_no_value(const struct attempt *attempt);

/*
 * Claims its key, and listens for changes of it; executes: false: it only asks
 * what is known of it.  False: memory had the answer, and attempt_cached() says
 * what that means; else the machine waits for c.claim_op.
 */
MUST_USE bool attempt_claim(struct attempt *attempt, bool executes);
enum found attempt_cached(const struct attempt *attempt);
/*
 * What the claim was answered.  FOUND_AGAIN: it is to be claimed once more at
 * once.  FOUND_NOTHING: it asked, and nobody is at the key or knows an outcome;
 * c.claim_op.attempt is 0 where no attempt is known either.  FOUND_NO_STORE:
 * *ret_why, of which the source stands.
 */
enum found attempt_claimed(struct attempt *attempt, const char **ret_why);

/*
 * The claim is ours: it is executed, and the machine waits for c.join.  What
 * becomes of it says to the source whether its API is well.
 */
void attempt_execute(struct attempt *attempt);
enum found attempt_executed(struct attempt *attempt);
/*
 * How long it is to rest before the next try, ms, after so many of them: the
 * back-off of its source, or longer where the upstream or the record says so.
 */
int64_t attempt_back_off_ms(const struct attempt *attempt, unsigned tries);

/* The status of its answer, stored or met; 0: there is none. */
int attempt_status(const struct attempt *attempt);

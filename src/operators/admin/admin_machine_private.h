/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/container.h"
#include "base/histogram.h"
#include "gate/machine.h"
#include "http/front/exchange.h"
#include "http/front/front.h"
#include "http/front/places.h"
#include "http/head/head_check.h"
#include "messages/shared/floors.h"
#include "messages/shared/pause.h"
#include "messages/source/inquiry.h"
#include "store/records.h"
#include "store/records_count.h"
#include "store/records_list.h"

/*
 * The machine of a request to the admin interface: its steps
 * (tbl/admin_steps.h), what it gathers on its way, and what all requests
 * share.  The files of this folder read and set it; it holds no functions but
 * for the way from one step to the next, so that none of them need know who
 * else does.  Main thread.
 */
enum admin_step {
#define ADMIN_STEP(name, function, operation) ADMIN_##name,
#include "tbl/admin_steps.h"
	ADMIN_STEPS_,
};
_Static_assert((int)ADMIN_STEPS_ <= (int)MACHINE_STEPS_MAX, "too many steps");

struct worker;

/* What all requests share; admin.c makes it and ends it. */
struct admin {
	struct loop *loop;
	const struct conf *conf; /* of the start: what no reload changes */
	const struct conf *now;  /* of the last reload */
	int64_t loaded_ms;       /* since 1970: when that was */
	uint64_t reloads[2];     /* those that were refused, and adopted */
	json_t *refused; /* the last one, as /status has it; NULL: adopted */
	json_t *restart; /* what waits for one, likewise; NULL: nothing */
	json_t *keys; /* what the last reload that did changed of keys; NULL */
	struct budget budget; /* its own */
	struct places places; /* of its own front */
	struct front *front;
	struct store *store;
	struct histogram store_took[SCRIPT_COUNT_];
	struct counter spun; /* its own connections (front/front.h) */
	struct machines machines;
	bool draining;

	/* What it was told to show (struct admin_view). */
	const char *address;
	const char *const *listen;
	size_t n_listen;
	struct worker *const *workers; /* conf->workers of them */
	int64_t started_ms;            /* since 1970 */
};

/* What an operator says that happened; spans of the request's body. */
struct admin_outcome {
	int status;
	struct fields fields;
	struct span body;
};

struct admin_request;

/* What can be asked for: a row of the table in admin_request.c. */
struct admin_endpoint {
	const char *method;
	/* {id} stands for a key_id, {name} for any segment. */
	const char *path;
	/* Called once the head and any body are in. */
	enum after (*run)(struct admin_request *a);
	unsigned flags;
};
enum {
	ADMIN_OPEN = 1,      /* needs no token */
	ADMIN_TAKES_BODY = 2, /* JSON, which may be empty */
	ADMIN_TAKES_ANSWER = 4, /* the same, with a whole answer in it */
};

struct admin_request {
	struct machine machine;
	struct admin *admin;
	const struct conf *conf; /* admin->now when it came */
	struct exchange *x;
	struct arena *arena; /* of the exchange */
	struct checked_head head;
	struct span id;
	const struct admin_endpoint *endpoint;
	struct span name; /* of a source, or a message's id; "": about none */
	json_t *in; /* the body, where it has one */
	size_t parsed_bytes; /* of the budget, for that */

	/* The record that it is about. */
	struct key_id key_id;
	char key_hex[DIGEST_HEX + 1]; /* empty: about none */
	/* A lookup by key: more of what it may be called. */
	struct key_id *others;
	size_t n_others;
	bool with_body; /* show the stored answer's */

	/* An operator's act. */
	bool acts;
	enum records_act act;
	uint32_t attempt; /* that it is said of; 0: whichever */
	unsigned tries;   /* when the record had changed as it acted */
	struct span note;
	struct admin_outcome outcome;

	struct records_op look;
	struct provenance was; /* of what is acted on; in look's arena */
	/* The answer that is to take a damaged record's place. */
	struct body waiting_bytes;
	struct journal_entry waiting;
	struct records_list list; /* its arena is a reference of its own */
	size_t limit; /* of records in the answer */
	struct span find, find_route; /* empty: any */
	bool finds; /* the list is of key_id alone */
	json_t *listed;
	struct records_count count;
	struct inquiry_op inquiry;
	struct pause_op pause;
	struct floors_op rewind;

	struct answer *given; /* the operator's answer, for the record */
	struct answer *answer;
	struct field more[2];
	size_t n_more;
	bool close;
};

/* The request that a step is called for. */
static inline struct admin_request *
admin_request_of(struct machine *machine)
{
	return CONTAINER_OF(machine, struct admin_request, machine);
}

/* The next step, and what to return of the one before. */
static inline enum after
admin_request_to(
    struct admin_request *a, enum admin_step step, enum after after)
{
	machine_to(&a->machine, step);
	return after;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/container.h"
#include "base/histogram.h"
#include "conf/complaints.h"
#include "gate/machine.h"
#include "gate/sweeper.h"
#include "gate/trust.h"
#include "gate/witness.h"
#include "http/front/exchange.h"
#include "http/front/front.h"
#include "http/front/places.h"
#include "http/head/head_check.h"
#include "messages/shared/floors.h"
#include "messages/shared/letter.h"
#include "messages/shared/pause.h"
#include "messages/source/inquiry.h"
#include "operators/admin/admin.h"
#include "store/records.h"

/*
 * A request to the admin interface is a machine (tbl/admin_steps.h).  Here are
 * the endpoints that it can ask for, the struct that it fills on its way, and
 * the struct that all requests share.  The files of this folder read and set
 * these.  Main thread.
 */
enum admin_step {
#define ADMIN_STEP(name, function, operation) ADMIN_##name,
#include "tbl/admin_steps.h"
};

/* The part that all requests share; admin.c makes it and ends it. */
struct admin {
	struct loop *loop;
	const struct conf *conf; /* of the start: what no reload changes */
	const struct conf *now;  /* of the last reload */
	int64_t loaded_ms;       /* since 1970: when that was */
	uint64_t reloads[2];     /* those that were refused, and adopted */
	/* As /status shows them, or NULL (admin_reload_tell): */
	json_t *refused; /* why the last reload was refused */
	json_t *restart; /* the changes that wait for a restart */
	json_t *keys; /* the last changes that existing keys depend on */
	struct budget budget; /* its own */
	struct places places; /* of its own front */
	struct front *front;
	struct store *store;
	struct store_health *health; /* the process' */
	struct histogram store_took[SCRIPT_COUNT_];
	struct traffic *traffic;
	struct machines machines;
	bool draining;
	struct admin_view view;
};

/* The outcome that an operator tells, as spans of the request's body. */
struct admin_outcome {
	int status;
	struct fields fields;
	struct span body;
};

/*
 * What a worker does for an operator, as it has the connections: it goes to its
 * thread and comes back.  Whoever asked may give up; it then ends alone.
 */
struct admin_errand {
	struct admin_errand_op *op; /* NULL: nobody waits for it any more */
	struct loop *asker;
	struct worker *worker;
	const struct conf *conf; /* which has the route */
	bool asks;  /* what became of it; or it is to be revoked */
	bool ended; /* the worker has */
	struct witness_op witness; /* with the key_id, in both cases */
	uint32_t first; /* all attempts from that one on are to be revoked */
	struct sweeper_question question;
	char *by; /* who asks */
};
struct admin_errand_op {
	struct op op;
	struct admin_errand *errand; /* with the answer once op is done */
};

struct admin_request;

enum admin_endpoint_flags {
	ADMIN_OPEN = 1,  /* needs no token */
	ADMIN_QUERY = 2, /* may have a query, which its function may read */
	ADMIN_LOOKS = 4, /* changes nothing, though it has a body */
	ADMIN_LARGE = 8, /* its body has an answer's in it */
};

/* An endpoint: a row of the table in admin_request.c. */
struct admin_endpoint {
	const char *method;
	/* {id} stands for a key_id, {name} for any segment. */
	const char *path;
	/* Called once the head and any body are in. */
	enum after (*run)(struct admin_request *a);
	/* Those of its body, which may be empty; NULL: it has no body. */
	const char *members;
	unsigned what; /* the one of several things that run is to do */
	unsigned flags;
};

struct admin_request {
	struct machine machine;
	struct admin *admin;
	const struct conf *conf; /* admin->now when it came */
	struct exchange *x;
	struct arena *arena; /* of the exchange */
	struct checked_head head;
	struct span id;
	struct span who; /* the name of its token; empty: nobody is named */
	bool looks_only; /* that token is for looking only */
	const struct admin_endpoint *endpoint;
	struct span name; /* a source's, or a message's id; or empty */
	json_t *in; /* the body, where it has one */
	size_t parsed_bytes; /* of the budget, for that */

	/* The record that it is about. */
	struct key_id key_id;
	char key_hex[DIGEST_HEX + 1]; /* empty: it is about none */
	/* Of a lookup by key: other records that may be meant. */
	struct key_id *others;
	size_t n_others;
	bool with_body; /* show the stored answer's */

	/* An operator's act. */
	bool acts;
	enum records_act act;
	uint32_t attempt; /* the one that is acted on; 0: any */
	int64_t changed_ms; /* likewise: when its record had changed; 0: any */
	struct span note;
	struct admin_outcome outcome;

	bool inquires; /* the API is to be asked what became of it */
	struct admin_errand_op errand;
	bool revoked; /* the witness has it that the attempt never happens */
	struct store_op trust;

	struct records_op look;
	struct provenance was; /* before the act; in look's arena */
	/* The answer that is to take a damaged record's place. */
	struct body waiting_bytes;
	struct journal_entry waiting;
	struct records_list list; /* its arena is a reference of its own */
	size_t limit; /* of records in the answer */
	struct span find; /* empty: any */
	/* Of the records that are listed; ptr NULL: any; empty: none. */
	struct span route, reason;
	bool finds; /* the list is of key_id alone */
	json_t *listed;
	struct records_count count;
	struct inquiry_op inquiry;
	struct pause_op pause;
	struct floors_op rewind;

	/* A dead or parked message, or a list of them. */
	struct letters letters;
	struct letters_list letter_list;
	struct letter_op letter;
	struct message_view *message; /* before the act */
	int64_t until_us; /* who waits for its end, waits until then … */
	struct op rest;   /* … and looks again after this */

	struct answer *given; /* the operator's answer, for the record */
	struct answer *answer;
	struct field more[6]; /* fields besides those of every answer */
	size_t n_more;
	bool close;
};

/* The request that a step is called for. */
static inline struct admin_request *
admin_request_of(struct machine *machine)
{
	return CONTAINER_OF(machine, struct admin_request, machine);
}

/* Moves to the next step, and returns what the one before returns. */
static inline enum after
admin_request_to(
    struct admin_request *a, enum admin_step step, enum after after)
{
	machine_to(&a->machine, step);
	return after;
}

/* --- the functions of steps and of paths --- */

#define ADMIN_STEP(name, function, operation)                                 \
	enum after function(struct machine *machine);
#include "tbl/admin_steps.h"

/* Makes a request of an exchange and runs it; admin is a struct admin. */
void admin_request_new(void *admin, struct exchange *x);
/* Sets the budget of bodies, for that configuration. */
void admin_request_budget(struct admin *admin, const struct conf *conf);

/* Tells that the main thread answers, if new claims are taken, or /status. */
enum { ADMIN_STATUS_HEALTH, ADMIN_STATUS_READY, ADMIN_STATUS_ALL };
enum after admin_status(struct admin_request *a);
/* Makes complaints as /status shows them: as a member, dated now, or alone. */
json_t *admin_status_reload(
    const char *member, const struct complaints *complaints);
/* Tells the samples of all workers; or groups of what is UNKNOWN or FAILED. */
enum { ADMIN_COUNT_METRICS, ADMIN_COUNT_GROUPS };
enum after admin_status_count(struct admin_request *a);

/* The ring begins now; its workers outlive it. */
struct traffic *admin_traffic_new(
    struct loop *loop, struct worker *const *workers, int64_t n_workers);
void admin_traffic_free(struct traffic **traffic);
/* A minute is over. */
void admin_traffic_turn(struct traffic *traffic);
/* Tells the last sixty minutes, and the one that runs. */
json_t *admin_traffic_json(const struct traffic *traffic);
enum after admin_traffic(struct admin_request *a);
/* Tells the duplicates of routes that only observe. */
enum after admin_observed(struct admin_request *a);

/* Tells a page of records that are not COMPLETED, the oldest change first. */
enum after admin_keys_list(struct admin_request *a);
/* Tells the groups that a->count has counted, most first. */
enum after admin_keys_groups(struct admin_request *a);
/* Tell a key's record, or that of a key_id; or do an operator's act. */
enum after admin_keys_show(struct admin_request *a);
enum after admin_keys_order(struct admin_request *a);
/* Asks now what became of a key whose outcome is unknown. */
enum after admin_keys_inquire(struct admin_request *a);

/* Makes the list of witnesses and whether they are trusted, for /status. */
json_t *admin_witness_list(const struct admin_request *a);
/* Takes an operator's word that a route's witness may be believed again. */
enum after admin_witness_trust(struct admin_request *a);
/*
 * Has the API, or its database, asked what became of the record that was looked
 * at; or (asks false) its attempts revoked, as that route's witness has it.
 * a->errand then has the answer.
 */
enum after admin_witness_send(
    struct admin_request *a, const struct conf_route *route, bool asks);
/* Gives up, or lets go of the answer; always allowed. */
void admin_witness_end(struct admin_errand_op *op);

/*
 * Tell this gateway's own sources, each asked in its worker's thread, and
 * relays; other gateways know what they read.
 */
enum after admin_sources_list(struct admin_request *a);
/* Asks all sources what the inquiry says; then comes that step. */
enum after admin_sources_ask(
    struct admin_request *a, int64_t ms, enum admin_step step);
enum after admin_sources_relays(struct admin_request *a);
/* Resumes or pauses a source or a relay, for all gateways. */
enum { ADMIN_RELAY = 1, ADMIN_REWIND = 2 };
enum after admin_sources_pause(struct admin_request *a);
/* Lets an operator set a source's group back (shared/floors.h). */
enum after admin_sources_rewind(struct admin_request *a);
/* Restores a source's letters; or has it go on, though it is unproven. */
enum after admin_sources_restore(struct admin_request *a);
/* Returns the source of that name, or NULL. */
const struct conf_source *admin_sources_named(
    const struct admin_request *a, struct span name);
/* Answers that none has the name, and which one has a similar one. */
enum after admin_sources_absent(
    struct admin_request *a, const char *kind, struct span name);

/* Tells a page of messages that rest, the oldest first, or of dead letters. */
enum after admin_messages_list(struct admin_request *a);
/* Tells one message, drops or replays it, as an enum inquiry_kind says. */
enum after admin_messages_one(struct admin_request *a);

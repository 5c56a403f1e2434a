/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "admin/admin.h"
#include "gate/machine.h"
#include "http/exchange.h"
#include "http/front.h"
#include "http/problem.h"
#include "store/records.h"
#include "store/records_count.h"
#include "store/records_list.h"

/*
 * The inside of the admin interface, for its files alone: admin.c (life),
 * asked.c (HTTP), asker.c (who asks), admin_page.c (the page), operator.c
 * (records), admin_json.c (JSON in and out).  Main thread.
 */
enum admin_step {
#define ADMIN_STEP(name, function, operation) ADMIN_##name,
#include "tbl/admin_steps.h"
	ADMIN_STEPS_,
};
_Static_assert((int)ADMIN_STEPS_ <= (int)MACHINE_STEPS_MAX, "too many steps");

#define ADMIN_STEP(name, function, operation)                                 \
	enum after function(struct machine *machine);
#include "tbl/admin_steps.h"

struct admin {
	struct loop *loop;
	const struct conf *conf; /* of the start: what no reload changes */
	const struct conf *now;  /* of the last reload */
	int64_t loaded_ms;       /* since 1970: when that was */
	struct budget *budget;
	struct admin_view view;
	struct front *front;
	struct store *store;
	struct histogram store_took[SCRIPT_COUNT_];
	struct machines machines;
	bool draining;
};

/* What an operator says that happened; spans of the request's body. */
struct said {
	int status;
	struct fields fields;
	struct span body;
};

/* One request to the admin interface. */
struct asked {
	struct machine machine;
	struct admin *admin;
	const struct conf *conf; /* admin->now when it came */
	struct exchange *x;
	struct arena *arena; /* of the exchange */
	struct checked_head head;
	struct span id;
	const struct endpoint *endpoint;
	json_t *in; /* the body, where it has one */

	/* The record that it is about. */
	struct key_id key_id;
	char key_hex[DIGEST_HEX + 1]; /* empty: about none */
	/* A lookup by key: more of what it may be called. */
	struct key_id *others;
	size_t n_others;
	bool with_body; /* show the stored answer's */

	/* An operator's act. */
	bool acts;
	enum store_act act;
	uint32_t attempt; /* that it is said of; 0: whichever */
	unsigned looks;   /* at a record that had changed when it acted */
	struct span note;
	struct said said;

	struct store_look look;
	struct store_list list;
	struct store_count count;

	struct answer *given; /* the operator's answer, for the record */
	struct answer *answer;
	struct field more[2];
	size_t n_more;
	bool close;
};

static inline enum after
admin_to(struct asked *a, enum admin_step step, enum after after)
{
	machine_to(&a->machine, step);
	return after;
}

/* --- asked.c --- */

struct endpoint {
	const char *method;
	const char *path; /* {id} stands for a key_id */
	/* Its own steps, once the head and any body are in. */
	enum after (*run)(struct asked *a);
	unsigned flags;
};
enum {
	ENDPOINT_OPEN = 1,  /* needs no token */
	ENDPOINT_READS = 2, /* a JSON body, which may be empty */
};

/* The request is answered with that; the reference to json is taken. */
enum after admin_say(struct asked *a, int status, json_t *json);
/* ... or with a problem; an empty detail is the problem's own. */
enum after admin_refuse(
    struct asked *a, enum problem problem, struct span detail);
/* ... or with any bytes; the body is taken, and also are more fields of it. */
enum after admin_answer_with(struct asked *a, int status, struct span type,
    struct fields also, struct body *body);
enum { ALSO_MAX = 4 };
/* Redis did not answer, or refused. */
enum after admin_store_failed(struct asked *a, struct span detail);
/* The request's parameters in the target's query. */
bool admin_query_next(
    struct span *query, struct span *ret_name, struct span *ret_value);

/* --- asker.c --- */

/* It has the token, which is wiped, or none is needed. */
bool asker_has_token(const struct asked *a);
/* GET or HEAD. */
bool asker_reads_only(const struct asked *a);
/*
 * A page of another site may have had a browser send this: refuse it with
 * that problem and detail.  Which names (Host) may be used where no token is
 * set, and what a request that changes something must say (Origin,
 * Sec-Fetch-Site, Content-Type); whoever says nothing of these is no browser.
 */
bool asker_is_suspect(const struct asked *a, enum problem *ret_problem,
    struct span *ret_detail);

/* --- admin_page.c --- */

/*
 * The page for people (src/page/).  It holds no data and is the same for
 * everybody: it asks for all it shows by its own requests, each with the
 * token.  So where the token is missing, the answer to GET / is 401 and is the
 * page all the same: a browser cannot be made to send a token with the address
 * that is typed into it, and the page has the place where it is entered.
 */
enum after admin_page(struct asked *a, int status);
/* Made by make from src/page/: HTML with one <style> and one <script>. */
extern const char admin_page_text[];

/* --- operator.c --- */

enum after operator_list(struct asked *a);
enum after operator_lookup(struct asked *a);
enum after operator_show(struct asked *a);
enum after operator_release(struct asked *a);
enum after operator_complete(struct asked *a);
enum after operator_delete(struct asked *a);

/* --- admin_json.c --- */

const char *admin_state_word(enum record_state state);
/* RFC 3339, UTC, with milliseconds. */
json_t *admin_time_json(int64_t wall_ms);
/* What a look has found. */
json_t *admin_look_json(const struct store_look *look, bool with_body);
/* The record; answer is the stored one, or NULL where it was not read. */
json_t *admin_record_json(const struct store_record *record,
    const struct answer *answer, bool with_body);
/*
 * The members of a body: NULL, or a sentence of what is wrong with them.
 */
const char *admin_read_act(struct asked *a);
const char *admin_read_said(struct asked *a);
/* All records that the key may have, into key_id and others. */
const char *admin_read_lookup(struct asked *a);

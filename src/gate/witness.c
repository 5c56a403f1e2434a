/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/trust.h"
#include "gate/witness.h"
#include "gate/worker_state.h"

/* Without libpq the loader takes no witness. */
#ifdef HAVE_POSTGRES
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/secret.h"
#include "base/test_build.h"
#include "http/head/answer_fields.h"
#include "store/postgres/postgres_name.h"
#include "store/postgres/postgres_pipe.h"
#include "store/postgres/postgres_witness.h"

/*
 * Each database has one connection, by which its catalogue is read, answers are
 * looked up, and rows of 2xx are looked for; these wait for nobody.  Whatever
 * waits for the API's locks does so on one of some others, one after the other,
 * made when they are needed: questions about what is UNKNOWN, and an answer
 * whose row has been found locked; what is given up meanwhile is not sent at
 * all.  They are to the server of the first one, and end with it: of another,
 * be it a primary as well, neither catalogue nor rows would be known.  Nothing
 * is asked before the catalogue was read, nor what may not be believed.
 *
 * Behind each batch that is a transaction goes a ROLLBACK of its own: where the
 * batch failed before its COMMIT, the session is left in its transaction, and
 * batches that are on their way already would fail in that.
 */
enum {
	PIPES = 4,
	/* What is asked waits so long for an answer, besides its lock. */
	LOOK_UP_MS = 5000,
	QUESTION_MS = 60000,
	BRIEF_MS = 10, /* so long a lock is waited for on the first */
	READ_EVERY_MS = 60000,
	LOOK_MS = 1000, /* 2xx are looked at together */
	LOOKS = 500,
	CLEAN_EVERY_MS = 6 * 3600 * 1000,
	CLEAN_ROWS = 1000,
	WORDS = 160,
	NUMBER = 24,
};

struct witness_pipe {
	struct witness_database *database;
	struct postgres_pipe *pipe; /* NULL: not needed yet */
	bool busy; /* a question is under way that may wait for a lock */
	bool used; /* since the catalogue was read last */
};

/* A server, whichever configurations name it. */
struct witness_database {
	struct list item;
	struct witnesses *all;
	struct conf_broker broker; /* a copy of what it is reached by */
	struct witness_pipe pipes[PIPES];
	/* What is not sent yet: for the first of them, and for the others. */
	struct list brief, questions;
	unsigned under_way; /* of what was sent */
	bool known; /* its catalogue was read, for this generation */
	unsigned readings; /* of it, that were begun */
	bool down;         /* the log has it */
	struct timer read;
	struct list looks; /* being gathered, one for each route */
	struct timer look;
	int64_t clean_ms; /* when to look for rows that can be deleted */
};

struct witnesses {
	struct worker *worker;
	struct list databases;
};

static bool
is_of(const struct witness_database *database,
    const struct conf_broker *broker)
{
	const struct conf_broker *ours = &database->broker;
	return !strcmp(ours->postgres, broker->postgres) &&
	    span_eq(span_str(ours->password), span_str(broker->password));
}

/*
 * The next of the generation's routes, from *at on, whose witness is there;
 * NULL: there are no more.
 */
static const struct conf_route *
next_route(const struct witness_database *database, size_t *at)
{
	const struct conf *conf = database->all->worker->generation->conf;
	while (*at < conf->n_routes) {
		const struct conf_route *route = &conf->routes[(*at)++];
		if (conf_has_witness(route) &&
		    is_of(database, route->idempotency->witness.broker))
			return route;
	}
	return NULL;
}

/*
 * Whether trust in the route's witness is about that table there: it is about
 * the witness of the worker's generation, or where that has none any more, of
 * one before.  What a request of another generation was told to write proves
 * nothing of it, and is asked for nowhere.
 */
static bool
is_current(const struct witness_database *database, const char *route,
    const char *table)
{
	const struct conf *conf = database->all->worker->generation->conf;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *other = &conf->routes[i];
		if (!conf_has_witness(other) || strcmp(other->name, route))
			continue;
		const struct conf_witness *own = &other->idempotency->witness;
		return !strcmp(
			   database->broker.postgres, own->broker->postgres) &&
		    !strcmp(own->table, table);
	}
	return true;
}

static void
log_database(const struct witness_database *database, enum event event,
    const char *error)
{
	struct logline line = log_begin(event);
	log_str(&line, "broker", database->broker.name);
	if (error != NULL)
		log_str(&line, "error", error);
	log_end(&line);
}

/* --- a batch --- */

/* Begins a transaction; its statements follow those two. */
enum { BATCH_BEGIN, BATCH_SETTINGS, BATCH_FIRST };

static void
batch_begin(struct postgres_pipe *pipe, int64_t wait_ms,
    void (*result)(void *arg, unsigned statement, const PGresult *result),
    void (*end)(void *arg, const struct postgres_trouble *trouble), void *arg)
{
	char text[NUMBER];
	snprintf(text, sizeof text, "%" PRId64, wait_ms);
	const struct span wait = span_str(text);
	postgres_pipe_begin(pipe, result, end, arg);
	postgres_pipe_query(pipe, postgres_witness_begin, NULL, 0);
	postgres_pipe_query(pipe, postgres_witness_settings, &wait, 1);
}

static void
batch_end(struct postgres_pipe *pipe)
{
	postgres_pipe_query(pipe, "COMMIT", NULL, 0);
	postgres_pipe_end(pipe);
	postgres_pipe_begin(pipe, NULL, NULL, NULL);
	postgres_pipe_query(pipe, "ROLLBACK", NULL, 0);
	postgres_pipe_end(pipe);
}

/* --- what comes of a question --- */

/* A question that was sent, and lives until its batch has ended. */
struct witness_asked {
	struct witness_op *op; /* NULL: given up */
	struct witness_pipe *pipe;
	char *route;
	struct key_id key_id;
	uint32_t attempt;
	bool updates;
	bool inserted; /* the row is ours, and new */
	enum { ROW_NONE, ROW_ODD, ROW_REVOKED, ROW_STARTED, ROW_DONE } row;
	bool twice;        /* there is another row besides */
	const char *wrong; /* what makes no sense of one that is `done` */
};

/* The answer of a row that is `done`; NULL, or what makes no sense of it. */
static const char *
take_answer(struct witness_op *op, const PGresult *result)
{
	struct span status = postgres_pipe_value(result, 0, WITNESS_STATUS);
	struct span headers = postgres_pipe_value(result, 0, WITNESS_HEADERS);
	struct span body = postgres_pipe_value(result, 0, WITNESS_BODY);
	int64_t bytes = postgres_pipe_number(result, 0, WITNESS_BODY_BYTES);
	int64_t most = op->policy->max_response_body;
	const char *wrong = NULL;
	op->status = (int)op->policy->witness.status;
	if (status.ptr != NULL) {
		int64_t number =
		    postgres_pipe_number(result, 0, WITNESS_STATUS);
		if (number < 200 || number > 599)
			return "its status is none from 200 to 599";
		op->status = (int)number;
	}
	if (headers.len > POSTGRES_WITNESS_HEADERS)
		return "its headers are too long";
	if (headers.ptr != NULL && op->arena == NULL)
		op->arena = arena_new();
	if (headers.ptr != NULL) {
		/* What the fields point to lives as long as they do. */
		json_t *json = json_loadb(headers.ptr, headers.len,
		    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		struct fields fields = {NULL, 0};
		if (!json_is_null(json))
			wrong = json == NULL
			    ? "its headers are no JSON"
			    : answer_fields_read(op->arena, json, &fields);
		for (size_t i = 0; i < fields.count && wrong == NULL; i++) {
			fields.list[i].name =
			    arena_dup(op->arena, fields.list[i].name);
			fields.list[i].value =
			    arena_dup(op->arena, fields.list[i].value);
		}
		json_decref(json);
		op->fields = fields;
	}
	if (wrong == NULL && bytes > 0 &&
	    (op->status == 204 || op->status == 205 || op->status == 304))
		wrong = "an answer of its status has no body";
	op->too_large = bytes > most || most == 0;
	if (wrong == NULL && !op->too_large && body.len > 0 &&
	    body_append(&op->body, body.ptr, body.len) != 0)
		wrong = "there is no memory for its body";
	return wrong;
}

static void
question_result(void *arg, unsigned statement, const PGresult *result)
{
	struct witness_asked *q = arg;
	int rows = PQntuples(result);
	struct span verdict = postgres_pipe_value(result, 0, WITNESS_VERDICT);
	char key[DIGEST_HEX + 1];
	if (statement == BATCH_FIRST)
		q->inserted = rows > 0;
	if (statement != BATCH_FIRST + 1 + (unsigned)q->updates || rows == 0)
		return;
	q->twice = rows > 1;
	hex_encode(q->key_id.bytes, DIGEST_BYTES, key);
	if (!span_eq(postgres_pipe_value(result, 0, WITNESS_KEY),
		span_str(key)) ||
	    postgres_pipe_number(result, 0, WITNESS_ATTEMPT) != q->attempt) {
		/* A pooler may have mixed up what two have asked. */
		q->row = ROW_ODD;
		q->twice = false;
	} else if (span_eq(verdict, SPAN("done"))) {
		q->row = ROW_DONE;
		if (q->op != NULL)
			q->wrong = take_answer(q->op, result);
	} else if (span_eq(verdict, SPAN("started"))) {
		q->row = ROW_STARTED;
	} else {
		q->row = span_eq(verdict, SPAN("revoked")) ? ROW_REVOKED
							   : ROW_ODD;
	}
}

/* What came of it all, once the commit was answered; or why it is not known. */
static enum witness_answer
judge(const struct witness_asked *q, const char **ret_why)
{
	bool odd = q->twice || q->row == ROW_ODD ||
	    (q->inserted && q->row != ROW_NONE && q->row != ROW_REVOKED);
	if (odd)
		*ret_why = "its row is none that the API or the gateway "
			   "writes, or there are two, or a trigger changes it";
	else if (q->row == ROW_NONE)
		*ret_why = "no row is there, and none went in: a trigger or a "
			   "policy for rows is in between";
	else if (q->row == ROW_STARTED)
		return WITNESS_STARTED;
	else if (q->row == ROW_REVOKED)
		return WITNESS_REVOKED;
	else if (q->wrong == NULL)
		return WITNESS_DONE;
	else
		*ret_why = q->wrong;
	return WITNESS_UNKNOWN;
}

/* --- the end of a question --- */

static void
finish(struct witness_op *op, enum witness_answer answer, const char *why)
{
	op->answer = answer;
	op->asked = NULL;
	/* The words may be the row's own, which goes now. */
	snprintf(op->words, sizeof op->words, "%s", why != NULL ? why : "");
	if (answer != WITNESS_DONE)
		witness_clear(op);
	op_done(&op->op, 0);
}

static void
finish_away(struct witness_op *op, const char *why)
{
	finish(op, WITNESS_UNKNOWN, why);
	op->away = true;
}

/* --- asking --- */

static void question_ended(void *arg, const struct postgres_trouble *trouble);
static void go_on(struct witness_database *database);
static void pipe_open(struct witness_pipe *pipe);

/* The pipe can be asked, and what may be believed is known. */
static void
send_question(struct witness_pipe *pipe, struct witness_op *op)
{
	struct worker *w = pipe->database->all->worker;
	const struct conf_witness *policy = &op->policy->witness;
	int64_t most = op->policy->max_response_body;
	const char *why = trust_why(
	    w->trusts, op->route, op->claimed_ms, op->unknown_ms);
	if (!is_current(pipe->database, op->route->name, policy->table))
		why = "the route has another witness now";
	if (why != NULL && !op->regardless && INVARIANT(witness_seen)) {
		finish(op, WITNESS_UNKNOWN, why);
		op->distrusted = true;
		return;
	}
	struct witness_asked *q = mem_zero(sizeof *q);
	q->op = op;
	q->pipe = pipe;
	q->route = mem_str(span_str(op->route->name));
	q->key_id = op->key_id;
	q->attempt = op->attempt;
	q->updates = op->question == WITNESS_REVOKE_STARTED;
	op->asked = q;
	char key[DIGEST_HEX + 1], attempt[NUMBER], bytes[NUMBER];
	hex_encode(op->key_id.bytes, DIGEST_BYTES, key);
	snprintf(attempt, sizeof attempt, "%" PRIu32, op->attempt);
	snprintf(bytes, sizeof bytes, "%" PRId64,
	    most < INT32_MAX ? most : INT32_MAX);
	const struct span values[] = {
	    span_str(key), span_str(attempt), span_str(bytes)};
	struct arena *arena = arena_new();
	struct postgres_witness sql =
	    postgres_witness_make(arena, policy->table);
	int64_t wait_ms = policy->wait_ms;
	pipe->database->under_way++;
	pipe->used = true;
	pipe->busy = pipe != pipe->database->pipes;
	if (!pipe->busy && wait_ms > BRIEF_MS)
		wait_ms = BRIEF_MS;
	batch_begin(
	    pipe->pipe, wait_ms, question_result, question_ended, q);
	postgres_pipe_query(pipe->pipe, sql.revoke, values, 2);
	if (q->updates)
		postgres_pipe_query(
		    pipe->pipe, sql.revoke_started, values, 2);
	postgres_pipe_query(pipe->pipe, sql.read, values, 3);
	batch_end(pipe->pipe);
	arena_free(&arena);
}

static void
question_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct witness_asked *q = arg;
	struct witness_op *op = q->op;
	struct witness_pipe *pipe = q->pipe;
	struct witness_database *database = pipe->database;
	const char *why = NULL;
	database->under_way--;
	pipe->busy = false;
	/* A payment beside its revocation: nothing keeps them apart. */
	if (trouble == NULL && q->twice)
		trust_end(database->all->worker->trusts, q->route, true,
		    &q->key_id, q->attempt);
	if (op != NULL && (trouble == NULL ||
		!INVARIANT(revocation_committed))) {
		enum witness_answer answer = judge(q, &why);
		op->inserted = answer == WITNESS_REVOKED && q->inserted;
		finish(op, answer, why);
	} else if (op != NULL && trouble->lost) {
		finish_away(op, "the connection to its database was lost");
	} else if (op != NULL && trouble->kind == POSTGRES_LOCKED &&
	    pipe == database->pipes) {
		/* Nothing has changed; it is asked where it may wait. */
		op->asked = NULL;
		witness_clear(op);
		list_add_last(&database->questions, &op->item);
	} else if (op != NULL && trouble->kind == POSTGRES_LOCKED) {
		finish(op, WITNESS_UNKNOWN,
		    "the API is still at work: its row is locked");
	} else if (op != NULL) {
		finish(op, WITNESS_UNKNOWN, trouble->words);
	}
	if (trouble != NULL && !trouble->lost &&
	    trouble->kind == POSTGRES_ANOTHER)
		postgres_pipe_refuse(pipe->pipe, trouble->words);
	free(q->route);
	free(q);
	go_on(database);
}

/* Where those that are there are all at work one more is made, at a time. */
static void
go_on(struct witness_database *database)
{
	struct witness_op *op;
	bool making = false;
	for (size_t i = 0; i < PIPES && database->known; i++) {
		struct witness_pipe *pipe = &database->pipes[i];
		struct list *waiting =
		    i == 0 ? &database->brief : &database->questions;
		if (pipe->pipe == NULL && !list_empty(waiting) && !making)
			pipe_open(pipe);
		if (pipe->pipe == NULL)
			continue;
		making |= !postgres_pipe_is_ready(pipe->pipe);
		LIST_EACH(op, waiting, item) {
			if (pipe->busy || !postgres_pipe_is_ready(pipe->pipe))
				break;
			list_remove(&op->item);
			send_question(pipe, op);
		}
	}
}

static void
end_waiting(struct list *waiting, const char *why)
{
	struct witness_op *op;
	LIST_EACH(op, waiting, item) {
		list_remove(&op->item);
		finish_away(op, why);
	}
}

static void
detach(struct op *waits, int error)
{
	struct witness_op *op = CONTAINER_OF(waits, struct witness_op, op);
	list_remove(&op->item);
	if (op->asked != NULL)
		op->asked->op = NULL;
	if (error == E_TIMEOUT)
		finish_away(op, "its database does not answer in time");
	op->asked = NULL;
}

/* --- 2xx whose rows are looked for --- */

struct witness_look {
	struct key_id key_id;
	uint32_t attempt;
	int64_t claim_ms; /* 0: it was late */
	bool found, revoked, done;
};

/* Those of a route. */
struct witness_looks {
	struct list item;
	struct witness_database *database;
	char *route;
	char *table;
	size_t count;
	struct witness_look list[LOOKS];
};

static void
looks_free(struct witness_looks *looks)
{
	list_remove(&looks->item);
	free(looks->route);
	free(looks->table);
	free(looks);
}

static void
look_result(void *arg, unsigned statement, const PGresult *result)
{
	struct witness_looks *looks = arg;
	for (int i = 0; statement == BATCH_FIRST && i < PQntuples(result);
	     i++) {
		int64_t place = postgres_pipe_number(result, i, 0);
		struct span verdict = postgres_pipe_value(result, i, 1);
		if (place < 1 || place > (int64_t)looks->count)
			continue;
		struct witness_look *look = &looks->list[place - 1];
		look->found = true;
		look->revoked |= span_eq(verdict, SPAN("revoked"));
		look->done |= span_eq(verdict, SPAN("done"));
	}
}

/* What could not be looked at proves nothing. */
static void
look_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct witness_looks *looks = arg;
	struct trusts *trusts = looks->database->all->worker->trusts;
	int64_t proven_ms = 0;
	for (size_t i = 0; i < looks->count && trouble == NULL; i++) {
		const struct witness_look *look = &looks->list[i];
		if (look->done && !look->revoked &&
		    look->claim_ms > proven_ms)
			proven_ms = look->claim_ms;
		else if (look->found && (look->revoked ||
				(!look->done && look->claim_ms > 0)))
			trust_end(trusts, looks->route, look->revoked,
			    &look->key_id, look->attempt);
	}
	if (proven_ms > 0 &&
	    is_current(looks->database, looks->route, looks->table))
		trust_proven(trusts, looks->route, proven_ms);
	looks_free(looks);
}

static void
send_looks(struct witness_looks *looks)
{
	struct witness_database *database = looks->database;
	struct postgres_pipe *pipe = database->pipes[0].pipe;
	struct arena *arena = arena_new();
	char *keys, *attempts, hex[DIGEST_HEX + 1];
	list_remove(&looks->item);
	if (!database->known || !postgres_pipe_is_ready(pipe)) {
		looks_free(looks);
		arena_free(&arena);
		return;
	}
	FILE *k = mem_stream(&keys);
	FILE *a = mem_stream(&attempts);
	for (size_t i = 0; i < looks->count; i++) {
		hex_encode(looks->list[i].key_id.bytes, DIGEST_BYTES, hex);
		fprintf(k, "%c%s", i == 0 ? '{' : ',', hex);
		fprintf(a, "%c%" PRIu32, i == 0 ? '{' : ',',
		    looks->list[i].attempt);
	}
	fputc('}', k);
	fputc('}', a);
	must(fclose(k) == 0 && fclose(a) == 0);
	const struct span values[] = {span_str(keys), span_str(attempts)};
	batch_begin(pipe, LOOK_MS, look_result, look_ended, looks);
	postgres_pipe_query(pipe,
	    postgres_witness_make(arena, looks->table).look, values, 2);
	batch_end(pipe);
	arena_free(&arena);
	free(keys);
	free(attempts);
}

static void
on_look_timer(void *arg)
{
	struct witness_database *database = arg;
	struct witness_looks *looks;
	LIST_EACH(looks, &database->looks, item)
		send_looks(looks);
}

/* --- old revocations --- */

static void
clean_result(void *arg, unsigned statement, const PGresult *result)
{
	struct witness_database *database = arg;
	/* There may be more. */
	if (statement == BATCH_FIRST + 1 &&
	    atoi(PQcmdTuples((PGresult *)(uintptr_t)result)) == CLEAN_ROWS)
		database->clean_ms = 0;
}

static void
clean_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct witness_database *database = arg;
	if (trouble != NULL && !trouble->lost)
		log_database(database, EV_witness_unclean, trouble->words);
}

/*
 * Rows of that table that were revoked so long ago that no gateway asks about
 * their attempts any more.  It may take a second at most: it is in the way of
 * others.
 */
static void
clean(struct witness_database *database, const char *table, int64_t keep_ms)
{
	struct postgres_pipe *pipe = database->pipes[0].pipe;
	struct arena *arena = arena_new();
	const struct span values[] = {arena_printf(arena, "%" PRId64, keep_ms),
	    arena_printf(arena, "%d", CLEAN_ROWS)};
	batch_begin(pipe, 100, clean_result, clean_ended, database);
	postgres_pipe_query(pipe,
	    "SELECT set_config('statement_timeout', '1000', true)", NULL, 0);
	postgres_pipe_query(
	    pipe, postgres_witness_make(arena, table).clean, values, 2);
	batch_end(pipe);
	arena_free(&arena);
}

/* --- the catalogue --- */

/* What it says of one route. */
struct witness_reading {
	struct witness_database *database;
	unsigned number;
	char *route; /* NULL: of all of them it was read */
	char *table;
	bool read;
	int64_t keep_ms; /* of rows that were revoked; 0: nothing is deleted */
};

static void
catalogue_result(void *arg, unsigned statement, const PGresult *result)
{
	struct witness_reading *reading = arg;
	struct trusts *trusts = reading->database->all->worker->trusts;
	if (statement != BATCH_FIRST)
		return;
	reading->read = PQntuples(result) == 1;
	if (!postgres_pipe_true(result, 0, WITNESS_MAY_DELETE))
		reading->keep_ms = 0;
	/* A reload begins another: then it may be of another table. */
	if (reading->read && reading->number == reading->database->readings)
		trust_catalogue(trusts, reading->route,
		    postgres_pipe_value(result, 0, WITNESS_UNUSABLE).ptr,
		    postgres_pipe_value(result, 0, WITNESS_UNENFORCED).ptr);
}

static void
catalogue_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct witness_reading *reading = arg;
	struct witness_database *database = reading->database;
	bool lost = trouble != NULL && trouble->lost;
	bool another =
	    !lost && trouble != NULL && trouble->kind == POSTGRES_ANOTHER;
	bool counts =
	    !lost && !another && reading->number == database->readings;
	if (counts && reading->route != NULL &&
	    (trouble != NULL || !reading->read))
		trust_catalogue(database->all->worker->trusts,
		    reading->route,
		    trouble != NULL ? trouble->words
				    : "its catalogue says nothing",
		    NULL);
	if (trouble == NULL && reading->keep_ms > 0 && reading->read)
		clean(database, reading->table, reading->keep_ms);
	if (counts && reading->route == NULL) {
		database->known = true;
		if (database->down)
			log_database(database, EV_witness_up, NULL);
		database->down = false;
		go_on(database);
	}
	free(reading->route);
	free(reading->table);
	free(reading);
	/* A pooler may have led it to a server that does not write any more. */
	if (another)
		postgres_pipe_refuse(database->pipes[0].pipe, trouble->words);
}

/* How long rows of that table are kept that were revoked. */
static int64_t
keep_ms(const struct witness_database *database, const char *table)
{
	const struct conf_route *route;
	int64_t most_ms = 0;
	size_t at = 0;
	while ((route = next_route(database, &at)) != NULL) {
		const struct conf_idempotency *policy = route->idempotency;
		if (!strcmp(policy->witness.table, table) &&
		    policy->unknown_retention_ms > most_ms)
			most_ms = policy->unknown_retention_ms;
	}
	return 2 * most_ms;
}

/* A batch for each route: one that is refused is refused alone. */
static void
read_catalogue(struct witness_database *database)
{
	struct worker *w = database->all->worker;
	struct postgres_pipe *pipe = database->pipes[0].pipe;
	struct witness_reading *reading;
	const struct conf_route *route;
	size_t at = 0;
	struct arena *arena = arena_new();
	int64_t now_ms = loop_now_ms(w->loop);
	bool cleans = w->index == 0 && now_ms >= database->clean_ms;
	database->readings++;
	if (cleans)
		database->clean_ms = now_ms + CLEAN_EVERY_MS;
	timer_set(&database->read, READ_EVERY_MS);
	while ((route = next_route(database, &at)) != NULL) {
		const struct conf_witness *policy =
		    &route->idempotency->witness;
		reading = mem_zero(sizeof *reading);
		reading->database = database;
		reading->number = database->readings;
		reading->route = mem_text(route->name);
		reading->table = mem_text(policy->table);
		if (cleans)
			reading->keep_ms = keep_ms(database, policy->table);
		const struct span values[] = {
		    span_str(postgres_name_table(arena, policy->table)),
		    policy->enforced_by == NULL
			? POSTGRES_NULL
			: span_str(postgres_name_table(
			      arena, policy->enforced_by))};
		batch_begin(pipe, LOOK_MS, catalogue_result, catalogue_ended,
		    reading);
		postgres_pipe_query(
		    pipe, postgres_witness_catalogue, values, 2);
		batch_end(pipe);
	}
	/* Then all of it is known. */
	reading = mem_zero(sizeof *reading);
	reading->database = database;
	reading->number = database->readings;
	postgres_pipe_begin(pipe, NULL, catalogue_ended, reading);
	postgres_pipe_end(pipe);
	arena_free(&arena);
}

/* --- connections --- */

static void
pipe_made(void *arg)
{
	struct witness_pipe *pipe = arg;
	postgres_pipe_ready(pipe->pipe);
	if (pipe == pipe->database->pipes)
		read_catalogue(pipe->database);
	else
		go_on(pipe->database);
}

static void
pipe_down(void *arg, const char *why, bool refused)
{
	struct witness_pipe *pipe = arg;
	struct witness_database *database = pipe->database;
	bool taken = false;
	(void)refused;
	/* What waits is for those that are at work, if there are any. */
	for (size_t i = 1; i < PIPES; i++)
		taken |= database->pipes[i].busy;
	if (pipe != database->pipes && taken)
		return;
	end_waiting(&database->questions, why);
	if (pipe != database->pipes)
		return;
	/* The next server may be another one, with another catalogue. */
	database->known = false;
	end_waiting(&database->brief, why);
	for (size_t i = 1; i < PIPES; i++)
		postgres_pipe_free(&database->pipes[i].pipe);
	if (database->down)
		return;
	database->down = true;
	log_database(database, EV_witness_down, why);
}

static void
pipe_open(struct witness_pipe *pipe)
{
	struct witness_database *database = pipe->database;
	struct worker *w = database->all->worker;
	const struct postgres_pipe_events events = {
	    pipe_made, NULL, pipe_down, pipe};
	pipe->pipe = postgres_pipe_new(w->loop, &database->broker,
	    w->conf->instance, &events, database->pipes[0].pipe);
}

static void
database_free(struct witness_database *database)
{
	struct witness_looks *looks;
	database->known = false; /* nothing is asked any more */
	list_remove(&database->item);
	timer_clear(&database->read);
	timer_clear(&database->look);
	end_waiting(&database->brief, "the gateway ends");
	end_waiting(&database->questions, "the gateway ends");
	for (size_t i = 0; i < PIPES; i++)
		postgres_pipe_free(&database->pipes[i].pipe);
	LIST_EACH(looks, &database->looks, item)
		looks_free(looks);
	free(database->broker.name);
	free(database->broker.postgres);
	secret_free(database->broker.password);
	task_rest(database->all->worker->loop, database, free);
}

/* Each minute; what nobody needs any more is given up. */
static void
on_read_timer(void *arg)
{
	struct witness_database *database = arg;
	size_t at = 0;
	bool needed = next_route(database, &at) != NULL ||
	    database->under_way > 0 || !list_empty(&database->brief) ||
	    !list_empty(&database->questions);
	timer_set(&database->read, READ_EVERY_MS);
	for (size_t i = 1; i < PIPES; i++) {
		struct witness_pipe *pipe = &database->pipes[i];
		if (!pipe->busy && !pipe->used)
			postgres_pipe_free(&pipe->pipe);
		pipe->used = false;
	}
	if (!needed)
		database_free(database);
	else if (postgres_pipe_is_ready(database->pipes[0].pipe))
		read_catalogue(database);
}

static struct witness_database *
database_of(struct witnesses *witnesses, const struct conf_broker *broker)
{
	struct witness_database *database;
	LIST_EACH(database, &witnesses->databases, item)
		if (is_of(database, broker))
			return database;
	database = mem_zero(sizeof *database);
	database->all = witnesses;
	database->broker = (struct conf_broker){
	    .name = mem_text(broker->name), .kind = broker->kind,
	    .postgres = mem_text(broker->postgres),
	    .password = broker->password != NULL
		? secret_str(span_str(broker->password))
		: NULL};
	for (size_t i = 0; i < PIPES; i++)
		database->pipes[i].database = database;
	list_init(&database->brief);
	list_init(&database->questions);
	list_init(&database->looks);
	timer_init(
	    &database->read, witnesses->worker->loop, on_read_timer, database);
	timer_init(
	    &database->look, witnesses->worker->loop, on_look_timer, database);
	list_add_last(&witnesses->databases, &database->item);
	pipe_open(&database->pipes[0]);
	return database;
}

/* --- asking, from outside --- */

void
witness_start(struct witnesses *witnesses, struct witness_op *op)
{
	const struct conf_witness *policy = &op->policy->witness;
	struct witness_database *database =
	    database_of(witnesses, policy->broker);
	int64_t now_ms = store_latest_ms(witnesses->worker->store);
	bool looks_up = op->unknown_ms == 0;
	must(op->attempt > 0);
	witness_clear(op);
	op->inserted = op->away = op->distrusted = op->too_large = false;
	op->status = 0;
	op->body = (struct body){.budget = witnesses->worker->budget};
	op_start(&op->op,
	    policy->wait_ms + (looks_up ? LOOK_UP_MS : QUESTION_MS), detach);
	/* The API may have forgotten its rows. */
	if (!looks_up && !op->regardless && now_ms > 0 &&
	    now_ms - op->unknown_ms > op->policy->unknown_retention_ms) {
		finish(op, WITNESS_UNKNOWN,
		    "it was sent longer ago than unknown_retention");
		op->distrusted = true;
		return;
	}
	list_add_last(
	    looks_up ? &database->brief : &database->questions, &op->item);
	go_on(database);
}

void
witness_saw(struct witnesses *witnesses, const struct conf_route *route,
    const struct key_id *key_id, uint32_t attempt, int64_t claim_ms)
{
	const struct witness_look look = {.key_id = *key_id,
	    .attempt = attempt, .claim_ms = claim_ms};
	if (!conf_has_witness(route) || (claim_ms > 0 &&
		!trust_is_guarded(witnesses->worker->trusts, route->name)))
		return;
	const struct conf_witness *policy = &route->idempotency->witness;
	struct witness_database *database =
	    database_of(witnesses, policy->broker);
	struct witness_looks *looks, *found = NULL;
	LIST_EACH(looks, &database->looks, item)
		if (!strcmp(looks->route, route->name) &&
		    !strcmp(looks->table, policy->table))
			found = looks;
	if (found == NULL) {
		found = mem_zero(sizeof *found);
		found->database = database;
		found->route = mem_text(route->name);
		found->table = mem_text(policy->table);
		list_add_last(&database->looks, &found->item);
	}
	found->list[found->count++] = look;
	if (found->count == LOOKS)
		send_looks(found);
	else if (!timer_is_set(&database->look))
		timer_set(&database->look, LOOK_MS);
}

/* --- life --- */

void
witness_reload(struct witnesses *witnesses)
{
	const struct conf *conf = witnesses->worker->generation->conf;
	struct witness_database *database;
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf_has_witness(&conf->routes[i]))
			database_of(witnesses,
			    conf->routes[i].idempotency->witness.broker);
	LIST_EACH(database, &witnesses->databases, item) {
		database->known = false;
		if (postgres_pipe_is_ready(database->pipes[0].pipe))
			read_catalogue(database);
	}
}

struct witnesses *
witness_new(struct worker *worker)
{
	struct witnesses *witnesses = mem_zero(sizeof *witnesses);
	witnesses->worker = worker;
	list_init(&witnesses->databases);
	witness_reload(witnesses);
	return witnesses;
}

void
witness_free(struct witnesses **witnesses)
{
	struct witness_database *database;
	if (*witnesses == NULL)
		return;
	LIST_EACH(database, &(*witnesses)->databases, item)
		database_free(database);
	free(*witnesses);
	*witnesses = NULL;
}
#else
struct witnesses *
witness_new(struct worker *worker)
{
	(void)worker;
	return NULL;
}

void
witness_free(struct witnesses **witnesses)
{
	(void)witnesses;
}

void
witness_reload(struct witnesses *witnesses)
{
	(void)witnesses;
}

void
witness_start(struct witnesses *witnesses, struct witness_op *op)
{
	(void)witnesses;
	(void)op;
	must(false);
}

void
witness_saw(struct witnesses *witnesses, const struct conf_route *route,
    const struct key_id *key_id, uint32_t attempt, int64_t claim_ms)
{
	(void)witnesses;
	(void)route;
	(void)key_id;
	(void)attempt;
	(void)claim_ms;
}
#endif

void
witness_clear(struct witness_op *op)
{
	arena_free(&op->arena);
	body_clear(&op->body);
	op->fields = (struct fields){NULL, 0};
}

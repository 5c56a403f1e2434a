/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "gate/response.h"
#include "http/head/header_value.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_auth.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_page.h"
#include "operators/admin/admin_private.h"

/*
 * The way of a request to the admin interface:
 *
 *   CHECK ⇢ RECEIVED ─┬─ ⇢ LISTED, perhaps again ─┐  admin_keys.c
 *                     ├─ ⇢ SHOWN (⇢ REVOKED) ⇢ ACTED
 *                     ├─ ⇢ SHOWN ⇢ INQUIRED ⇢ SHOWN
 *                     ├─ ⇢ TRUSTED ───────────────┤  admin_witness.c
 *                     ├─ ⇢ PROBED ────────────────┤  admin_status.c
 *                     ├─ ⇢ COUNTED ───────────────┤
 *                     ├─ ⇢ SURVEYED ──────────────┤  admin_sources.c
 *                     ├─ ⇢ ORDERED ───────────────┤
 *                     ├─ ⇢ REWOUND ───────────────┤
 *                     ├─ ⇢ SOUGHT ────────────────┤  admin_messages.c
 *                     └───────────────────────────┴─ ANSWER ⇢ ANSWERED
 *                                                    admin_answer.c
 */

/* The endpoints; the methods of a path stand together. */
static const struct admin_endpoint endpoints[] = {
    {"GET", "/", admin_page, NULL, 0, ADMIN_QUERY},
    {"GET", "/healthz", admin_status, NULL, ADMIN_STATUS_HEALTH,
	ADMIN_QUERY | ADMIN_OPEN},
    {"GET", "/readyz", admin_status, NULL, ADMIN_STATUS_READY,
	ADMIN_QUERY | ADMIN_OPEN},
    {"GET", "/status", admin_status, NULL, ADMIN_STATUS_ALL, ADMIN_QUERY},
    {"GET", "/metrics", admin_status_count, NULL, ADMIN_COUNT_METRICS,
	ADMIN_QUERY},
    {"GET", "/traffic", admin_traffic, NULL, 0, 0},
    {"GET", "/observed", admin_observed, NULL, 0, ADMIN_QUERY},
    {"GET", "/keys", admin_keys_list, NULL, 0, ADMIN_QUERY},
    {"GET", "/keys/groups", admin_status_count, NULL, ADMIN_COUNT_GROUPS, 0},
    {"POST", "/keys/lookup", admin_keys_show, "namespace key values scope",
	0, ADMIN_QUERY | ADMIN_LOOKS},
    {"GET", "/keys/{id}", admin_keys_show, NULL, 0, ADMIN_QUERY},
    {"DELETE", "/keys/{id}", admin_keys_order, "attempt changed note",
	ACT_DELETE, 0},
    {"POST", "/keys/{id}/release", admin_keys_order, "attempt changed note",
	ACT_RELEASE, 0},
    {"POST", "/keys/{id}/complete", admin_keys_order,
	"status headers body body_base64 attempt changed note", ACT_COMPLETE,
	ADMIN_LARGE},
    {"POST", "/keys/{id}/reconcile", admin_keys_inquire, "", 0, 0},
    {"GET", "/sources", admin_sources_list, NULL, 0, 0},
    {"POST", "/sources/{name}/pause", admin_sources_pause, "note", 0, 0},
    {"POST", "/sources/{name}/resume", admin_sources_pause, "note unproven",
	0, 0},
    {"POST", "/sources/{name}/rewind", admin_sources_rewind,
	"note partitions", ADMIN_REWIND, 0},
    {"POST", "/sources/{name}/restore", admin_sources_restore, "note", 0, 0},
    {"POST", "/witnesses/trust", admin_witness_trust, "note route", 0, 0},
    {"GET", "/relays", admin_sources_relays, NULL, 0, 0},
    {"POST", "/relays/{name}/pause", admin_sources_pause, "note",
	ADMIN_RELAY, 0},
    {"POST", "/relays/{name}/resume", admin_sources_pause, "note",
	ADMIN_RELAY, 0},
    {"GET", "/messages", admin_messages_list, NULL, INQUIRY_MESSAGES,
	ADMIN_QUERY},
    {"GET", "/messages/{name}", admin_messages_one, NULL, INQUIRY_MESSAGE, 0},
    {"POST", "/messages/{name}/replay", admin_messages_one, "note",
	INQUIRY_REPLAY, 0},
    {"POST", "/messages/{name}/drop", admin_messages_one, "note",
	INQUIRY_DROP, 0},
};
enum { N_ENDPOINTS = sizeof endpoints / sizeof *endpoints };

/* --- the memory for its body --- */

/*
 * The interface has a budget of its own, so that operators need nothing of
 * what clients have used up, and a body is looked through before it is parsed,
 * because a few bytes of JSON can make large trees.
 */
enum {
	/* Names, a scope, a note, 100 fields: all but an answer. */
	SMALL_BYTES = 64 * 1024,
	/* The interface's memory is this, or as much as four such bodies. */
	BUDGET_BYTES = 64 * 1024 * 1024,
	BUDGET_BODIES = 4,
	/* A list of 100 fields as pairs is the most that is asked for. */
	DEPTH_MAX = 8,
	VALUES_MAX = 1000,
	/* A value costs so much besides its text. */
	VALUE_BYTES = 256,
};

/*
 * The largest answer that any route stores, twice: base64 takes four thirds of
 * it, and JSON that is quoted in JSON hardly ever more than the double.
 */
static size_t
largest_bytes(const struct conf *conf)
{
	int64_t most = conf->defaults->max_response_body;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->max_response_body > most)
			most = policy->max_response_body;
	}
	return 2 * (size_t)most + SMALL_BYTES;
}

void
admin_request_budget(struct admin *admin, const struct conf *conf)
{
	size_t bytes = BUDGET_BODIES * largest_bytes(conf);
	if (bytes < BUDGET_BYTES)
		bytes = BUDGET_BYTES;
	atomic_store_explicit(
	    &admin->budget.limit, bytes, memory_order_relaxed);
}

/* --- the endpoint --- */

/* Compares byte by byte, and takes the segment in the place of the braces. */
static bool
matches(const char *pattern, struct span path, struct admin_request *a)
{
	const char *open = strchr(pattern, '{');
	if (open == NULL)
		return span_eq(path, span_str(pattern));
	struct span front = span_of(pattern, (size_t)(open - pattern));
	struct span back = span_str(strchr(open, '}') + 1);
	if (path.len <= front.len + back.len || !span_starts(path, front) ||
	    !span_eq(span_from(path, path.len - back.len), back))
		return false;
	struct span segment = span_from(path, front.len);
	segment.len -= back.len;
	if (memchr(segment.ptr, '/', segment.len) != NULL)
		return false;
	if (strncmp(open, "{id}", 4) != 0) {
		a->name = segment;
		return true;
	}
	if (segment.len != DIGEST_HEX ||
	    !hex_decode(segment, a->key_id.bytes, DIGEST_BYTES))
		return false;
	hex_encode(a->key_id.bytes, DIGEST_BYTES, a->key_hex);
	return true;
}

/* Begins to read the body that the endpoint may have. */
static enum after
find_endpoint(struct admin_request *a)
{
	struct span path = a->head.target.spelling;
	struct span method = a->x->head.method;
	struct span allowed = SPAN("");
	size_t most = 0;
	if (span_eq(method, SPAN("HEAD")))
		method = SPAN("GET");
	for (int i = 0; i < N_ENDPOINTS; i++) {
		const struct admin_endpoint *endpoint = &endpoints[i];
		if (!matches(endpoint->path, path, a))
			continue;
		if (span_eq(method, span_str(endpoint->method))) {
			a->endpoint = endpoint;
			if (a->looks_only && !admin_auth_reads_only(a) &&
			    !(endpoint->flags & ADMIN_LOOKS))
				return admin_answer_problem(
				    a, PROBLEM_READ_ONLY, SPAN(""));
			if (endpoint->flags & ADMIN_LARGE)
				most = largest_bytes(a->conf);
			else if (endpoint->members != NULL)
				most = SMALL_BYTES;
			exchange_read_body(a->x, most);
			return admin_request_to(a, ADMIN_RECEIVED, WAIT);
		}
		allowed = arena_printf(a->arena, "%.*s%s%s",
		    SPAN_FMT(allowed), allowed.len > 0 ? ", " : "",
		    endpoint->method);
	}
	if (allowed.len == 0)
		return admin_answer_problem(a, PROBLEM_NOT_FOUND,
		    SPAN("The admin interface has nothing at this path."));
	a->more[a->n_more++] = (struct field){SPAN("Allow"), allowed};
	return admin_answer_problem(a, PROBLEM_METHOD_NOT_ALLOWED, SPAN(""));
}

/* --- its head --- */

enum after
admin_request_check(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	enum head_verdict verdict =
	    head_check(a->arena, &a->x->head, &a->head);
	if (verdict != HEAD_CHECK_OK) {
		a->close = true;
		return admin_answer_problem(a, response_to_head_check(verdict),
		    span_str(a->head.message));
	}
	a->id = header_value_request_id(a->arena, &a->head.fields);
	machine_name(&a->machine, a->id);
	struct span path = a->head.target.spelling;
	for (int i = 0; i < N_ENDPOINTS; i++)
		if (endpoints[i].flags & ADMIN_OPEN &&
		    span_eq(path, span_str(endpoints[i].path)))
			return find_endpoint(a);
	if (!admin_auth_has_token(a)) {
		a->more[a->n_more++] = (struct field){SPAN("WWW-Authenticate"),
		    SPAN("Bearer realm=\"onceproxy admin\"")};
		return span_eq(path, SPAN("/")) && admin_auth_reads_only(a)
		    ? admin_page(a)
		    : admin_answer_problem(a, PROBLEM_UNAUTHORIZED, SPAN(""));
	}
	enum problem problem;
	struct span detail;
	if (admin_auth_is_suspect(a, &problem, &detail))
		return admin_answer_problem(a, problem, detail);
	return find_endpoint(a);
}

/* --- its body is there --- */

/* True where the text is no deeper, and has no more values, than needed. */
static bool
is_plain(struct span text)
{
	unsigned depth = 0, values = 1;
	for (size_t at = 0; at < text.len; at++) {
		char c = text.ptr[at];
		if (c == '"')
			for (at++; at < text.len && text.ptr[at] != '"'; at++)
				at += text.ptr[at] == '\\';
		if (c == '[' || c == '{')
			depth++;
		if (c == '[' || c == '{' || c == ',')
			values++;
		if ((c == ']' || c == '}') && depth > 0)
			depth--;
		if (depth > DEPTH_MAX || values > VALUES_MAX)
			return false;
	}
	return true;
}

enum after
admin_request_received(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	switch (a->x->op.error) {
	case 0:
		break;
	case E_TOO_LARGE:
		return admin_answer_problem(
		    a, PROBLEM_REQUEST_TOO_LARGE, SPAN(""));
	case E_NO_MEMORY:
		return admin_answer_problem(a, PROBLEM_OVERLOADED, SPAN(""));
	case E_MALFORMED:
		return admin_answer_problem(a, PROBLEM_BAD_REQUEST, SPAN(""));
	default:
		return DONE; /* the client left */
	}
	struct span body = body_span(&a->x->body);
	/* The text, its strings while they are read, and what they mean. */
	size_t bytes = 3 * body.len + VALUES_MAX * VALUE_BYTES;
	if (!is_plain(body))
		return admin_answer_bad_request(a,
		    "The body has more than 1000 values, or is nested more "
		    "than 8 deep.");
	if (body.len > 0) {
		if (!budget_take(&a->admin->budget, bytes, BUDGET_COMMON))
			return admin_answer_problem(a, PROBLEM_OVERLOADED,
			    SPAN("The admin interface's own memory is used up "
				 "by other requests to it. Nothing was "
				 "changed."));
		a->parsed_bytes = bytes;
		a->in = json_loadb(body.ptr, body.len,
		    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
		if (!json_is_object(a->in))
			return admin_answer_bad_request(
			    a, "The body is not a JSON object.");
	}
	const char *message = admin_body_read(a);
	if (message != NULL)
		return admin_answer_bad_request(a, message);
	return a->endpoint->run(a);
}

/* --- life --- */

static const struct machine_step steps[] = {
#define ADMIN_STEP(name, function, operation)                                 \
	{#name, function, sizeof #operation != sizeof "NULL"},
#include "tbl/admin_steps.h"
};

static struct op *
admin_request_awaited(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	switch (machine->step) {
#define ADMIN_STEP(name, function, operation)                                 \
	case ADMIN_##name:                                                     \
		return operation;
#include "tbl/admin_steps.h"
	}
	return NULL;
}

/* Makes ready, or cancels, what steps wait for; some wait for the same. */
static void
prepare_ops(struct admin_request *a, bool cancel)
{
	struct op *const ops[] = {
#define ADMIN_STEP(name, function, operation) operation,
#include "tbl/admin_steps.h"
	};
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		if (ops[i] == NULL)
			continue;
		if (!cancel)
			op_init(ops[i], a->admin->loop, machine_run,
			    &a->machine);
		else if (ops[i] != &a->x->op)
			op_cancel(ops[i]);
	}
}

static void
admin_request_free(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	prepare_ops(a, true);
	admin_witness_end(&a->errand);
	inquiry_end(&a->inquiry);
	arena_free(&a->list.arena);
	json_decref(a->listed);
	answer_unref(&a->look.op.answer);
	answer_unref(&a->given);
	answer_unref(&a->answer);
	body_clear(&a->waiting_bytes);
	json_decref(a->in);
	budget_give(&a->admin->budget, a->parsed_bytes);
	conf_unref(&a->conf);
	exchange_end(&a->x);
	free(a);
}

static const struct machine_kind admin_request_kind = {
    "admin", steps, admin_request_awaited, admin_request_free, false};

void
admin_request_new(void *arg, struct exchange *x)
{
	struct admin *admin = arg;
	struct admin_request *a = mem_zero(sizeof *a);
	machine_init(&a->machine, &admin_request_kind, &admin->machines);
	a->admin = admin;
	a->conf = conf_ref(admin->now);
	a->x = x;
	a->arena = a->look.arena = a->pause.arena = x->arena;
	a->rewind.arena = x->arena;
	a->letter_list.arena = a->letter.arena = x->arena;
	a->count.arena = x->arena;
	prepare_ops(a, false);
	machine_run(&a->machine);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "gate/response.h"
#include "http/head/header.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_auth.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_keys.h"
#include "operators/admin/admin_list.h"
#include "operators/admin/admin_machine_private.h"
#include "operators/admin/admin_messages.h"
#include "operators/admin/admin_observed.h"
#include "operators/admin/admin_page.h"
#include "operators/admin/admin_relays.h"
#include "operators/admin/admin_request.h"
#include "operators/admin/admin_rewind.h"
#include "operators/admin/admin_sources.h"
#include "operators/admin/admin_status.h"

/*
 * The way of a request to the admin interface:
 *
 *   CHECK ─ READ ⇢ RECEIVED ─┬─ LIST ⇢ LISTED ──────────────┐  admin_list.c
 *                            ├─ SHOW ⇢ SHOWN ─ ACT ⇢ ACTED ─┤  admin_keys.c
 *                            ├─ PROBE ⇢ PROBED ─────────────┤  admin_status.c
 *                            ├─ COUNT ⇢ COUNTED ────────────┤
 *                            ├─ SURVEY ⇢ SURVEYED ──────────┤  admin_sources.c
 *                            ├─ ORDER ⇢ ORDERED ────────────┤
 *                            ├─ REWIND ⇢ REWOUND ───────────┤  admin_rewind.c
 *                            ├─ SEEK ⇢ SOUGHT ──────────────┤  admin_messages.c
 *                            └──────────────────────────────┴─ ANSWER ⇢
 *                                          ANSWERED           admin_answer.c
 */
/* All that can be asked for; the methods of a path stand together. */
static const struct admin_endpoint endpoints[] = {
    {"GET", "/", admin_page, 0},
    {"GET", "/healthz", admin_status_health, ADMIN_OPEN},
    {"GET", "/readyz", admin_status_ready, ADMIN_OPEN},
    {"GET", "/status", admin_status, 0},
    {"GET", "/metrics", admin_status_metrics, 0},
    {"GET", "/configuration", admin_status_configuration, 0},
    {"GET", "/observed", admin_observed, 0},
    {"GET", "/keys", admin_list_keys, 0},
    {"POST", "/keys/lookup", admin_keys_lookup, ADMIN_TAKES_BODY},
    {"GET", "/keys/{id}", admin_keys_show, 0},
    {"DELETE", "/keys/{id}", admin_keys_delete, ADMIN_TAKES_BODY},
    {"POST", "/keys/{id}/release", admin_keys_release, ADMIN_TAKES_BODY},
    {"POST", "/keys/{id}/complete", admin_keys_complete,
	ADMIN_TAKES_ANSWER},
    {"GET", "/sources", admin_sources_list, 0},
    {"POST", "/sources/{name}/pause", admin_sources_pause,
	ADMIN_TAKES_BODY},
    {"POST", "/sources/{name}/resume", admin_sources_resume,
	ADMIN_TAKES_BODY},
    {"POST", "/sources/{name}/rewind", admin_rewind, ADMIN_TAKES_BODY},
    {"GET", "/relays", admin_relays_list, 0},
    {"POST", "/relays/{name}/pause", admin_relays_pause,
	ADMIN_TAKES_BODY},
    {"POST", "/relays/{name}/resume", admin_relays_resume,
	ADMIN_TAKES_BODY},
    {"GET", "/messages", admin_messages_list, 0},
    {"GET", "/messages/{name}", admin_messages_show, 0},
    {"POST", "/messages/{name}/replay", admin_messages_replay,
	ADMIN_TAKES_BODY},
    {"POST", "/messages/{name}/drop", admin_messages_drop,
	ADMIN_TAKES_BODY},
};
enum { N_ENDPOINTS = sizeof endpoints / sizeof *endpoints };

/* --- what is asked for --- */

/* Takes the key_id that stands in the place of {id}. */
static bool
take_key_id(struct admin_request *a, struct span segment)
{
	if (segment.len != DIGEST_HEX ||
	    !hex_decode(segment, a->key_id.bytes, DIGEST_BYTES))
		return false;
	hex_encode(a->key_id.bytes, DIGEST_BYTES, a->key_hex);
	return true;
}

/* The same bytes, but for the segment in braces, which is taken. */
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
	if (!strncmp(open, "{id}", 4))
		return take_key_id(a, segment);
	a->name = segment;
	return true;
}

static bool
serves(const struct admin_endpoint *endpoint, struct span method)
{
	bool head = span_eq(method, SPAN("HEAD"));
	return span_eq(
	    head ? SPAN("GET") : method, span_str(endpoint->method));
}

static enum after
find_endpoint(struct admin_request *a)
{
	struct span path = a->head.target.spelling;
	struct span allowed = SPAN("");
	for (int i = 0; i < N_ENDPOINTS; i++) {
		const struct admin_endpoint *endpoint = &endpoints[i];
		if (!matches(endpoint->path, path, a))
			continue;
		if (serves(endpoint, a->x->head.method)) {
			a->endpoint = endpoint;
			return admin_request_to(a, ADMIN_READ, MORE);
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

/* --- who asks --- */

static bool
needs_no_token(const struct admin_request *a)
{
	for (int i = 0; i < N_ENDPOINTS; i++)
		if ((endpoints[i].flags & ADMIN_OPEN) &&
		    span_eq(a->head.target.spelling,
			span_str(endpoints[i].path)))
			return true;
	return false;
}

static enum after
refuse_without_token(struct admin_request *a)
{
	a->more[a->n_more++] = (struct field){SPAN("WWW-Authenticate"),
	    SPAN("Bearer realm=\"onceproxy admin\"")};
	if (span_eq(a->head.target.spelling, SPAN("/")) &&
	    admin_auth_reads_only(a))
		return admin_page_without_token(a);
	return admin_answer_problem(a, PROBLEM_UNAUTHORIZED, SPAN(""));
}

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
	a->id = header_request_id(a->arena, &a->head.fields);
	machine_name(&a->machine, a->id);
	if (needs_no_token(a))
		return find_endpoint(a);
	if (!admin_auth_has_token(a))
		return refuse_without_token(a);
	enum problem problem;
	struct span detail;
	if (admin_auth_is_suspect(a, &problem, &detail))
		return admin_answer_problem(a, problem, detail);
	return find_endpoint(a);
}

/* --- its body --- */

enum after
admin_request_read(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	exchange_read_body(a->x, admin_body_most(a));
	return admin_request_to(a, ADMIN_RECEIVED, WAIT);
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
	enum after after;
	return admin_body_parse(a, &after) ? a->endpoint->run(a) : after;
}

/* --- life --- */

static const struct machine_step steps[] = {
#define ADMIN_STEP(name, function, operation) {#name, function},
#include "tbl/admin_steps.h"
};

static const struct op *
admin_request_awaited(struct machine *machine)
{
	const struct admin_request *a = admin_request_of(machine);
	switch ((enum admin_step)machine->step) {
#define ADMIN_STEP(name, function, operation)                                 \
	case ADMIN_##name:                                                     \
		return operation;
#include "tbl/admin_steps.h"
	case ADMIN_STEPS_:
		break;
	}
	must(false);
	return NULL;
}

static void
admin_request_free(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	op_cancel(&a->look.op.op);
	op_cancel(&a->list.op.op);
	op_cancel(&a->count.op.op);
	op_cancel(&a->pause.op.op);
	op_cancel(&a->rewind.op.op);
	inquiry_end(&a->inquiry);
	arena_free(&a->list.arena);
	json_decref(a->listed);
	answer_unref(&a->look.op.answer);
	answer_unref(&a->given);
	answer_unref(&a->answer);
	body_clear(&a->waiting_bytes);
	admin_body_end(a);
	conf_unref(&a->conf);
	exchange_end(&a->x);
	free(a);
}

static const struct machine_kind admin_request_kind = {
    "admin", steps, admin_request_awaited, admin_request_free};

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
	op_init(&x->op, admin->loop, machine_run, &a->machine);
	op_init(&a->look.op.op, admin->loop, machine_run, &a->machine);
	op_init(&a->list.op.op, admin->loop, machine_run, &a->machine);
	op_init(&a->count.op.op, admin->loop, machine_run, &a->machine);
	op_init(&a->pause.op.op, admin->loop, machine_run, &a->machine);
	op_init(&a->rewind.op.op, admin->loop, machine_run, &a->machine);
	op_init(&a->inquiry.op, admin->loop, machine_run, &a->machine);
	machine_run(&a->machine);
}

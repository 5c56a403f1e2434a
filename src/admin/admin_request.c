/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "admin/admin_request.h"
#include "admin/exposition.h"
#include "base/error.h"
#include "base/mem.h"
#include "gate/response.h"
#include "gate/worker.h"
#include "http/header.h"

/*
 * A request to the admin interface as HTTP: who may ask what, and how it is
 * answered.
 *
 *   CHECK ─ READ ⇢ RECEIVED ─┬─ (operator.c) LIST ⇢ LISTED ───────────┐
 *                            ├─ LOOK ⇢ LOOKED ─ ACT ⇢ ACTED ──────────┤
 *                            ├─ PROBE ⇢ PROBED ───────────────────────┤
 *                            ├─ COUNT ⇢ COUNTED ──────────────────────┤
 *                            └─ ANSWER ⇢ ANSWERED ◀───────────────────┘
 */
enum { BODY_MAX = 16 * 1024 * 1024 };

static enum after run_page(struct asked *a);
static enum after run_health(struct asked *a);
static enum after run_ready(struct asked *a);
static enum after run_status(struct asked *a);
static enum after run_metrics(struct asked *a);

/* Those of a path stand together. */
static const struct endpoint endpoints[] = {
    {"GET", "/", run_page, 0},
    {"GET", "/healthz", run_health, ENDPOINT_OPEN},
    {"GET", "/readyz", run_ready, ENDPOINT_OPEN},
    {"GET", "/status", run_status, 0},
    {"GET", "/metrics", run_metrics, 0},
    {"GET", "/keys", operator_list, 0},
    {"POST", "/keys/lookup", operator_lookup, ENDPOINT_READS},
    {"GET", "/keys/{id}", operator_show, 0},
    {"DELETE", "/keys/{id}", operator_delete, ENDPOINT_READS},
    {"POST", "/keys/{id}/release", operator_release, ENDPOINT_READS},
    {"POST", "/keys/{id}/complete", operator_complete, ENDPOINT_READS},
};
enum { N_ENDPOINTS = sizeof endpoints / sizeof *endpoints };

/* --- what is asked for --- */

/* A key_id in its place, which is taken, else the same bytes. */
static bool
matches(const char *pattern, struct span path, struct asked *a)
{
	const char *id = strstr(pattern, "{id}");
	if (id == NULL)
		return span_eq(path, span_str(pattern));
	struct span front = span_of(pattern, (size_t)(id - pattern));
	struct span back = span_str(id + strlen("{id}"));
	if (path.len != front.len + DIGEST_HEX + back.len ||
	    !span_starts(path, front) ||
	    !span_eq(span_from(path, front.len + DIGEST_HEX), back) ||
	    !hex_decode(span_of(path.ptr + front.len, DIGEST_HEX),
		a->key_id.bytes, DIGEST_BYTES))
		return false;
	hex_encode(a->key_id.bytes, DIGEST_BYTES, a->key_hex);
	return true;
}

static bool
serves(const struct endpoint *endpoint, struct span method)
{
	bool head = span_eq(method, SPAN("HEAD"));
	return span_eq(
	    head ? SPAN("GET") : method, span_str(endpoint->method));
}

static enum after
find_endpoint(struct asked *a)
{
	struct span path = a->head.target.spelling;
	struct span allowed = SPAN("");
	for (int i = 0; i < N_ENDPOINTS; i++) {
		const struct endpoint *endpoint = &endpoints[i];
		if (!matches(endpoint->path, path, a))
			continue;
		if (serves(endpoint, a->x->head.method)) {
			a->endpoint = endpoint;
			return admin_to(a, ADMIN_READ, MORE);
		}
		allowed = arena_printf(a->arena, "%.*s%s%s",
		    SPAN_FMT(allowed), allowed.len > 0 ? ", " : "",
		    endpoint->method);
	}
	if (allowed.len == 0)
		return admin_refuse(a, PROBLEM_NOT_FOUND,
		    SPAN("The admin interface has nothing at this path."));
	a->more[a->n_more++] = (struct field){SPAN("Allow"), allowed};
	return admin_refuse(a, PROBLEM_METHOD_NOT_ALLOWED, SPAN(""));
}

/* --- who asks --- */

static bool
needs_no_token(const struct asked *a)
{
	for (int i = 0; i < N_ENDPOINTS; i++)
		if ((endpoints[i].flags & ENDPOINT_OPEN) &&
		    span_eq(a->head.target.spelling,
			span_str(endpoints[i].path)))
			return true;
	return false;
}

static enum after
refuse_without_token(struct asked *a)
{
	a->more[a->n_more++] = (struct field){SPAN("WWW-Authenticate"),
	    SPAN("Bearer realm=\"onceproxy admin\"")};
	if (span_eq(a->head.target.spelling, SPAN("/")) && asker_reads_only(a))
		return admin_page(a, 401);
	return admin_refuse(a, PROBLEM_UNAUTHORIZED, SPAN(""));
}

enum after
admin_check(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	enum head_verdict verdict = head_check(a->arena, &a->x->head,
	    (size_t)a->admin->conf->max_request_headers, &a->head);
	if (verdict != HEAD_CHECK_OK) {
		a->close = true;
		return admin_refuse(a, response_to_head_check(verdict),
		    span_str(a->head.message));
	}
	a->id = header_request_id(a->arena, &a->head.fields);
	machine_name(&a->machine, a->id);
	if (needs_no_token(a))
		return find_endpoint(a);
	if (!asker_has_token(a))
		return refuse_without_token(a);
	enum problem problem;
	struct span detail;
	if (asker_is_suspect(a, &problem, &detail))
		return admin_refuse(a, problem, detail);
	return find_endpoint(a);
}

/* --- its body and its parameters --- */

enum after
admin_read(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	bool reads = a->endpoint->flags & ENDPOINT_READS;
	exchange_read_body(a->x, reads ? BODY_MAX : 0);
	return admin_to(a, ADMIN_RECEIVED, WAIT);
}

enum after
admin_received(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	switch (a->x->op.error) {
	case 0:
		break;
	case E_TOO_LARGE:
		return admin_refuse(a, PROBLEM_REQUEST_TOO_LARGE, SPAN(""));
	case E_NO_MEMORY:
		return admin_refuse(a, PROBLEM_OVERLOADED, SPAN(""));
	default:
		return DONE; /* the client left */
	}
	struct span body = body_span(&a->x->body);
	if (body.len > 0) {
		a->in = json_loadb(body.ptr, body.len,
		    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
		if (!json_is_object(a->in))
			return admin_refuse(a, PROBLEM_BAD_REQUEST,
			    SPAN("The body is not a JSON object."));
	}
	return a->endpoint->run(a);
}

bool
admin_query_next(
    struct span *query, struct span *ret_name, struct span *ret_value)
{
	struct span piece;
	do {
		if (!span_next(query, '&', &piece))
			return false;
	} while (piece.len == 0);
	const char *sign = memchr(piece.ptr, '=', piece.len);
	size_t len = sign ? (size_t)(sign - piece.ptr) : piece.len;
	*ret_name = span_of(piece.ptr, len);
	*ret_value = sign ? span_from(piece, len + 1) : SPAN("");
	return true;
}

/* --- health and status --- */

static enum after
run_page(struct asked *a)
{
	return admin_page(a, 200);
}

static enum after
run_health(struct asked *a)
{
	return admin_say(a, 200, json_pack("{s:s}", "status", "ok"));
}

/* Redis is asked whether it answers: a link may be up to a frozen one. */
static enum after
run_ready(struct asked *a)
{
	return admin_to(a, ADMIN_PROBE, MORE);
}

static enum after
run_status(struct asked *a)
{
	return admin_to(a, ADMIN_PROBE, MORE);
}

enum after
admin_probe(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	static const struct key_id nobody;
	store_look(a->admin->store, &a->look, &nobody, false);
	return admin_to(a, ADMIN_PROBED, WAIT);
}

/* A sentence, while Redis answers and is not given new claims. */
static const char *
fault_of(const struct admin *admin)
{
	return store_is_up(admin->store) ? store_fault(admin->store) : NULL;
}

static enum after
say_ready(struct asked *a, bool up)
{
	const char *reason = a->admin->draining ? "draining" : "store";
	const char *fault = fault_of(a->admin);
	if (up && fault == NULL && !a->admin->draining)
		return admin_say(
		    a, 200, json_pack("{s:s}", "status", "ready"));
	return admin_say(a, 503,
	    json_pack("{s:s, s:s, s:s*}", "status", "unready", "reason",
		reason, "detail", fault));
}

/* What is in flight now, all workers together and each. */
static json_t *
counts_json(const struct admin *admin)
{
	json_int_t requests = 0, executions = 0;
	json_t *each = json_array();
	for (int64_t i = 0; i < admin->conf->workers; i++) {
		const struct worker *w = admin->view.workers[i];
		json_int_t r = atomic_load(&w->requests.count);
		json_int_t e = atomic_load(&w->executions.count);
		requests += r;
		executions += e;
		json_array_append_new(each,
		    json_pack("{s:I, s:I}", "requests", r, "executions", e));
	}
	return json_pack("{s:I, s:I, s:o}", "requests", requests,
	    "executions", executions, "workers", each);
}

/* All workers' together; one that cannot be written takes no new claims. */
static json_t *
journal_json(const struct admin *admin)
{
	uint64_t entries = 0;
	bool writable = true;
	for (int64_t i = 0; i < admin->conf->workers; i++) {
		const struct worker *w = admin->view.workers[i];
		entries += counter_read(&w->meter.journal_entries);
		writable =
		    writable && !atomic_load(&w->journal_relay.unwritable);
	}
	return json_pack("{s:I, s:b}", "entries", (json_int_t)entries,
	    "writable", writable);
}

static enum after
say_status(struct asked *a, bool up)
{
	const struct admin *admin = a->admin;
	const struct admin_view *view = &admin->view;
	const struct conf *conf = admin->conf;
	json_t *listen = json_array();
	for (size_t i = 0; i < view->n_listen; i++)
		json_array_append_new(listen, json_string(view->listen[i]));
	int64_t up_ms = clock_wall_ms() - view->started_ms;
	const char *redis =
	    conf->store.managed ? "managed" : conf->store.redis.text;
	char *master = store_master(admin->store);
	json_t *status =
	    json_pack("{s:s, s:o, s:I, s:o, s:s, s:I, s:b, "
		      "s:{s:s, s:s?, s:s*, s:s*}, s:o, s:o, s:{s:s, s:o}}",
		"version", PACKAGE_VERSION,
		"started", admin_time_json(view->started_ms),
		"uptime_seconds", (json_int_t)(up_ms / 1000),
		"listen", listen, "admin", view->address,
		"workers", (json_int_t)conf->workers,
		"draining", admin->draining,
		"store", "state", up ? "up" : "down", "redis", redis,
		"master", master, "fault", fault_of(admin),
		"journal", journal_json(admin),
		"in_flight", counts_json(admin),
		"configuration", "file", conf->file,
		"loaded", admin_time_json(admin->loaded_ms));
	free(master);
	return admin_say(a, 200, status);
}

enum after
admin_probed(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	bool up = a->look.op.op.error == 0;
	return a->endpoint->run == run_ready ? say_ready(a, up)
					     : say_status(a, up);
}

static enum after
run_metrics(struct asked *a)
{
	return admin_to(a, ADMIN_COUNT, MORE);
}

enum after
admin_count(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	store_count(a->admin->store, &a->count);
	return admin_to(a, ADMIN_COUNTED, WAIT);
}

/* What Redis does not tell is left out. */
enum after
admin_counted(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	bool counted = a->count.op.op.error == 0;
	struct body body;
	body_init(&body, NULL);
	exposition_write(
	    a->admin, counted ? a->count.records : NULL, &body);
	return admin_answer_with(a, 200,
	    SPAN("text/plain; version=0.0.4; charset=utf-8"),
	    (struct fields){NULL, 0}, &body);
}

/* --- the answer --- */

enum after
admin_answer_with(struct asked *a, int status, struct span type,
    struct fields also, struct body *body)
{
	struct field list[ALSO_MAX + 4] = {
	    {SPAN("Date"), header_date(a->arena, clock_wall_ms())},
	    {SPAN("Content-Type"), type},
	    {SPAN("Cache-Control"), SPAN("no-store")},
	    {SPAN("X-Content-Type-Options"), SPAN("nosniff")},
	};
	struct fields fields = {list, 4};
	must(a->answer == NULL && also.count <= ALSO_MAX);
	for (size_t i = 0; i < also.count; i++)
		list[fields.count++] = also.list[i];
	a->answer = answer_new(status, &fields, body, SPAN(""));
	return admin_to(a, ADMIN_ANSWER, MORE);
}

enum after
admin_say(struct asked *a, int status, json_t *json)
{
	must(json != NULL);
	char *text = json_dumps(json, JSON_COMPACT);
	must(text != NULL);
	json_decref(json);
	struct body body;
	body_init(&body, NULL);
	must(body_append(&body, text, strlen(text)) == 0);
	must(body_append(&body, "\n", 1) == 0);
	free(text);
	return admin_answer_with(a, status, SPAN("application/json"),
	    (struct fields){NULL, 0}, &body);
}

enum after
admin_refuse(struct asked *a, enum problem problem, struct span detail)
{
	const struct problem_details details = {
	    .base = a->conf->problem_base,
	    .key_id = span_str(a->key_hex),
	    .detail = detail,
	    .date = header_date(a->arena, clock_wall_ms()),
	};
	must(a->answer == NULL);
	a->answer = problem_new(problem, &details);
	return admin_to(a, ADMIN_ANSWER, MORE);
}

enum after
admin_store_failed(struct asked *a, struct span detail)
{
	if (a->look.op.op.error == E_NO_MEMORY)
		return admin_refuse(a, PROBLEM_OVERLOADED, SPAN(""));
	return admin_refuse(a, PROBLEM_STORE_UNAVAILABLE, detail);
}

enum after
admin_answer(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	if (a->id.len == 0)
		a->id = header_request_id(
		    a->arena, &(struct fields){NULL, 0});
	a->more[a->n_more++] = (struct field){SPAN("X-Request-Id"), a->id};
	const struct fields more = {a->more, a->n_more};
	exchange_answer(a->x, a->answer, &more, a->close);
	return admin_to(a, ADMIN_ANSWERED, WAIT);
}

enum after
admin_answered(struct machine *machine)
{
	(void)machine;
	return DONE;
}

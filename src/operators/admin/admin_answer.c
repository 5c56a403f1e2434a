/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "http/head/header_value.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_private.h"

enum after
admin_answer_bytes(
    struct admin_request *a, int status, struct span type, struct body *body)
{
	struct field list[] = {
	    {SPAN("Date"), header_value_date(a->arena, clock_wall_ms())},
	    {SPAN("Content-Type"), type},
	    {SPAN("Cache-Control"), SPAN("no-store")},
	    {SPAN("X-Content-Type-Options"), SPAN("nosniff")},
	};
	const struct fields fields = {list, sizeof list / sizeof *list};
	must(a->answer == NULL);
	a->answer = answer_new(status, &fields, body, SPAN(""));
	return admin_request_to(a, ADMIN_ANSWER, MORE);
}

enum after
admin_answer_json(struct admin_request *a, int status, json_t *json)
{
	struct body body;
	must(json != NULL);
	body_line(
	    &body, json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6)));
	json_decref(json);
	return admin_answer_bytes(
	    a, status, SPAN("application/json"), &body);
}

enum after
admin_answer_problem(
    struct admin_request *a, enum problem problem, struct span detail)
{
	const struct problem_details message = {
	    .base = a->conf->problem_base,
	    .key_id = span_str(a->key_hex),
	    .detail = detail,
	    .date = header_value_date(a->arena, clock_wall_ms()),
	};
	must(a->answer == NULL);
	a->answer = problem_new(problem, &message);
	return admin_request_to(a, ADMIN_ANSWER, MORE);
}

enum after
admin_answer_bad_request(struct admin_request *a, const char *message)
{
	return admin_answer_problem(a, PROBLEM_BAD_REQUEST, span_str(message));
}

enum after
admin_answer_refused(struct admin_request *a, const char *fmt, ...)
{
	va_list args;
	char *why = NULL;
	va_start(args, fmt);
	must(vasprintf(&why, fmt, args) >= 0);
	va_end(args);
	struct span detail =
	    arena_printf(a->arena, "%s Nothing was changed.", why);
	free(why);
	return admin_answer_problem(a, PROBLEM_CONFLICT, detail);
}

enum after
admin_answer_store_failed(
    struct admin_request *a, const struct op *op, const char *rest)
{
	if (op->error == E_NO_MEMORY)
		return admin_answer_problem(a, PROBLEM_OVERLOADED, SPAN(""));
	return admin_answer_problem(a, PROBLEM_STORE_UNAVAILABLE,
	    arena_printf(
		a->arena, "Redis did not answer, or refused%s", rest));
}

void
admin_answer_log(const struct admin_request *a, struct logline *line)
{
	log_any(line, "note", a->note);
	log_any(line, "operator", a->who);
	log_span(line, "request_id", a->id);
	log_span(line, "client", a->x->client);
	log_end(line);
}

enum after
admin_answer_send(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	if (a->id.len == 0)
		a->id = header_value_request_id(
		    a->arena, &(struct fields){NULL, 0});
	a->more[a->n_more++] = (struct field){SPAN("X-Request-Id"), a->id};
	const struct fields more = {a->more, a->n_more};
	exchange_answer(a->x, a->answer, &more, NULL, 0, a->close);
	return admin_request_to(a, ADMIN_ANSWERED, WAIT);
}

enum after
admin_answer_sent(struct machine *machine)
{
	(void)machine;
	return DONE;
}

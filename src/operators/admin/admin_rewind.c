/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/loop/log.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_json.h"
#include "operators/admin/admin_machine_private.h"
#include "operators/admin/admin_rewind.h"
#include "operators/admin/admin_sources.h"

static const struct conf_source *
source_named(const struct conf *conf, struct span name)
{
	for (size_t i = 0; i < conf->n_sources; i++)
		if (span_eq(name, span_str(conf->sources[i].name)))
			return &conf->sources[i];
	return NULL;
}

enum after
admin_rewind(struct admin_request *a)
{
	const char *message = admin_json_read_rewind(a);
	if (message == NULL && a->head.target.has_query)
		message = "This request takes no parameters.";
	if (message != NULL)
		return admin_answer_problem(
		    a, PROBLEM_BAD_REQUEST, span_str(message));
	const struct conf_source *source = source_named(a->conf, a->name);
	if (source == NULL)
		return admin_answer_problem(a, PROBLEM_NOT_FOUND,
		    admin_sources_absent(a, a->name));
	if (source->broker->kind != BROKER_KAFKA)
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    SPAN("Only the group of a topic can be set back. Nothing "
			 "was changed."));
	return admin_request_to(a, ADMIN_REWIND, MORE);
}

enum after
admin_rewind_order(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const json_t *list = json_object_get(a->in, "partitions");
	size_t count = json_array_size(list);
	struct span *parts =
	    arena_alloc(a->arena, (count + 1) * sizeof *parts);
	for (size_t i = 0; i < count; i++)
		parts[i] = span_str(
		    json_string_value(json_array_get(list, i)));
	floors_lower(&a->rewind, a->admin->store, "source",
	    arena_dup(a->arena, a->name).ptr, parts, count);
	return admin_request_to(a, ADMIN_REWOUND, WAIT);
}

static void
log_rewind(const struct admin_request *a, enum event event)
{
	struct logline line = log_begin(event);
	log_span(&line, "source", a->name);
	if (event == EV_operator_rewind)
		log_int(&line, "partitions", (int64_t)a->rewind.count);
	else
		log_str(&line, "error", error_message(a->rewind.op.op.error));
	if (a->note.len > 0)
		log_span(&line, "note", a->note);
	log_span(&line, "request_id", a->id);
	log_span(&line, "client", a->x->client);
	log_end(&line);
}

enum after
admin_rewind_ordered(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct floors_op *op = &a->rewind;
	if (op->op.op.error != 0) {
		log_rewind(a, EV_operator_rewind_unsure);
		return admin_answer_store_failed(a,
		    SPAN("Redis did not answer, or refused. Say it again."));
	}
	if (op->op.verdict == VERDICT_GONE)
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    SPAN("Of one of these partitions nothing has been "
			 "finished. Nothing was changed."));
	log_rewind(a, EV_operator_rewind);
	json_t *parts = json_array();
	for (size_t i = 0; i < op->count; i++)
		json_array_append_new(parts, admin_json_text(op->parts[i]));
	return admin_answer_json(a, 200,
	    json_pack("{s:o, s:o}", "name", admin_json_text(a->name),
		"partitions", parts));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "messages/source/source_standing.h"
#include "messages/source/sources_view.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_json.h"
#include "operators/admin/admin_machine_private.h"
#include "operators/admin/admin_order.h"
#include "operators/admin/admin_relays.h"
#include "operators/admin/admin_sources.h"

enum { PATIENCE_MS = 5000 };

enum after
admin_sources_list(struct admin_request *a)
{
	if (a->head.target.has_query)
		return admin_answer_problem(a, PROBLEM_BAD_REQUEST,
		    SPAN("This request takes no parameters."));
	inquiry_new(&a->inquiry, INQUIRY_SOURCES);
	return admin_request_to(a, ADMIN_SURVEY, MORE);
}

enum after
admin_sources_survey(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	inquiry_ask(&a->inquiry, sources_view, a->admin->workers,
	    (unsigned)a->admin->conf->workers, PATIENCE_MS);
	return admin_request_to(a, ADMIN_SURVEYED, WAIT);
}

/* All reasons that it stands still for, the most pressing first. */
static json_t *
reasons_json(unsigned standing)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < STANDING_COUNT_; i++)
		if ((standing & 1u << i) != 0)
			json_array_append_new(list,
			    json_string(source_standing_word(1u << i)));
	return list;
}

static json_t *
pause_json(int64_t since_ms, struct span who, struct span note)
{
	if (since_ms == 0)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "since",
	    admin_json_time(since_ms), "who", admin_json_text(who), "note",
	    admin_json_text(note));
}

static json_t *
source_json(const struct source_view *view)
{
	static const char *const kinds[BROKER_KIND_COUNT_] = {
	    [BROKER_STREAMS] = "redis",
	    [BROKER_POSTGRES] = "postgres",
	    [BROKER_KAFKA] = "kafka",
	};
	static const char *const read[BROKER_KIND_COUNT_] = {
	    [BROKER_STREAMS] = "stream",
	    [BROKER_POSTGRES] = "table",
	    [BROKER_KAFKA] = "topics",
	};
	json_t *lag = view->lag >= 0 ? json_integer(view->lag) : json_null();
	json_t *dead = view->dead >= 0 ? json_integer(view->dead) : json_null();
	json_t *pause = pause_json(view->paused_ms, span_str(view->paused_by),
	    span_str(view->note));
	return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s?, s:o, s:s*, s:I, "
			 "s:s*, s:o, s:b, s:o, s:I, s:I, s:I, s:I, s:I, s:o, "
			 "s:o*}",
	    "name", view->name, "kind", kinds[view->kind],
	    "broker", view->broker,
	    read[view->kind], view->reads,
	    "group", view->group,
	    "standing", source_standing_word(view->standing),
	    "reasons", reasons_json(view->standing),
	    "why", source_standing_sentence(view->standing),
	    "parts_standing", (json_int_t)view->parts_standing,
	    "error", view->error[0] != '\0' ? view->error : NULL,
	    "paused", pause, "broker_up", view->up, "lag", lag,
	    "in_flight", (json_int_t)view->in_flight,
	    "held", (json_int_t)view->held,
	    "retrying", (json_int_t)view->retrying,
	    "waiting", (json_int_t)view->waiting,
	    "parked", (json_int_t)view->parked,
	    "dead", dead,
	    "dead_more", view->dead_more ? json_true() : NULL);
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp((*(struct source_view *const *)a)->name,
	    (*(struct source_view *const *)b)->name);
}

static json_t *
sources_json(struct arena *arena, struct source_view *first)
{
	size_t count = 0;
	json_t *list = json_array();
	for (struct source_view *v = first; v != NULL; v = v->next)
		count++;
	struct source_view **all =
	    arena_alloc(arena, (count + 1) * sizeof(struct source_view *));
	for (size_t i = 0; i < count; first = first->next)
		all[i++] = first;
	qsort(all, count, sizeof *all, compare_names);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, source_json(all[i]));
	return list;
}

enum after
admin_sources_surveyed(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	if (a->inquiry.op.error != 0)
		return admin_answer_problem(a, PROBLEM_NOT_ANSWERED, SPAN(""));
	return admin_answer_json(a, 200,
	    json_pack("{s:o}", "sources",
		sources_json(a->arena, a->inquiry.inquiry->sources)));
}

/* --- pause and resume --- */

static bool
is_configured(const struct conf *conf, struct span name)
{
	for (size_t i = 0; i < conf->n_sources; i++)
		if (span_eq(name, span_str(conf->sources[i].name)))
			return true;
	return false;
}

struct span
admin_sources_absent(const struct admin_request *a, struct span name)
{
	struct nearest nearest = nearest_to(name);
	for (size_t i = 0; i < a->conf->n_relays; i++)
		if (span_eq(name, span_str(a->conf->relays[i].name)))
			return arena_printf(a->arena,
			    "There is no source of this name, but a relay: "
			    "POST /relays/%.*s/pause and resume are for that.",
			    SPAN_FMT(name));
	for (size_t i = 0; i < a->conf->n_sources; i++)
		nearest_try(&nearest, span_str(a->conf->sources[i].name));
	return admin_order_absent(a->arena, "source", &nearest);
}

static enum after
order_of_source(struct admin_request *a)
{
	return admin_order_begin(a, is_configured(a->conf, a->name),
	    admin_sources_absent(a, a->name));
}

enum after
admin_sources_pause(struct admin_request *a)
{
	return order_of_source(a);
}

enum after
admin_sources_resume(struct admin_request *a)
{
	return order_of_source(a);
}

static bool
pauses(const struct admin_request *a)
{
	return a->endpoint->run == admin_sources_pause ||
	    a->endpoint->run == admin_relays_pause;
}

/* What is paused. */
static const char *
meant_kind(const struct admin_request *a)
{
	return admin_relays_are_meant(a) ? "relay" : "source";
}

enum after
admin_sources_order(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const char *name = arena_dup(a->arena, a->name).ptr;
	struct span who = arena_printf(a->arena, "%s, %.*s",
	    a->admin->conf->instance, SPAN_FMT(a->x->client));
	if (pauses(a))
		pause_begin(&a->pause, a->admin->store, meant_kind(a), name,
		    who, a->note);
	else
		pause_resume(&a->pause, a->admin->store, meant_kind(a), name);
	return admin_request_to(a, ADMIN_ORDERED, WAIT);
}

static void
log_order(const struct admin_request *a, enum event event)
{
	struct logline line = log_begin(event);
	log_span(&line, meant_kind(a), a->name);
	log_str(&line, "act", pauses(a) ? "pause" : "resume");
	if (a->pause.op.op.error != 0)
		log_str(&line, "error", error_message(a->pause.op.op.error));
	if (a->note.len > 0)
		log_span(&line, "note", a->note);
	log_span(&line, "request_id", a->id);
	log_span(&line, "client", a->x->client);
	log_end(&line);
}

enum after
admin_sources_ordered(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct pause_op *op = &a->pause;
	if (op->op.op.error != 0) {
		log_order(a, admin_relays_are_meant(a)
			? EV_operator_relay_unsure
			: EV_operator_source_unsure);
		return admin_answer_store_failed(a,
		    arena_printf(a->arena,
			"Redis did not answer, or refused. Look whether the "
			"%s is paused.",
			meant_kind(a)));
	}
	if (op->op.verdict == VERDICT_GONE)
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    arena_printf(a->arena,
			"The %s is not paused. Nothing was changed.",
			meant_kind(a)));
	log_order(a, admin_relays_are_meant(a) ? EV_operator_relay
					       : EV_operator_source);
	return admin_answer_json(a, 200,
	    json_pack("{s:o, s:o}", "name", admin_json_text(a->name),
		"paused",
		pause_json(op->on ? op->since_ms : 0, op->who, op->note)));
}

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/error.h"
#include "base/loop/log.h"
#include "conf/kinds.h"
#include "conf/nearest.h"
#include "messages/relay/relays.h"
#include "messages/source/source_standing.h"
#include "messages/source/sources_view.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_private.h"
#include "store/record/answer_json.h"

/*
 * Operators see sources and relays, pause and resume them, or decide what
 * becomes of a partition that is unproven.
 */
enum { PATIENCE_MS = 5000, RESTORE_MS = 60000 };

/* Makes a pause that began then; 0: there is none. */
static json_t *
pause_json(int64_t since_ms, struct span who, struct span note)
{
	if (since_ms == 0)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "since",
	    admin_body_time(since_ms), "who", answer_json_text(who), "note",
	    answer_json_text(note));
}

/* --- sources --- */

enum after
admin_sources_ask(struct admin_request *a, int64_t ms, enum admin_step step)
{
	inquiry_ask(&a->inquiry, sources_view, a->admin->view.workers,
	    (unsigned)a->admin->conf->workers, ms);
	return admin_request_to(a, step, WAIT);
}

enum after
admin_sources_list(struct admin_request *a)
{
	inquiry_new(&a->inquiry, INQUIRY_SOURCES);
	return admin_sources_ask(a, PATIENCE_MS, ADMIN_SURVEYED);
}

static json_t *
source_json(const struct source_view *view)
{
	json_t *lag = view->lag >= 0 ? json_integer(view->lag) : json_null();
	json_t *dead = view->dead >= 0 ? json_integer(view->dead) : json_null();
	json_t *reasons = json_array();
	/* All that it stands still for, the most pressing first. */
	for (unsigned i = 0; i < STANDING_COUNT_; i++)
		if ((view->standing & 1u << i) != 0)
			json_array_append_new(reasons,
			    json_string(source_standing_text(1u << i).word));
	json_t *pause = pause_json(view->paused_ms, span_str(view->paused_by),
	    span_str(view->note));
	return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s?, s:o, s:s*, s:I, "
			 "s:s*, s:o, s:b, s:o, s:I, s:I, s:I, s:I, s:I, s:o}",
	    "name", view->name, "kind", kinds_all[view->kind].broker,
	    "broker", view->broker,
	    kinds_all[view->kind].read, view->reads,
	    "group", view->group,
	    "standing", source_standing_text(view->standing).word,
	    "reasons", reasons,
	    "why", source_standing_text(view->standing).sentence,
	    "parts_standing", (json_int_t)view->parts_standing,
	    "error", view->error[0] != '\0' ? view->error : NULL,
	    "paused", pause, "broker_up", view->up, "lag", lag,
	    "in_flight", (json_int_t)view->in_flight,
	    "held", (json_int_t)view->held,
	    "retrying", (json_int_t)view->retrying,
	    "waiting", (json_int_t)view->waiting,
	    "parked", (json_int_t)view->parked,
	    "dead", dead);
}

enum after
admin_sources_surveyed(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	if (a->inquiry.op.error != 0)
		return admin_answer_problem(a, PROBLEM_NOT_ANSWERED, SPAN(""));
	json_t *list = json_array();
	const struct source_view *v = a->inquiry.inquiry->sources;
	for (; v != NULL; v = v->next) {
		size_t at = 0;
		/* In the order of their names; there are few. */
		while (at < json_array_size(list) &&
		    strcmp(json_string_value(json_object_get(
			       json_array_get(list, at), "name")),
			v->name) < 0)
			at++;
		json_array_insert_new(list, at, source_json(v));
	}
	return admin_answer_json(a, 200, json_pack("{s:o}", "sources", list));
}

/* --- relays --- */

/*
 * Makes a relay, with all that this gateway knows of it.  Of a webhook's target
 * the host alone is no secret.
 */
static json_t *
relay_json(struct admin_request *a, const struct conf_relay *relay)
{
	const struct admin *admin = a->admin;
	const struct conf_broker *broker = relay->broker;
	struct relay_meter *m = NULL;
	json_t *object = json_pack("{s:s, s:s, s:s*, s:s*, s:s*, s:s*}",
	    "name", relay->name, "kind",
	    broker != NULL ? kinds_all[broker->kind].broker : "webhook",
	    "receiver",
	    broker != NULL ? NULL : relay->receiver.targets[0].authority,
	    "broker", broker != NULL ? broker->name : NULL,
	    "topic", relay->topic, "table", relay->table);
	for (int64_t i = 0; i < admin->conf->workers && m == NULL; i++) {
		const struct relays *relays =
		    members_of(admin->view.workers[i], &relays_kind);
		m = relays != NULL ? relays->meters : NULL;
		while (m != NULL && strcmp(m->name, relay->name) != 0)
			m = m->next;
	}
	if (m == NULL)
		return object;
	const struct relay_said said = relays_said(m);
	bool runs = counter_read(&m->runs) > 0;
	json_t *known = json_pack("{s:b, s:o, s:o, s:I, s:I, s:o*, s:o}",
	    "runs", runs,
	    "up", runs ? json_boolean(counter_read(&m->up)) : json_null(),
	    "lag", runs ? json_integer((json_int_t)counter_read(&m->lag))
			: json_null(),
	    "events", (json_int_t)counter_read(&m->events),
	    "lost", (json_int_t)counter_read(&m->lost),
	    "error", admin_body_text(span_str(said.why)),
	    "paused",
	    pause_json(said.paused_ms, span_str(said.who),
		span_str(said.note)));
	json_object_update(object, known);
	json_decref(known);
	return object;
}

enum after
admin_sources_relays(struct admin_request *a)
{
	json_t *list = json_array();
	for (size_t i = 0; i < a->conf->n_relays; i++)
		json_array_append_new(
		    list, relay_json(a, &a->conf->relays[i]));
	return admin_answer_json(a, 200, json_pack("{s:o}", "relays", list));
}

/* --- sources and relays by name --- */

const struct conf_source *
admin_sources_named(const struct admin_request *a, struct span name)
{
	for (size_t i = 0; i < a->conf->n_sources; i++)
		if (span_eq(name, span_str(a->conf->sources[i].name)))
			return &a->conf->sources[i];
	return NULL;
}

static bool
has_relay(const struct admin_request *a, struct span name)
{
	bool known = false;
	for (size_t i = 0; i < a->conf->n_relays && !known; i++)
		known = span_eq(name, span_str(a->conf->relays[i].name));
	return known;
}

enum after
admin_sources_absent(
    struct admin_request *a, const char *kind, struct span name)
{
	struct nearest nearest = nearest_to(name);
	bool of_relay = !strcmp(kind, "relay");
	if (!of_relay && has_relay(a, name))
		return admin_answer_problem(a, PROBLEM_NOT_FOUND,
		    arena_printf(a->arena,
			"There is no source of this name, but a relay: "
			"POST /relays/%.*s/pause and resume are for that.",
			SPAN_FMT(name)));
	for (size_t i = 0; i < a->conf->n_sources && !of_relay; i++)
		nearest_try(&nearest, span_str(a->conf->sources[i].name));
	for (size_t i = 0; i < a->conf->n_relays && of_relay; i++)
		nearest_try(&nearest, span_str(a->conf->relays[i].name));
	bool near = nearest.found.ptr != NULL;
	struct span meant = near ? nearest.found : SPAN("");
	return admin_answer_problem(a, PROBLEM_NOT_FOUND,
	    arena_printf(a->arena, "There is no %s of this name%s%.*s%s", kind,
		near ? "; did you mean " : "", SPAN_FMT(meant),
		near ? "?" : "."));
}

/* --- pause and resume --- */

static const char *
kind_of(const struct admin_request *a)
{
	return a->endpoint->what & ADMIN_RELAY ? "relay" : "source";
}

/* The source as a whole is to go on, though it is unproven. */
static bool
proves(const struct admin_request *a)
{
	const json_t *unproven = json_object_get(a->in, "unproven");
	return unproven != NULL && json_array_size(unproven) == 0;
}

enum after
admin_sources_pause(struct admin_request *a)
{
	/* A resume of what is unproven is no end of a pause. */
	if (proves(a))
		return admin_sources_restore(a);
	if (json_object_get(a->in, "unproven") != NULL)
		return admin_sources_rewind(a);
	if (a->endpoint->what & ADMIN_RELAY
		? !has_relay(a, a->name)
		: admin_sources_named(a, a->name) == NULL)
		return admin_sources_absent(a, kind_of(a), a->name);
	const char *name = arena_dup(a->arena, a->name).ptr;
	struct span who = arena_printf(a->arena, "%.*s%s%s, %.*s",
	    SPAN_FMT(a->who), a->who.len > 0 ? ", " : "",
	    a->admin->conf->instance, SPAN_FMT(a->x->client));
	const char *act = strrchr(a->endpoint->path, '/') + 1;
	pause_say(&a->pause, a->admin->store, kind_of(a), name, act, who,
	    a->note);
	return admin_request_to(a, ADMIN_ORDERED, WAIT);
}

/* n_parts: so many partitions were decided of; -1: it is not about any. */
static void
log_act(const struct admin_request *a, enum event event, int error,
    int64_t n_parts)
{
	struct logline line = log_begin(event);
	log_span(&line, kind_of(a), a->name);
	/* "pause", "resume", "rewind" or "restore". */
	log_str(&line, "act", strrchr(a->endpoint->path, '/') + 1);
	if (error != 0)
		log_str(&line, "error", error_message(error));
	else if (n_parts >= 0)
		log_int(&line, "partitions", n_parts);
	admin_answer_log(a, &line);
}

enum after
admin_sources_ordered(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct pause_op *op = &a->pause;
	bool of_relay = a->endpoint->what & ADMIN_RELAY;
	if (op->op.op.error != 0) {
		log_act(a, of_relay ? EV_operator_relay_unsure
				    : EV_operator_source_unsure,
		    op->op.op.error, -1);
		return admin_answer_store_failed(a, &op->op.op, of_relay
			? ". Look whether the relay is paused."
			: ". Look whether the source is paused.");
	}
	if (op->op.verdict == VERDICT_GONE)
		return admin_answer_refused(
		    a, "The %s is not paused.", kind_of(a));
	log_act(a, of_relay ? EV_operator_relay : EV_operator_source, 0, -1);
	return admin_answer_json(a, 200,
	    json_pack("{s:o, s:o}", "name", answer_json_text(a->name),
		"paused",
		pause_json(op->on ? op->since_ms : 0, op->who, op->note)));
}

/* --- what becomes of what is unproven --- */

enum after
admin_sources_rewind(struct admin_request *a)
{
	bool rewinds = a->endpoint->what & ADMIN_REWIND;
	const struct conf_source *source = admin_sources_named(a, a->name);
	if (source == NULL)
		return admin_sources_absent(a, "source", a->name);
	if (source->broker->kind != BROKER_KAFKA)
		return admin_answer_refused(
		    a, "Only a topic has partitions to decide of.");
	const json_t *list =
	    json_object_get(a->in, rewinds ? "partitions" : "unproven");
	size_t count = json_array_size(list);
	struct span *parts =
	    arena_alloc(a->arena, (count + 1) * sizeof *parts);
	for (size_t i = 0; i < count; i++)
		parts[i] = span_str(
		    json_string_value(json_array_get(list, i)));
	floors_decide(&a->rewind, a->admin->store,
	    arena_dup(a->arena, a->name).ptr, rewinds, parts, count);
	return admin_request_to(a, ADMIN_REWOUND, WAIT);
}

enum after
admin_sources_rewound(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct floors_op *op = &a->rewind;
	if (op->op.op.error != 0) {
		log_act(a, EV_operator_decided_unsure, op->op.op.error, -1);
		return admin_answer_store_failed(
		    a, &op->op.op, ". Say it again.");
	}
	/* Of a source that goes on as a whole there need be none. */
	if (op->op.verdict == VERDICT_GONE && !proves(a))
		return admin_answer_refused(a,
		    "One of these partitions is not unproven, or none is.");
	log_act(a, EV_operator_decided, 0, (int64_t)op->count);
	json_t *parts = json_array();
	for (size_t i = 0; i < op->count; i++)
		json_array_append_new(parts, answer_json_text(op->parts[i]));
	return admin_answer_json(a, 200,
	    json_pack("{s:o, s:o}", "name", answer_json_text(a->name),
		"partitions", parts));
}

/* --- a source whose store has lost what it knew --- */

enum after
admin_sources_restore(struct admin_request *a)
{
	bool goes_on = proves(a);
	if (admin_sources_named(a, a->name) == NULL)
		return admin_sources_absent(a, "source", a->name);
	struct inquiry *inquiry = inquiry_new(
	    &a->inquiry, goes_on ? INQUIRY_PROOF : INQUIRY_RESTORE);
	inquiry->source = arena_dup(inquiry->arena, a->name);
	return admin_sources_ask(
	    a, goes_on ? PATIENCE_MS : RESTORE_MS, ADMIN_PROVED);
}

enum after
admin_sources_proved(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct inquiry *inquiry = a->inquiry.inquiry;
	if (a->inquiry.op.error != 0)
		return admin_answer_problem(a, PROBLEM_NOT_ANSWERED,
		    SPAN("It goes on: the log says how it ends."));
	if (!inquiry->found)
		return admin_answer_refused(a,
		    "This gateway does not read the source now: ask the one "
		    "that does.");
	if (inquiry->busy || !inquiry->done)
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    inquiry->detail.len > 0
			? arena_dup(a->arena, inquiry->detail)
			: SPAN("Its letters are being restored already."));
	const struct conf_source *source = admin_sources_named(a, a->name);
	/* And so do all its partitions that stand. */
	if (inquiry->kind == INQUIRY_PROOF && source != NULL &&
	    source->broker->kind == BROKER_KAFKA)
		return admin_sources_rewind(a);
	log_act(a, EV_operator_decided, 0, -1);
	return admin_answer_json(a, 200,
	    json_pack("{s:o, s:I}", "name", answer_json_text(a->name),
		"restored", (json_int_t)inquiry->restored));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "messages/relay/relays.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_json.h"
#include "operators/admin/admin_machine_private.h"
#include "operators/admin/admin_order.h"
#include "operators/admin/admin_relays.h"

/* What is known of that relay; NULL: nothing yet. */
static struct relay_meter *
meter_named(const struct admin_request *a, const char *name)
{
	const struct admin *admin = a->admin;
	for (int64_t i = 0; i < admin->conf->workers; i++) {
		const struct relays *relays = relays_of(admin->workers[i]);
		struct relay_meter *m =
		    relays != NULL ? relays->meters.first : NULL;
		for (; m != NULL; m = m->next)
			if (!strcmp(m->name, name))
				return m;
	}
	return NULL;
}

static json_t *
pause_json(const struct relay_said *said)
{
	if (said->paused_ms == 0)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "since",
	    admin_json_time(said->paused_ms), "who",
	    admin_json_text(span_str(said->who)), "note",
	    admin_json_text(span_str(said->note)));
}

static json_t *
known_json(struct admin_request *a, struct relay_meter *m)
{
	struct relay_said said;
	relay_meter_read(m, a->arena, &said);
	bool runs = counter_read(&m->runs) > 0;
	return json_pack("{s:b, s:o, s:o, s:I, s:I, s:o*, s:o}", "runs", runs,
	    "up", runs ? json_boolean(counter_read(&m->up)) : json_null(),
	    "lag", runs ? json_integer((json_int_t)counter_read(&m->lag))
			: json_null(),
	    "events", (json_int_t)counter_read(&m->events), "lost",
	    (json_int_t)counter_read(&m->lost), "error",
	    said.why[0] != '\0' ? admin_json_text(span_str(said.why)) : NULL,
	    "paused", pause_json(&said));
}

/* Where it brings events to; of a webhook the host alone is no secret. */
static json_t *
place_json(const struct conf_relay *relay)
{
	if (relay->kind == RELAY_WEBHOOK)
		return json_pack("{s:s, s:s, s:s}", "name", relay->name,
		    "kind", "webhook", "receiver",
		    relay->receiver.targets[0].authority);
	if (relay->kind == RELAY_KAFKA)
		return json_pack("{s:s, s:s, s:s, s:s}", "name", relay->name,
		    "kind", "kafka", "broker", relay->broker->name, "topic",
		    relay->topic);
	return json_pack("{s:s, s:s, s:s, s:s}", "name", relay->name, "kind",
	    "postgres", "broker", relay->broker->name, "table", relay->table);
}

static json_t *
relay_json(struct admin_request *a, const struct conf_relay *relay)
{
	json_t *object = place_json(relay);
	struct relay_meter *m = meter_named(a, relay->name);
	json_t *known = m != NULL ? known_json(a, m) : NULL;
	json_object_update(object, known);
	json_decref(known);
	return object;
}

enum after
admin_relays_list(struct admin_request *a)
{
	json_t *list = json_array();
	if (a->head.target.has_query) {
		json_decref(list);
		return admin_answer_problem(a, PROBLEM_BAD_REQUEST,
		    SPAN("This request takes no parameters."));
	}
	for (size_t i = 0; i < a->conf->n_relays; i++)
		json_array_append_new(
		    list, relay_json(a, &a->conf->relays[i]));
	return admin_answer_json(a, 200, json_pack("{s:o}", "relays", list));
}

/* --- pause and resume --- */

bool
admin_relays_are_meant(const struct admin_request *a)
{
	return a->endpoint->run == admin_relays_pause ||
	    a->endpoint->run == admin_relays_resume;
}

static bool
is_relay(const struct conf *conf, struct span name)
{
	for (size_t i = 0; i < conf->n_relays; i++)
		if (span_eq(name, span_str(conf->relays[i].name)))
			return true;
	return false;
}

static enum after
order_of_relay(struct admin_request *a)
{
	struct nearest nearest = nearest_to(a->name);
	for (size_t i = 0; i < a->conf->n_relays; i++)
		nearest_try(&nearest, span_str(a->conf->relays[i].name));
	return admin_order_begin(a, is_relay(a->conf, a->name),
	    admin_order_absent(a->arena, "relay", &nearest));
}

enum after
admin_relays_pause(struct admin_request *a)
{
	return order_of_relay(a);
}

enum after
admin_relays_resume(struct admin_request *a)
{
	return order_of_relay(a);
}

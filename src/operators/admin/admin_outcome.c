/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "http/head/header.h"
#include "operators/admin/admin_machine_private.h"
#include "operators/admin/admin_outcome.h"

const struct conf_idempotency *
admin_outcome_policy(const struct admin_request *a)
{
	const struct conf *conf = a->conf;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (route->idempotency != NULL &&
		    span_eq(span_str(route->name), a->look.record.from.route))
			return route->idempotency;
	}
	return conf->defaults;
}

int
admin_outcome_make(
    struct admin_request *a, const struct conf_idempotency *policy)
{
	const struct admin_outcome *outcome = &a->outcome;
	struct body body;
	if (outcome->body.len > (size_t)policy->max_response_body)
		return E_TOO_LARGE;
	body_init(&body, &a->admin->budget);
	int error = body_append(&body, outcome->body.ptr, outcome->body.len);
	if (error != 0) {
		body_clear(&body);
		return error;
	}
	const struct header_client client = {
	    span_str(policy->replay_header), SPAN(""), clock_wall_ms()};
	struct fields fields =
	    header_for_client(a->arena, &outcome->fields, &client);
	a->given = answer_new(outcome->status, &fields, &body,
	    a->look.record.from.request_id);
	return 0;
}

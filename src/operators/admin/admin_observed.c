/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "gate/worker.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_metrics.h"
#include "operators/admin/admin_private.h"
#include "store/record/answer_json.h"

/* --- counts --- */

/*
 * Makes the routes that observe, and those that had observed something before a
 * reload had them enforce their keys, with how many of their requests would
 * have ended in which way.  All workers have the same series, but for moments
 * of a reload.
 */
static json_t *
routes_json(const struct admin_request *a)
{
	const struct admin *admin = a->admin;
	json_t *list = json_array();
	const struct series *s =
	    atomic_load(&admin->view.workers[0]->meter.routes);
	for (; s != NULL; s = atomic_load(&s->next)) {
		json_t *would = json_object();
		bool observes = false;
		for (enum observed o = 0; o < OBSERVED_COUNT_; o++) {
			uint64_t count = admin_metrics_of_route(admin,
			    s->name, offsetof(struct series, observed), o);
			if (count > 0)
				json_object_set_new(would,
				    duplicates_lines[o].word,
				    json_integer((json_int_t)count));
		}
		for (size_t i = 0; i < a->conf->n_routes && !observes; i++)
			observes = a->conf->routes[i].observes &&
			    !strcmp(a->conf->routes[i].name, s->name);
		if (observes || json_object_size(would) > 0)
			json_array_append_new(list,
			    json_pack("{s:s, s:O, s:b}", "route", s->name,
				"would", would, "observes", observes));
		json_decref(would);
	}
	return list;
}

/* --- the last duplicates --- */

static int
compare_latest(const void *one, const void *other)
{
	int64_t a = ((const struct duplicate *)one)->at_ms;
	int64_t b = ((const struct duplicate *)other)->at_ms;
	return (a < b) - (a > b);
}

/* Tells the last duplicates of all workers, too, the latest first. */
enum after
admin_observed(struct admin_request *a)
{
	const struct admin *admin = a->admin;
	size_t count = 0;
	json_t *list = json_array();
	struct duplicate *all = mem_zero((size_t)admin->conf->workers *
	    DUPLICATES_MAX * sizeof *all);
	for (int64_t i = 0; i < admin->conf->workers; i++)
		count += duplicates_read(
		    &admin->view.workers[i]->duplicates, all + count);
	qsort(all, count, sizeof *all, compare_latest);
	for (size_t i = 0; i < count && i < DUPLICATES_MAX; i++) {
		const struct duplicate *one = &all[i];
		json_array_append_new(list,
		    json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o*}",
			"route", answer_json_text(span_str(one->route)),
			"would", duplicates_lines[one->would].word,
			"key_id", one->key_id,
			"request_id",
			answer_json_text(span_str(one->request_id)),
			"time", admin_body_time(one->at_ms),
			"first_request_id",
			answer_json_text(span_str(one->first_request_id)),
			"first_time", admin_body_time(one->first_ms),
			"first_status",
			one->status != 0 ? json_integer(one->status) : NULL));
	}
	free(all);
	return admin_answer_json(a, 200,
	    json_pack("{s:o, s:o}", "routes", routes_json(a), "duplicates",
		list));
}

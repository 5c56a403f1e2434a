/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "admin/admin_answer.h"
#include "admin/admin_json.h"
#include "admin/admin_machine_private.h"
#include "admin/admin_sources.h"
#include "source/source_standing.h"

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
	inquiry_ask(&a->inquiry, a->admin->workers,
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
source_json(const struct source_view *view)
{
	static const char *const kinds[BROKER_KIND_COUNT_] = {
	    [BROKER_STREAMS] = "redis",
	    [BROKER_POSTGRES] = "postgres",
	};
	json_t *lag = view->lag >= 0 ? json_integer(view->lag) : json_null();
	return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s?, s:o, s:s*, s:s*, "
			 "s:b, s:o, s:I, s:I, s:I, s:I}",
	    "name", view->name, "kind", kinds[view->kind],
	    "broker", view->broker,
	    view->kind == BROKER_STREAMS ? "stream" : "table", view->reads,
	    "group", view->group,
	    "standing", source_standing_word(view->standing),
	    "reasons", reasons_json(view->standing),
	    "why", source_standing_sentence(view->standing),
	    "error", view->error[0] != '\0' ? view->error : NULL,
	    "broker_up", view->up, "lag", lag,
	    "in_flight", (json_int_t)view->in_flight,
	    "held", (json_int_t)view->held,
	    "retrying", (json_int_t)view->retrying,
	    "parked", (json_int_t)view->parked);
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

/* SPDX-License-Identifier: BSD-2-Clause */
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_json.h"
#include "operators/admin/admin_machine_private.h"
#include "operators/admin/admin_order.h"

enum after
admin_order_begin(
    struct admin_request *a, bool configured, struct span absent)
{
	const char *message = admin_json_read_note(a);
	if (message == NULL && a->head.target.has_query)
		message = "This request takes no parameters.";
	if (message != NULL)
		return admin_answer_problem(
		    a, PROBLEM_BAD_REQUEST, span_str(message));
	if (!configured)
		return admin_answer_problem(a, PROBLEM_NOT_FOUND, absent);
	return admin_request_to(a, ADMIN_ORDER, MORE);
}

struct span
admin_order_absent(struct arena *arena, const char *what,
    const struct nearest *nearest)
{
	if (nearest->found.ptr == NULL)
		return arena_printf(
		    arena, "There is no %s of this name.", what);
	return arena_printf(arena,
	    "There is no %s of this name; did you mean %.*s?", what,
	    SPAN_FMT(nearest->found));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "admin/admin_answer.h"
#include "admin/admin_json.h"
#include "admin/admin_machine_private.h"
#include "admin/admin_order.h"

enum after
admin_order_begin(
    struct admin_request *a, bool configured, const char *absent)
{
	const char *message = admin_json_read_note(a);
	if (message == NULL && a->head.target.has_query)
		message = "This request takes no parameters.";
	if (message != NULL)
		return admin_answer_problem(
		    a, PROBLEM_BAD_REQUEST, span_str(message));
	if (!configured)
		return admin_answer_problem(
		    a, PROBLEM_NOT_FOUND, span_str(absent));
	return admin_request_to(a, ADMIN_ORDER, MORE);
}

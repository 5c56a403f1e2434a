/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/request_private.h"

enum after
request_refuse(struct request *r, enum problem problem, enum outcome outcome)
{
	r->c.problem = problem;
	r->c.outcome = outcome;
	return request_to(r, REQUEST_ANSWER, MORE);
}

enum after
request_refuse_saying(struct request *r, enum problem problem,
    enum outcome outcome, struct span detail)
{
	r->detail = detail;
	return request_refuse(r, problem, outcome);
}

enum after
request_without_key(struct request *r, enum request_step next)
{
	if (r->c.policy->required)
		return request_refuse(
		    r, PROBLEM_KEY_MISSING, OUTCOME_KEY_MISSING);
	r->c.policy = NULL;
	return request_to(r, next, MORE);
}

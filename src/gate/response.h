/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/field.h"
#include "http/front/problem.h"
#include "http/head/head_check.h"

/*
 * A response's words for its client: the problem document in place of an
 * answer, and the fields behind the answer's own.  The worker's thread only.
 */
struct request;

/* Returns the problem of a head that is not well-formed. */
enum problem response_to_head_check(enum head_verdict verdict);
/* Makes r->c.answer, the document of r->c.problem. */
void response_problem(struct request *r);
/* Whether the answer has the key that its client sent, in the same field. */
bool response_echoes(const struct request *r);
/*
 * Returns the fields that only this client is given: its request's id, the mark
 * of a replay, and those that are not stored.  They live as long as the
 * request.
 */
struct fields response_client_fields(struct request *r);

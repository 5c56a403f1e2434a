/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/field.h"
#include "http/front/problem.h"
#include "http/head/head_check.h"

/*
 * The words for a client: the problem document in place of an answer, and the
 * fields that every response carries.  The worker's thread only.
 */
struct request;

/* The problem of a head that is not well-formed. */
enum problem response_to_head_check(enum head_verdict verdict);
/* r->answer becomes the document of r->problem. */
void response_problem(struct request *r);
/* The fields behind the answer's own; they live as long as the request. */
struct fields response_fields(struct request *r);

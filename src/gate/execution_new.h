/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/execution.h"

/*
 * The life of an execution, from the claim that is ours to its end, and the
 * table of its steps.  The worker's thread only.
 */

/*
 * What a request hands over.  The body is moved, the generation and the arena
 * are counted, and the rest is copied.
 */
struct execution_start {
	struct worker *worker;
	struct generation *generation;
	const struct conf_route *route;
	struct arena *arena;
	struct request *request;
	struct claim claim; /* as it was made, and answered OURS or RECONCILE */
	int64_t claimed_us;  /* when it was asked for, by clock_us */
	uint32_t attempt;
	bool ask; /* the claim was answered RECONCILE: question is sent first */
	enum reason reason; /* then: why the earlier attempt is unknown */
	struct message question;
	struct message message; /* points into arena and body */
	struct body *body;      /* moved */
	struct span request_id;
};

/* A new one at its first step; machine_run() sets it going. */
struct execution *execution_new(const struct execution_start *start);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/request.h"

/*
 * The inside of a request: its steps, which request_client.c (the client's side),
 * request_claim.c (the key's side) and request_pass.c (without a key) share.
 * For these three only; the worker's thread.
 */
enum request_step {
#define REQUEST_STEP(name, function, operation) REQUEST_##name,
#include "tbl/steps.h"
	REQUEST_STEPS_,
};
_Static_assert(
    (int)REQUEST_STEPS_ <= (int)MACHINE_STEPS_MAX, "too many steps");

#define REQUEST_STEP(name, function, operation)                               \
	enum after function(struct machine *machine);
#include "tbl/steps.h"

/* A body without a key up to this length is read before it is passed on. */
enum { PASS_SMALL_BYTES = 16 * 1024 };

static inline enum after
go(struct request *r, enum request_step step, enum after after)
{
	machine_to(&r->machine, step);
	return after;
}

/* The client gets a problem document. */
enum after request_refuse(
    struct request *r, enum problem problem, enum outcome outcome);
/* The same with a sentence of its own. */
enum after request_refuse_saying(struct request *r, enum problem problem,
    enum outcome outcome, struct span detail);
/* No key: what the route says about such requests. */
enum after request_without_key(struct request *r, enum request_step next);
/* Room for the values of the scope's fields. */
struct span *request_scope(const struct request *r);

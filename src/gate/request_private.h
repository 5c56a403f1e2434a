/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/container.h"
#include "gate/request.h"

/*
 * What the steps of a request share.  They are in request_client.c (the
 * client's side), request_claim.c (the key's side), request_pass.c (without a
 * key) and request_lookup.c (where we answer ourselves), and request_new.c has
 * the table of all; for these files only.  The worker's thread.
 */
enum request_step {
#define REQUEST_STEP(name, function, operation) REQUEST_##name,
#include "tbl/steps.h"
	REQUEST_STEPS_,
};
_Static_assert(
    (int)REQUEST_STEPS_ <= (int)MACHINE_STEPS_MAX, "too many steps");

/* All steps, in the order of a life; the file is the front of the name. */
#define REQUEST_STEP(name, function, operation)                               \
	enum after function(struct machine *machine);
#include "tbl/steps.h"


/* The request that a step is called for. */
static inline struct request *
request_of(struct machine *machine)
{
	return CONTAINER_OF(machine, struct request, machine);
}

/* The next step, and what to return of the one before. */
static inline enum after
request_to(struct request *r, enum request_step step, enum after after)
{
	machine_to(&r->machine, step);
	return after;
}

/* The client gets a problem document; these return what a step returns. */
enum after request_refuse(
    struct request *r, enum problem problem, enum outcome outcome);
/* The same, with a sentence of its own. */
enum after request_refuse_saying(struct request *r, enum problem problem,
    enum outcome outcome, struct span detail);
/* The same of a body that is beyond the policy's limit, which is said. */
enum after request_refuse_body(struct request *r);
/* The same of header fields that are beyond limits.request_headers. */
enum after request_refuse_fields(struct request *r);
/* What the client sent of its body is no HTTP. */
enum after request_client_malformed(struct request *r);
/* A body without a key up to this length is read before it is passed on. */
size_t request_pass_whole(const struct request *r);
/* Nothing more becomes of it, as far as it is observed. */
void request_pass_end(struct request *r);
/* Ends its look at a record, if there is one. */
void request_lookup_end(struct request *r);
/* Goes on where the fields name a scope; else as request_refuse does. */
enum after request_client_scope(struct request *r, enum request_step next);
/*
 * There is no key: what the route says about such requests, which go on with
 * next where they may.
 */
enum after request_without_key(struct request *r, enum request_step next);

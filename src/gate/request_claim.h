/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * The key's side of a request: its record is claimed, and what that brings is
 * a line of tbl/situations.h.  The worker's thread only.
 */

/* The key that the body makes, and the name of the record. */
enum after request_claim_derive(struct machine *machine);
/* The record is claimed, unless its answer is in memory. */
enum after request_claim(struct machine *machine);
enum after request_claim_answered(struct machine *machine);
/* The first request with this key has got somewhere, or the time is up. */
enum after request_claim_waited(struct machine *machine);
/* The claim is ours: from here on an execution has it. */
enum after request_claim_start(struct machine *machine);
/* The execution has said what the client is to get. */
enum after request_claim_joined(struct machine *machine);

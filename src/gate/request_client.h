/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * The client's side of a request: the steps before its key is claimed and
 * those after its answer is known.  The worker's thread only.
 */

/* Its head is well-formed, and the gateway serves: or it is refused. */
enum after request_client_check(struct machine *machine);
/* Whose upstream and which policy it has. */
enum after request_client_route(struct machine *machine);
/* Its key and its scope, as far as they stand in the head. */
enum after request_client_key(struct machine *machine);
/* Its body is read whole, or will be passed on as it comes. */
enum after request_client_body(struct machine *machine);
enum after request_client_received(struct machine *machine);
/* The answer goes out. */
enum after request_client_answer(struct machine *machine);
enum after request_client_answered(struct machine *machine);
/* It is counted, and the log has it. */
enum after request_client_finish(struct machine *machine);

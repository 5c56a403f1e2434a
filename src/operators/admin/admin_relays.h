/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * What an operator sees of relays: of each what this gateway knows of it, and
 * whether it runs here.  Pausing and resuming goes the way of sources
 * (admin_sources.h).  Main thread.
 */
struct admin_request;

/* GET /relays. */
enum after admin_relays_list(struct admin_request *a);
/* POST /relays/{name}/pause and /resume: of all gateways. */
enum after admin_relays_pause(struct admin_request *a);
enum after admin_relays_resume(struct admin_request *a);
/* Whether that is what is asked for. */
bool admin_relays_are_meant(const struct admin_request *a);

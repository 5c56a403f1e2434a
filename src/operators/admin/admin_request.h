/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * A request to the admin interface: its life, and what it asks for, as a path
 * of the table in admin_request.c.  Main thread.
 */
struct exchange;

/* A new request, of that exchange; admin is a struct admin.  It runs. */
void admin_request_new(void *admin, struct exchange *x);

/* The step CHECK: who asks, and for what. */
enum after admin_request_check(struct machine *machine);
/* The steps READ and RECEIVED: its body. */
enum after admin_request_read(struct machine *machine);
enum after admin_request_received(struct machine *machine);

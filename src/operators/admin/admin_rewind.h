/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * An operator means to set the group of a source back (shared/floors.h), so
 * that what it has finished comes again.  Main thread.
 */
struct admin_request;

/* POST /sources/{name}/rewind: for all gateways. */
enum after admin_rewind(struct admin_request *a);

/* The steps REWIND and REWOUND. */
enum after admin_rewind_order(struct machine *machine);
enum after admin_rewind_ordered(struct machine *machine);

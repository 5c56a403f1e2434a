/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/nearest.h"
#include "gate/machine.h"

struct arena;

/*
 * How a pause or a resume begins, of a source or of a relay.  It does not know
 * which of them, nor what comes of it.  Main thread.
 */
struct admin_request;

/*
 * Reads the note and goes on with the step ORDER; or answers what is wrong with
 * the request, or, where nothing of that name is configured, absent.
 */
enum after admin_order_begin(
    struct admin_request *a, bool configured, struct span absent);

/*
 * The sentence for where no WHAT has the name that is searched for, with the
 * one that may be meant; in the arena.
 */
struct span admin_order_absent(struct arena *arena, const char *what,
    const struct nearest *nearest);

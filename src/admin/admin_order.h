/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

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
    struct admin_request *a, bool configured, const char *absent);

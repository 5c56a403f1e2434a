/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Which records a client's key may have, or the values of a body that a key was
 * derived of: one for each route that it fits, and for each way in which a text
 * can be JSON.  It asks nobody.  Main thread.
 */
struct admin_request;

/*
 * Reads the body of POST /keys/lookup, and puts all that it may be, one at
 * least, into others.  NULL, or a sentence about what is wrong with it.
 */
const char *admin_lookup_read(struct admin_request *a);

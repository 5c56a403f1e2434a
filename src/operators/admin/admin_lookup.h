/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * A client's key, or the values of a body that a key was derived from, may
 * belong to several records: one for each route that it fits, and for each way
 * in which a text can be JSON.  They are named here, and nobody is asked.  Main
 * thread.
 */
struct admin_request;

/*
 * Reads the body of POST /keys/lookup, and puts the names of all records that
 * it may be about, one at least, into others.  NULL, or a sentence about what
 * is wrong with it.
 */
const char *admin_lookup_read(struct admin_request *a);

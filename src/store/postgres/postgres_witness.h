/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"

/*
 * What is said to the database of a witness (gate/witness.h), by statements
 * that nobody prepares, so that a pooler may give each transaction another
 * session.  Every parameter is given as text.  Pure; any thread.
 */

/*
 * What every transaction begins with, whatever the session's defaults are; then
 * settings for it alone: nobody waits for a lock for longer than $1 ms, and
 * what is committed is on disk before it is said to be.
 */
extern const char postgres_witness_begin[];
extern const char postgres_witness_settings[];

/* Texts in the arena, of a table whose columns are those of the contract. */
struct postgres_witness {
	/*
	 * The attempt $2 of the key $1 is revoked, where it has no row: a row
	 * is returned then.
	 */
	const char *revoke;
	const char *revoke_started; /* the same where that is `started` */
	/*
	 * The row of the attempt $2 of the key $1, its body up to $3 bytes
	 * (enum postgres_witness_column).
	 */
	const char *read;
	/*
	 * Of each of the keys $1 and attempts $2, two arrays: its place in
	 * them, from 1, and its row's verdict, or null.
	 */
	const char *look;
	/*
	 * Some of the rows that were revoked more than $1 ms ago are deleted,
	 * at most $2.
	 */
	const char *clean;
};
enum postgres_witness_column {
	WITNESS_VERDICT,
	WITNESS_STATUS,
	WITNESS_HEADERS, /* cut behind POSTGRES_WITNESS_HEADERS characters */
	WITNESS_BODY,
	WITNESS_BODY_BYTES, /* of the whole of it */
	WITNESS_KEY, /* and what the row is of */
	WITNESS_ATTEMPT,
};
enum { POSTGRES_WITNESS_HEADERS = 65536 };

struct postgres_witness postgres_witness_make(
    struct arena *arena, const char *table);

/*
 * What the catalogue says of the table $1 and of that which is enforced_by ($2,
 * or null), both quoted.  One row: why nothing can be asked of the first, or
 * null; why the second enforces nothing, or null; and whether this user may
 * delete ("true").
 */
extern const char postgres_witness_catalogue[];
enum postgres_witness_finding {
	WITNESS_UNUSABLE,
	WITNESS_UNENFORCED,
	WITNESS_MAY_DELETE,
};

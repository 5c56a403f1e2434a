/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/must.h"

/*
 * The one spelling of a path, for finding its route: percent-decoded, dot
 * segments and doubled slashes resolved (RFC 3986, section 5.2.4), without a
 * trailing slash.  "%2F" counts as a slash; what the path is to servers that
 * see none there is worked out too.  What goes upstream stays as the client
 * sent it.  Pure; any thread.
 */

/*
 * How servers read a "%2F" that do not take it for a slash at once: as a byte
 * of a segment, for which a NUL stands here; or as a slash that comes to light
 * once dot segments are resolved, so that what it made of "..%2F" then stays as
 * it is, or is resolved in its turn.
 */
enum { REQUEST_TARGET_OTHERS = 3 };

/* The parts of a request target; they point into it or into the arena. */
struct request_target {
	struct span origin_form; /* path and query, as the client sent them */
	struct span path;        /* as sent, "/" at least */
	struct span query;       /* as sent, without "?"; empty for none */
	bool has_query;
	struct span authority; /* of an absolute-form target, else empty */
	struct span spelling;  /* the one spelling of the path, "/" at least */
	/* What the path is to other servers; none where it has no "%2F". */
	struct span others[REQUEST_TARGET_OTHERS];
	size_t n_others;
	bool climbs; /* above the root, in one reading at least */
};

/*
 * Takes a target of origin-form or absolute-form (RFC 9112, section 3.2)
 * apart.  False for what is to be answered 400: other forms, schemes other
 * than http and https, a bad authority, bytes outside 0x21-0x7e, "#"; in the
 * path also broken percent-encoding, "%00" and a raw backslash.  A path on
 * whose ".." servers disagree is refused too, as it has no one spelling:
 * "/a//../b" is "/a/b" to those who resolve dot segments before doubled
 * slashes, "/b" to others, and "/a%2Fb/../c" depends on whether "%2F" is a
 * slash.  The query is no business of ours beyond its bytes.
 */
MUST_USE bool request_target_parse(
    struct arena *arena, struct span text, struct request_target *ret_target);

/*
 * True of a host (a name, an IPv4 address, an IPv6 address in brackets) with
 * or without a port: the value of Host (RFC 9110, section 7.2).  No user
 * information, not empty, and nothing that is read in two ways: percent-
 * encoding, commas, empty labels, ports with zeros in front.
 */
bool request_target_authority_is_valid(struct span authority);

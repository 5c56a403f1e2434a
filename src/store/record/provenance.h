/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/arena.h"

/*
 * It says where a record comes from, for people to find it by and to learn what
 * operators did about it: the line of a record behind its head.  Parted by tabs
 * it has the route, the method, the path, the gateway, the label, the first
 * request's id, and the operators' acts.  A key that was set free, and a FAILED
 * one, has that of what was sent: all of the last request, but the first one's
 * id; and nothing where nothing was sent, unless operators decided about it.  A
 * record of an earlier release has the route alone.  Nothing is decided by it.
 * It knows neither Redis nor encryption.  Pure; any thread.
 */
struct provenance {
	struct span route;    /* its name; a free key may have none */
	struct span method;
	struct span path;     /* without the query; PROVENANCE_PATH_BYTES */
	struct span instance; /* the gateway's name */
	struct span label;    /* as label_write (record/label.h) made it */
	struct span request_id; /* the first request's; all may be empty */
	/*
	 * The last eight acts of operators, for provenance_next_act; written by
	 * src/store/record/lua/operate.lua alone.
	 */
	struct span history;
};

/* A longer path is cut, and ends with an ellipsis. */
enum { PROVENANCE_PATH_BYTES = 256 };

/* The line, without acts; what cannot stand in one is left out of it. */
struct span provenance_write(
    struct arena *arena, const struct provenance *provenance);
/* Reads any line, also of earlier releases; the spans point into it. */
struct provenance provenance_read(struct span line);

/* S, or as much of it as fits into max bytes with "…" behind, in UTF-8. */
struct span provenance_cut(struct arena *arena, struct span s, size_t max);

/* One act of an operator. */
struct provenance_act {
	int64_t time_ms; /* since 1970, by Redis' clock */
	char letter;     /* r: release, c: complete, d: delete (damaged) */
	/* Either may be empty; they lie in the arena. */
	struct span note;
	struct span who; /* the operator, by the name of his token */
};
/*
 * What follows an act's letter: note and who in base64url, a dot between them;
 * no dot where nobody is named.
 */
struct span provenance_act_text(
    struct arena *arena, struct span note, struct span who);
/* Takes the first act off the history; false: there is none (any more). */
bool provenance_next_act(struct arena *arena, struct span *history,
    struct provenance_act *ret_act);

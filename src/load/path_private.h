/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "load/loader_private.h"

/* Paths: of routes, and those that requests of ours go to.  Main thread. */

/*
 * What is wrong with a path with an optional query, as it stands in a
 * request's target; NULL: nothing.
 */
const char *path_wrong_target(const char *text);

/* The path of a route, taken apart (a type of conf/types.h). */
void path_parse(struct loader *l, const struct given *given);
void path_clear(void *base, void *field);

/*
 * Texts with variables (types of conf/types.h): the path to ask the upstream
 * at, and a namespace.
 */
void path_parse_reconcile(struct loader *l, const struct given *given);
void path_parse_namespace(struct loader *l, const struct given *given);
void path_clear_template(void *base, void *field);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Lists of strings and of JSON pointers (types of conf/types.h).  Main
 * thread, but for the functions that clear.
 */
/* Names of headers, methods, routes or topics, networks, HOST:PORT. */
void list_parse_strings(struct loader *l, const struct given *given);
/*
 * What names the tenant (conf/scopes.h): headers, and objects of the group
 * SCOPE.
 */
void list_scope_parse(struct loader *l, const struct given *given);
void list_scope_clear(void *base, void *field);
/* Where the route is idempotent and names no methods, it gets the usual. */
void list_preset_methods(struct conf_route *route);
void list_clear_strings(void *base, void *field);

void list_parse_pointers(struct loader *l, const struct given *given);
/* A list of pointers; false, and *ret is untouched, after complaining. */
bool list_read_pointers(struct loader *l, const struct given *given,
    struct json_pointers *ret_pointers);
/* The same, with objects that name parameters of the query among them. */
void list_parse_ignored(struct loader *l, const struct given *given);
void list_clear_ignored(void *base, void *field);
/* "body", or a list of pointers. */
void list_parse_derive_key(struct loader *l, const struct given *given);
void list_parse_label(struct loader *l, const struct given *given);
void list_clear_pointers(void *base, void *field);
/* One JSON pointer. */
void list_parse_pointer(struct loader *l, const struct given *given);
void list_clear_pointer(void *base, void *field);
/* JSON pointers, or {"path": NAME}. */
void list_parse_entity(struct loader *l, const struct given *given);
void list_clear_entity(void *base, void *field);
/* Statuses that are not 2xx. */
void list_parse_statuses(struct loader *l, const struct given *given);

/* Complains unless the value is a list of so many elements at least. */
bool list_is_one(struct loader *l, const struct given *given, size_t least);

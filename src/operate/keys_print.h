/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

/*
 * Records as the admin interface gives them (JSON), printed for people.  What
 * upstreams and clients chose is never written to a terminal as it is.
 */

/* A table, one record a line. */
void keys_print_list(const json_t *records);
/* One record, a member a line, and the stored answer where it has one. */
void keys_print_record(json_t *record);

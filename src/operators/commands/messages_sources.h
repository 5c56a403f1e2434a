/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

/* The sources of a gateway, a line each, for people.  Main thread. */
void messages_sources_print(const json_t *list);

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "conf/complaints.h"
#include "conf/jsonc/spots.h"
#include "conf/load/conf_said.h"

char *
conf_said(
    const struct conf *conf, const struct conf_route *route, const char *path)
{
	const struct json_place routes = {NULL, "routes", 0};
	const struct json_place at = {&routes, NULL, route->index};
	const struct json_place places[] = {
	    {&at, "idempotency", 0}, {NULL, "defaults", 0}};
	for (size_t i = 0; i < 2; i++) {
		char *pointer = complaints_pointer(&places[i], path);
		if (spots_has(conf->spots, pointer))
			return pointer;
		free(pointer);
	}
	return NULL;
}

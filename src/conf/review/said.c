/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/jsonc/spots.h"
#include "conf/review/said.h"
#include "conf/show.h"

const struct option *
said_option(const char *path)
{
	return option_of_path(GROUP_IDEMPOTENCY, path);
}

json_t *
said_value(const struct conf_route *route, const char *path)
{
	return show_option(said_option(path), route->idempotency);
}

char *
said_pointer(
    const struct conf *conf, const struct conf_route *route, const char *path)
{
	char *below = mem_str(span_str(path));
	for (char *p = below; *p != '\0'; p++)
		if (*p == '.')
			*p = '/';
	char *whole = mem_printf("/routes/%u/idempotency", route->index);
	char *own = mem_printf("%s/%s", whole, below);
	char *preset = mem_printf("/defaults/%s", below);
	char *found = spots_has(conf->spots, own) ? own
	    : spots_has(conf->spots, preset)    ? preset
						: whole;
	found = mem_text(found);
	free(below);
	free(whole);
	free(own);
	free(preset);
	return found;
}

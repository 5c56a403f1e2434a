/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/conf_said.h"
#include "conf/review/warning_private.h"

char *
warning_place(const struct looked_at *at, const char *path)
{
	char *said = conf_said(at->conf, at->route, path);
	return said != NULL
	    ? said
	    : mem_printf("/routes/%u/idempotency", at->route->index);
}

bool
warning_is_own(const struct looked_at *at, const char *path)
{
	char *said = conf_said(at->conf, at->route, path);
	bool own = said != NULL && strncmp(said, "/defaults", 9) != 0;
	free(said);
	return own;
}

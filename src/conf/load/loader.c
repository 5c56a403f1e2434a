/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/loader_private.h"

json_t *
loader_value(const struct loader *l, const struct option *option)
{
	return loader_value_in(l->root, option);
}

json_t *
loader_value_in(json_t *object, const struct option *option)
{
	json_t *value = object;
	struct span rest = span_str(option->path);
	struct span member;
	while (value != NULL && span_next(&rest, '.', &member)) {
		char *name = mem_str(member);
		value = json_object_get(value, name);
		free(name);
	}
	return value;
}

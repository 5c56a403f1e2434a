/* SPDX-License-Identifier: BSD-2-Clause */
#include "load/object_private.h"
#include "load/presets.h"

void
presets_load(enum group group, void *base)
{
	struct complaints none = {NULL, 0};
	struct loader l = {.complaints = &none};
	object_load_presets(&l, group, base);
}

void
presets_clear(enum group group, void *base)
{
	object_clear(group, base);
}

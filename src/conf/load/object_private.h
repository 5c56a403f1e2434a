/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * The objects of the file, each read by the one table of options
 * (tbl/options.h) into the struct of its group: the whole file, and what
 * stands in it.  Main thread.
 */

/* Gives every field of a group its default; the struct is zeroed. */
void object_load_presets(struct loader *l, enum group group, void *base);
/*
 * The same, and reads an object of the group into it; of the whole file what
 * names others, which may stand behind it, once all else is read.
 */
void object_load(struct loader *l, enum group group,
    const struct json_place *at, json_t *value, void *base);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/option.h"

/*
 * An object of the file of which nothing was said, to tell what is a default.
 * Main thread.
 */

/* Gives each field of a group's struct, which is zeroed, its default. */
void presets_load(enum group group, void *base);
/* Frees what it has then. */
void presets_clear(enum group group, void *base);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "load/loader_private.h"

/* Complains about each member that an object of the JSON text has twice. */
void duplicates_complain(struct loader *l, struct span text);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "load/conf_restart.h"
#include "load/loader_private.h"

/* Fills conf->fixed, which is compared at a reload; the conf frees it. */
void conf_restart_digest(struct loader *l);

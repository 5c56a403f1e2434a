/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf_restart.h"
#include "conf/loader_private.h"

/* Fills conf->fixed, which is compared at a reload; the conf frees it. */
void conf_restart_digest(struct loader *l);

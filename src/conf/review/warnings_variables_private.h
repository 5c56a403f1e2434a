/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * Warnings of values in which a shell, or another program, would put something
 * else in the place of "~" or "${NAME}".  A value is never repeated: it may be
 * a secret.  Main thread.
 */

/* Adds those of the whole file. */
void warnings_variables_find(
    const struct conf *conf, struct complaints *complaints);

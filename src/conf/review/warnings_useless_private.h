/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * Warnings of members that contradict another one: whoever wrote them counts on
 * what they do, and they do nothing.  Main thread.
 */

/* Adds those of the whole file, and of each route. */
void warnings_useless_find(
    const struct conf *conf, struct complaints *complaints);

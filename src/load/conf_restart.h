/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * What only a new start changes: the options that tbl/options.h calls
 * RESTART.  Main thread.
 */

/*
 * Adds a complaint for each of them in which two configurations differ, so
 * that the operator is told to start anew.  A secret whose {"file"} changed
 * is not noticed.
 */
void conf_restart_needed(const struct conf *running, const struct conf *next,
    struct complaints *complaints);

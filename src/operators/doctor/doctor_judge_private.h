/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * Has each function of tbl/findings.h judge what was looked at: one finding at
 * least for each line, in the order of the table.  Of a file that is not valid
 * nothing is known but that.  Nobody is asked here, only this machine, where it
 * costs nothing.  Main thread.
 */
void doctor_judge(struct doctor *doctor);

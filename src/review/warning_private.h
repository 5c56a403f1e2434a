/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"

/* One warning among the complaints of a configuration.  Main thread. */

/* About a member; one that several routes inherit is said once. */
void warning_add(
    struct complaints *complaints, const char *pointer, const char *words);

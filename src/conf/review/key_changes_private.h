/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/complaints.h"
#include "conf/conf.h"

/* What a gateway that runs has told of its store.  Main thread. */

/* As key_changes_of_store(). */
void key_changes_of_store_told(const json_t *told, const struct conf *next,
    struct complaints *complaints);

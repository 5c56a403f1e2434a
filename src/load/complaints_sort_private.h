/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/complaints.h"

/* Puts complaints into the order in which the file has their pointers. */
void complaints_sort(struct complaints *complaints, json_t *root);

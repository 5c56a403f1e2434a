/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>
#include <stdarg.h>

#include "conf/complaints.h"

/* What only the loading of a configuration does with complaints. */

/* As complaints_add; the pointer is taken over. */
void complaints_take(struct complaints *complaints, char *pointer,
    const char *fmt, va_list args) PRINTF_LIKE(3, 0);
/* Puts them into the order in which the file has their pointers. */
void complaints_sort(struct complaints *complaints, json_t *root);

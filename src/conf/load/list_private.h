/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Lists of strings and of JSON pointers (types of conf/types.h), and what else
 * is made of pointers or has several forms.  Main thread.
 */

/*
 * The text of an object that has this member alone, such as {"header": NAME},
 * by the rule of that type; NULL after complaining.
 */
char *list_read_member(struct loader *l, const struct given *given,
    const char *member, enum option_type type);

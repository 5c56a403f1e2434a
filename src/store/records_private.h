/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "record/record.h"
#include "store/call.h"
#include "store/records.h"

/*
 * How a record is read out of a script's answer, for records.c and
 * records_list.c.
 */

/* Two elements, ms-left and the value: 0 or E_MALFORMED. */
int records_read_pair(const struct call_reply *reply, size_t at,
    const struct key_id *key_id, struct record_view *ret_shown,
    struct record *ret_record);
/* Its texts, which are of the reply, become the arena's. */
void records_keep(struct arena *arena, struct record_view *record);

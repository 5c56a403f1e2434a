/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "record/record.h"
#include "store/call.h"
#include "store/records.h"

/* Reads a record out of a script's answer; for records.c and records_list.c. */

/* Reads the two elements from at on, ms-left and value: 0 or E_MALFORMED. */
int records_read_pair(const struct call_reply *reply, size_t at,
    const struct key_id *key_id, struct record_view *ret_shown,
    struct record *ret_record);
/*
 * Copies its texts, which are part of the reply, into the arena; the label is
 * then what people read.
 */
void records_keep(const struct store *store, struct arena *arena,
    struct record_view *record);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"
#include "store/records.h"

/*
 * Lists of records that are not COMPLETED, and what finds one by what people
 * know of it: its route, the id of its first request, its label, or how its
 * key_id begins.  Redis is asked page by page, as labels may be encrypted.
 * Main thread.
 */
struct admin_request;

/* GET /keys: a page, the least recently changed record first. */
enum after admin_list_keys(struct admin_request *a);
/* The steps LIST and LISTED. */
enum after admin_list_ask(struct machine *machine);
enum after admin_list_listed(struct machine *machine);
/* A record of any state that a whole key_id has; NULL: there is none. */
enum after admin_list_found(
    struct admin_request *a, const struct records_op *look);

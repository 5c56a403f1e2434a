/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * What an operator sees of records and does to them.  Redis decides whether a
 * record's state allows an act, and every act is logged.  Main thread.
 */
struct admin_request;

/* POST /keys/lookup: the record that a key has. */
enum after admin_keys_lookup(struct admin_request *a);
/* GET /keys/{id}. */
enum after admin_keys_show(struct admin_request *a);
/* DELETE /keys/{id}. */
enum after admin_keys_delete(struct admin_request *a);
/* POST /keys/{id}/release: it did not happen, and the key is free. */
enum after admin_keys_release(struct admin_request *a);
/* POST /keys/{id}/complete: it did, and this is its answer. */
enum after admin_keys_complete(struct admin_request *a);

/* The steps SHOW and SHOWN; an act looks at its record first. */
enum after admin_keys_ask_record(struct machine *machine);
enum after admin_keys_shown(struct machine *machine);
/* The steps ACT and ACTED. */
enum after admin_keys_act(struct machine *machine);
enum after admin_keys_acted(struct machine *machine);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/call.h"

/*
 * What the operations of a store have in common: arguments (their order is at
 * the head of each script in src/store/record/lua/), waiting for calls, and
 * reading replies.  It knows none of them in particular.  For src/store/ and
 * src/messages/shared/; the store's thread.
 */

/*
 * A call with the keys of one record, those for events included where they are
 * on; n_argv arguments are still to come.
 */
struct store_call *operation_call(struct store *store, enum script script,
    const struct key_id *key_id, size_t n_argv);
/* The same, as the first member of a struct of that size (call_new_sized). */
struct store_call *operation_call_sized(struct store *store,
    enum script script, const struct key_id *key_id, size_t n_argv,
    size_t size);
/* Appends sixteen bytes as an argument, in base64: 22 characters. */
void operation_arg_token(struct store_call *call, const uint8_t bytes[16]);
void operation_arg_owner(struct store_call *call, const struct owner *owner);
/* Appends the end of its key's name, its version, and that as JSON. */
void operation_arg_entity(
    struct store_call *call, const struct store_entity *entity);
/* Appends what a record is made again with (lua/make_again.lua). */
void operation_arg_history(struct store_call *call,
    const uint8_t fingerprint[DIGEST_BYTES], uint32_t tries,
    int64_t created_ms, struct span provenance);
/* Up to a newline, which ends the provenance in a record. */
struct span operation_one_line(struct span s);
/* Appends six digits. */
void operation_arg_attempt(struct store_call *call, uint32_t attempt);
/* Whose outcome it is, and of which attempt: owner and attempt. */
void operation_arg_held(struct store_call *call, const struct held *held);
/* The time to live of a PROCESSING record, from its last renewal on. */
int64_t operation_alive_ms(const struct conf_idempotency *policy);
/* Makes sure that the indexes outlive all records of that policy. */
void operation_longest(
    struct store *store, const struct conf_idempotency *policy);

/* Starts an operation; its calls are added next. */
void operation_begin(struct store *store, struct store_op *op);
/* Makes the operation wait for that call too. */
void operation_add(struct store_call *call, struct store_op *op);
/* That call has ended; with its last call the operation is done. */
void operation_end_call(struct store_call *call, int error);
/* The usual done of a call: reads the reply into the operation, if any. */
void operation_done(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/call.h"

/*
 * What the verbs of a store have in common: arguments (the head of each file
 * in src/lua/ has their order), operations that wait for calls, and replies.
 * For src/store/ alone; the store's thread.
 */

/*
 * A call with the keys that one record touches, its events among them where
 * they are on, and n_argv arguments to come.
 */
struct store_call *operation_call(struct store *store, enum script script,
    const struct key_id *key_id, size_t n_argv);
/* The same, as the first member of a struct of that size (call_new). */
struct store_call *operation_call_sized(struct store *store,
    enum script script, const struct key_id *key_id, size_t n_argv,
    size_t size);
/* Sixteen bytes as an argument, 22 characters. */
void operation_arg_token(struct store_call *call, const uint8_t bytes[16]);
void operation_arg_owner(struct store_call *call, const struct owner *owner);
void operation_arg_attempt(struct store_call *call, uint32_t attempt);
/* How long a PROCESSING record lives from its last renewal on. */
int64_t operation_alive_ms(const struct conf_idempotency *policy);
/* The policy's times are among those that the indexes must outlive. */
void operation_longest(
    struct store *store, const struct conf_idempotency *policy);

/* Starts an operation that is to have calls. */
void operation_begin(struct store *store, struct store_op *op);
/* The call is one of those that the operation waits for. */
void operation_add(struct store_call *call, struct store_op *op);
/* The call, whose operation still waits, has ended. */
void operation_end_call(struct store_call *call, int error);
/* done of a call: its reply goes to the operation, where one waits. */
void operation_done(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

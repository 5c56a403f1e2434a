/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/loop/log.h"
#include "base/random.h"
#include "store/call.h"
#include "store/identity.h"
#include "store/record/redis_keys.h"
#include "store/topology.h"

enum {
	AGAIN_MS = 1000,
	CHECK_MS = 10000, /* whether it is still there */
};

_Static_assert(IDENTITY_MAX >= IDENTITY_CHARS, "room for what we make");

/*
 * Of what Redis has, whoever wrote it, all that matters is its bytes.  Somebody
 * gave it to the store who came first after the data was lost, where it is
 * another one than was known, or was made now: this worker the one that it
 * knew, or another, who knew none, a new one.  Where Redis was restarted, or is
 * another one, that is told besides.
 */
static void
on_identified(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct store *store = call->store;
	struct identity *identity = &store->identity;
	const struct node *node = topology_node_of(store, IDENTITY_SHARD);
	(void)error;
	identity->asking = false;
	identity->answered = identity->answered || how != CALL_LOST;
	struct span kept =
	    how == CALL_ANSWERED ? call_reply_text(reply, 0) : SPAN("");
	if (kept.len == 0 || kept.len > IDENTITY_MAX) {
		if (node != NULL && node_is_up(node))
			timer_set(&identity->timer, AGAIN_MS);
		return;
	}
	bool made_now = reply->n_extra > 2;
	struct span data = call_reply_text(reply, 1);
	struct span known = span_str(identity->kept);
	if (known.len > 0 && (made_now || !span_eq(kept, known))) {
		struct logline line = log_begin(EV_store_emptied);
		log_str(&line, "store", store->conf->store.prefix);
		log_end(&line);
	}
	if (data.len <= IDENTITY_MAX)
		snprintf(identity->data, sizeof identity->data, "%.*s",
		    SPAN_FMT(data));
	identity->as_of_us = identity->began_us;
	memcpy(identity->kept, kept.ptr, kept.len);
	identity->kept[kept.len] = '\0';
	origin_id(store->conf, kept, identity->origin.id);
	timer_set(&identity->timer, CHECK_MS);
}

void
identity_ask(void *arg)
{
	struct store *store = arg;
	struct identity *identity = &store->identity;
	uint8_t random[DIGEST_BYTES];
	char fresh[IDENTITY_CHARS + 1], data[IDENTITY_CHARS + 1];
	if (identity->asking)
		return;
	random_bytes(random, sizeof random);
	base64_url_encode(random, sizeof random, fresh);
	random_bytes(random, sizeof random);
	base64_url_encode(random, sizeof random, data);
	struct store_call *call =
	    call_new(store, IDENTITY_SHARD, SCRIPT_identify, 5);
	resp_number(&call->args, 2);
	redis_keys_index(&call->args, store->conf, IDENTITY_SHARD, "store");
	redis_keys_index(&call->args, store->conf, IDENTITY_SHARD, "data");
	resp_arg(&call->args, *identity->kept != '\0'
		? span_str(identity->kept)
		: span_of(fresh, IDENTITY_CHARS));
	resp_arg(&call->args, span_of(data, IDENTITY_CHARS));
	call->done = on_identified;
	identity->asking = true;
	identity->began_us = clock_us();
	call_start(call);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"
#include "gate/key/observation.h"
#include "store/operation.h"
#include "store/record/redis_keys.h"

enum { ID_BYTES = 128 };

/* It lives until it was told, and its request has ended. */
struct observation {
	struct store *store;
	struct key_id key_id;
	struct owner owner;
	void (*told)(void *arg, const struct observation_told *told);
	void *arg;
	bool answered;
	bool ours;
	bool ended;
	struct observation_end end;
};

static struct store_call *
observe_call(const struct observation *o, const char *act, size_t n_args)
{
	const struct conf *conf = o->store->conf;
	struct store_call *call = call_new(o->store,
	    redis_keys_shard(conf, &o->key_id), SCRIPT_observe, n_args + 4);
	call->key_id = o->key_id;
	resp_number(&call->args, 1);
	redis_keys_observation(&call->args, conf, &o->key_id);
	resp_arg(&call->args, span_str(act));
	operation_arg_owner(call, &o->owner);
	return call;
}

/* Both are known, or the first is not to be. */
static void
finish(struct observation *o)
{
	if (!o->answered || !o->ended)
		return;
	if (o->ours) {
		char status[16];
		struct store_call *call = observe_call(o, "end", 3);
		snprintf(status, sizeof status, "%03d", o->end.status);
		resp_arg(&call->args, span_of(&o->end.letter, 1));
		resp_arg(&call->args, span_str(status));
		resp_number(&call->args, o->end.keep_ms);
		/* If it fails, the next request is told less. */
		call_start(call);
	}
	free(o);
}

static int64_t
number_at(const struct call_reply *reply, size_t i, int64_t most)
{
	int64_t number;
	return i < reply->n_extra &&
		digits_read(resp_text(reply->extra[i]), most, &number)
	    ? number
	    : 0;
}

static void
on_told(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct observation *o = call->arg;
	struct observation_told told = {.error = error};
	if (how == CALL_ANSWERED) {
		told.verdict = reply->verdict;
		if (reply->n_extra > 0)
			told.first_id = resp_text(reply->extra[0]);
		told.first_ms = number_at(reply, 1, INT64_MAX);
		told.status = (int)number_at(reply, 2, 599);
	} else if (error == 0) {
		told.error = E_STORE_DOWN;
	}
	o->ours = told.error == 0 && told.verdict == VERDICT_OURS;
	o->answered = true;
	o->told(o->arg, &told);
	finish(o);
}

struct observation *
observation_begin(struct store *store, const struct observation_ask *ask)
{
	struct observation *o = mem_zero(sizeof *o);
	o->store = store;
	o->key_id = ask->key_id;
	o->told = ask->told;
	o->arg = ask->arg;
	owner_new(&o->owner);
	struct store_call *call = observe_call(o, "begin", 4);
	operation_arg_token(call, ask->fingerprint);
	resp_number(&call->args, ask->busy_ms);
	resp_number(&call->args, ask->keep_ms);
	resp_arg(&call->args,
	    span_of(ask->request_id.ptr,
		ask->request_id.len < ID_BYTES ? ask->request_id.len
					       : ID_BYTES));
	call->done = on_told;
	call->arg = o;
	call_start(call);
	return o;
}

void
observation_end(struct observation **observation,
    const struct observation_end *end)
{
	struct observation *o = *observation;
	*observation = NULL;
	if (o == NULL)
		return;
	o->ended = true;
	o->end = *end;
	finish(o);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "store/confirm.h"
#include "store/operation.h"
#include "store/record/record.h"

/* The owner in the record that a reply brings; empty: it brings none. */
static struct span
owner_in(const redisReply *reply)
{
	struct record record;
	for (size_t i = 4; i < reply->elements; i++)
		if (reply->element[i]->type == REDIS_REPLY_STRING &&
		    record_read(resp_text(reply->element[i]), &record) == 0)
			return record.owner;
	return SPAN("");
}

void
confirm_record(struct store_call *call, const redisReply *reply)
{
	struct span owner = owner_in(reply);
	bool completes = call->script == SCRIPT_complete;
	if (owner.len == 0 && !completes)
		return;
	struct store_call *note =
	    operation_call(call->store, SCRIPT_confirm, &call->key_id, 1);
	if (owner.len > 0)
		resp_arg(&note->args, owner);
	else
		operation_arg_owner(note, &call->owner);
	call_start(note);
}

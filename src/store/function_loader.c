/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "record/library.h"
#include "store/call.h"
#include "store/function_loader.h"

static void
on_loaded(struct link_call *call, const redisReply *reply)
{
	struct function_loader *loader = (struct function_loader *)(void *)call;
	loader->under_way = loader->failed = false;
	if (reply == NULL || reply->type != REDIS_REPLY_ERROR ||
	    library_is_there(span_of(reply->str, reply->len)))
		return;
	loader->failed = true;
	call_log_refused(loader->node->store, EV_store_refused, "function load",
	    reply->str);
}

/* Never with REPLACE: under our name there is nothing but our text. */
void
function_loader_send(struct node *node)
{
	struct function_loader *loader = &node->loader;
	struct resp command = {0};
	if (loader->under_way)
		return;
	resp_begin(&command, 3);
	resp_arg(&command, SPAN("FUNCTION"));
	resp_arg(&command, SPAN("LOAD"));
	resp_arg(&command, span_str(node->store->library->text));
	loader->node = node;
	loader->under_way = true;
	loader->call.done = on_loaded;
	link_send(node->link, &loader->call, &command);
	resp_clear(&command);
}

bool
function_loader_failed(const struct node *node)
{
	return node->loader.failed;
}

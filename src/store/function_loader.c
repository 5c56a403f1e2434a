/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/container.h"
#include "store/function_loader.h"
#include "store/record/script.h"
#include "store/redis/redis_error.h"
#include "store/refused_log.h"

static void
on_loaded(struct link_call *call, const redisReply *reply)
{
	struct line *line = CONTAINER_OF(call, struct line, loader.call);
	struct function_loader *loader = &line->loader;
	loader->under_way = loader->failed = false;
	node_check_type(line, reply, REDIS_REPLY_STRING);
	if (reply == NULL || reply->type != REDIS_REPLY_ERROR ||
	    redis_error_of_reply(reply) == REDIS_ERROR_LIBRARY_EXISTS)
		return;
	loader->failed = true;
	refused_log(line->node->store, EV_store_refused, "function load",
	    reply->str);
}

/*
 * Without REPLACE: the name is a hash, so one of that name is this very text.
 */
void
function_loader_send(struct line *line)
{
	struct function_loader *loader = &line->loader;
	struct resp command = {0};
	if (loader->under_way)
		return;
	resp_begin(&command, 3);
	resp_arg(&command, SPAN("FUNCTION"));
	resp_arg(&command, SPAN("LOAD"));
	resp_arg(&command, span_str(line->node->store->library->text));
	loader->under_way = true;
	loader->call.done = on_loaded;
	link_send(line->link, &loader->call, &command);
	resp_clear(&command);
}

bool
function_loader_failed(const struct line *line)
{
	return line->loader.failed;
}

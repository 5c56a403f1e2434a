/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/digits.h"
#include "store/call_reply.h"
#include "store/redis/redis_clock.h"
#include "store/redis/resp.h"

enum {
	HEAD = 4, /* verdict, attempt, Redis' clock, name */
	ATTEMPT_MAX = 999999, /* six digits in a record */
};

bool
call_reply_read(const redisReply *reply, enum script script,
    struct call_reply *ret_reply, struct span *ret_name)
{
	static const bool answers[SCRIPT_COUNT_][VERDICT_COUNT_] = {
#define ANSWER(script, verdict) [SCRIPT_##script][VERDICT_##verdict] = true,
#include "tbl/answers.h"
#undef ANSWER
	};
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < HEAD ||
	    reply->element[1]->type != REDIS_REPLY_INTEGER ||
	    reply->element[1]->integer < 0 ||
	    reply->element[1]->integer > ATTEMPT_MAX ||
	    reply->element[2]->type != REDIS_REPLY_INTEGER ||
	    reply->element[2]->integer < 0 ||
	    reply->element[2]->integer > REDIS_CLOCK_MAX_MS ||
	    !verdict_of(resp_text(reply->element[0]), &ret_reply->verdict) ||
	    !answers[script][ret_reply->verdict])
		return false;
	ret_reply->attempt = (uint32_t)reply->element[1]->integer;
	ret_reply->now_ms = reply->element[2]->integer;
	ret_reply->first = false;
	ret_reply->extra = reply->element + HEAD;
	ret_reply->n_extra = reply->elements - HEAD;
	*ret_name = resp_text(reply->element[3]);
	return true;
}

struct span
call_reply_text(const struct call_reply *reply, size_t i)
{
	return i < reply->n_extra ? resp_text(reply->extra[i]) : SPAN("");
}

struct call_reply
call_reply_list(const struct call_reply *reply, size_t i)
{
	struct call_reply list = {0};
	if (i < reply->n_extra &&
	    reply->extra[i]->type == REDIS_REPLY_ARRAY) {
		list.extra = reply->extra[i]->element;
		list.n_extra = reply->extra[i]->elements;
	}
	return list;
}

int64_t
call_reply_ms(const struct call_reply *reply, size_t i)
{
	if (i >= reply->n_extra ||
	    reply->extra[i]->type != REDIS_REPLY_INTEGER ||
	    reply->extra[i]->integer < 0)
		return 0;
	int64_t ms = reply->extra[i]->integer;
	return ms < REDIS_CLOCK_MAX_MS ? ms : REDIS_CLOCK_MAX_MS;
}

int
call_reply_status(const struct call_reply *reply, size_t i)
{
	enum { FIRST = 200, LAST = 599 };
	int64_t status;
	bool has = digits_read(call_reply_text(reply, i), LAST, &status);
	return has && status >= FIRST ? (int)status : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/test_build.h"
#include "store/record/record.h"
#include "store/replicas.h"

enum { SHORT_QUIET_MS = 1000 };

/* --- what waits --- */

/*
 * A claim that is lost lets a payment be made twice; an outcome that is lost
 * makes untrue what a client was told; and an owner whose renewal is lost, or
 * a gateway whose leadership is, goes on beside the next one.  What an operator
 * has said of a source stands, so do its dead and parked messages, and so does
 * the end of trust in a witness.  Any other write, when lost, leaves a record
 * PROCESSING, which becomes UNKNOWN.
 */
static bool
is_waited_for(enum script script)
{
	return script == SCRIPT_claim || script == SCRIPT_complete ||
	    script == SCRIPT_operate || script == SCRIPT_leadership ||
	    script == SCRIPT_pause || script == SCRIPT_trust ||
	    script == SCRIPT_letter ||
	    (script == SCRIPT_letter_put && INVARIANT(letter_replicated)) ||
	    (script == SCRIPT_renew && INVARIANT(renewal_replicated));
}

/*
 * While there are enough replicas, WAIT follows each script at once, before it
 * is known whether the script writes.  While there are too few, it follows only
 * a script that has written (replicas_delay).
 */
void
replicas_sent(struct channel *channel, enum script script)
{
	struct replicas *replicas = &channel->replicas;
	if (channel->store->conf->store.wait_replicas > 0 &&
	    is_waited_for(script) && !replicas->few)
		replicas->wanted = true;
}

/* True where the record that comes with it says so itself (lua/confirm.lua). */
static bool
is_confirmed(const struct call_reply *reply)
{
	for (size_t i = 0; i < reply->n_extra; i++) {
		struct span text = call_reply_text(reply, i);
		if (text.len > RECORD_HEAD_BYTES)
			return text.ptr[RECORD_HEAD_BYTES - 1] == '+';
	}
	return true;
}

/*
 * An answer that another gateway stored is given to nobody either before enough
 * replicas have it: the scripts write such a record once more.
 */
bool
replicas_delay(struct channel *channel, enum script script,
    const struct call_reply *reply, struct replicas_delayed *delayed)
{
	struct replicas *replicas = &channel->replicas;
	enum verdict verdict = reply->verdict;
	if (channel->store->conf->store.wait_replicas == 0)
		return false;
	if (verdict == VERDICT_COMPLETED || verdict == VERDICT_FENCED) {
		if (is_confirmed(reply) || !INVARIANT(replay_confirmed))
			return false;
	} else if (!is_waited_for(script) ||
	    (verdict != VERDICT_OURS && verdict != VERDICT_RECONCILE &&
		verdict != VERDICT_DONE)) {
		return false;
	}
	const redisReply extra = {.type = REDIS_REPLY_ARRAY,
	    .elements = reply->n_extra,
	    .element = reply->extra};
	delayed->reply = *reply;
	delayed->kept = resp_copy(&extra);
	delayed->reply.extra = delayed->kept->element;
	list_add_first(&replicas->delayed, &delayed->in_channel);
	/* A WAIT that is under way was sent after it; else one is needed. */
	if (!replicas->under_way)
		replicas->wanted = true;
	return true;
}

/* --- what WAIT says --- */

/* All that are delayed were answered before WAIT, so that covers them. */
static void
end_delayed(struct replicas *replicas, int error)
{
	struct list ended;
	list_init(&ended);
	list_move_all(&replicas->delayed, &ended);
	while (!list_empty(&ended)) {
		struct replicas_delayed *delayed =
		    LIST_FIRST(&ended, struct replicas_delayed, in_channel);
		redisReply *kept = delayed->kept;
		list_remove(&delayed->in_channel);
		delayed->kept = NULL;
		delayed->end(delayed, error);
		freeReplyObject(kept);
	}
}

static void
on_waited(struct link_call *call, const redisReply *reply)
{
	struct channel *channel =
	    CONTAINER_OF(call, struct channel, replicas.call);
	struct replicas *replicas = &channel->replicas;
	struct store *store = channel->store;
	replicas->under_way = false;
	if (!channel_check_type(channel, reply, REDIS_REPLY_INTEGER) ||
	    reply == NULL) {
		end_delayed(replicas, E_STORE_DOWN);
		return;
	}
	if (reply->type == REDIS_REPLY_ERROR)
		channel_log_refused(
		    channel, EV_store_refused, "wait", reply->str);
	int64_t count =
	    reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
	bool enough = count >= store->conf->store.wait_replicas ||
	    !INVARIANT(replicas_compared);
	replicas->few = !enough;
	int64_t now_ms = enough ? 0 : clock_us() / 1000;
	if (!enough &&
	    (store->few_ms == 0 || count != store->few_count ||
		now_ms - store->few_ms >= SHORT_QUIET_MS)) {
		store->few_ms = now_ms;
		store->few_count = count;
		struct logline line = log_begin(EV_replicas_few);
		log_int(&line, "replicas", count);
		log_int(
		    &line, "wait_replicas", store->conf->store.wait_replicas);
		log_end(&line);
	}
	end_delayed(replicas, enough ? 0 : E_STORE_REFUSED);
}

bool
replicas_on_flush(void *arg)
{
	struct channel *channel = arg;
	struct replicas *replicas = &channel->replicas;
	const struct conf_store *store = &channel->store->conf->store;
	if (!replicas->wanted || replicas->under_way ||
	    !link_is_up(channel->link))
		return false;
	/*
	 * A WAIT must end within an operation's time, and the connection
	 * answers nothing meanwhile: an operation may have to wait for another
	 * one's WAIT and then for its own, and the network takes time too.
	 * Never 0, which means for ever.
	 */
	int64_t longest_ms = conf_longest_wait_ms(store);
	if (longest_ms > store->wait_timeout_ms)
		longest_ms = store->wait_timeout_ms;
	char count[DIGITS_MAX], ms[DIGITS_MAX];
	const struct span words[] = {SPAN("WAIT"),
	    span_of(count, digits_put(count, store->wait_replicas)),
	    span_of(ms, digits_put(ms, longest_ms))};
	replicas->wanted = false;
	replicas->under_way = true;
	replicas->call.done = on_waited;
	channel_ask(channel, &replicas->call, words, 3);
	return false;
}

void
replicas_link_down(struct channel *channel)
{
	channel->replicas.wanted = channel->replicas.few = false;
	end_delayed(&channel->replicas, E_STORE_DOWN);
}

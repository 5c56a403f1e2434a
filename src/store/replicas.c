/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/container.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/record/record.h"
#include "store/refused_log.h"
#include "store/replicas.h"

enum { SHORT_QUIET_MS = 1000 };

/* --- what waits --- */

static bool
is_on(const struct line *line)
{
	return line->node->store->conf->store.wait_replicas > 0;
}

/*
 * A claim that is lost lets a payment be made twice; an outcome that is lost
 * makes untrue what a client was told; and an owner whose renewal is lost, or
 * a gateway whose turn is, goes on beside the next one.  What an operator has
 * said of a source stands, and so does what is parked.  Any other write, when
 * lost, leaves a record PROCESSING, which becomes UNKNOWN.
 */
static bool
is_waited_for(const struct line *line, enum script script)
{
	return is_on(line) &&
	    (script == SCRIPT_claim || script == SCRIPT_complete ||
		script == SCRIPT_operate || script == SCRIPT_turn ||
		script == SCRIPT_pause || script == SCRIPT_park ||
		(script == SCRIPT_renew && INVARIANT(renewal_replicated)));
}

/* Whether the record that a reply brings says so itself (lua/confirm.lua). */
static bool
is_confirmed(const redisReply *reply)
{
	for (size_t i = 4; i < reply->elements; i++) {
		const redisReply *e = reply->element[i];
		if (e->type == REDIS_REPLY_STRING &&
		    e->len > RECORD_HEAD_BYTES)
			return e->str[RECORD_HEAD_BYTES - 1] == '+';
	}
	return true;
}

/*
 * Whether the script's reply is to be kept back.  An answer that another
 * gateway stored is given to nobody either before enough replicas have it: the
 * scripts write such a record once more.
 */
static bool
is_kept_back(const struct line *line, enum script script,
    enum verdict verdict, const redisReply *reply)
{
	if (!is_on(line))
		return false;
	if (verdict == VERDICT_COMPLETED || verdict == VERDICT_FENCED)
		return !is_confirmed(reply) && INVARIANT(replay_confirmed);
	return is_waited_for(line, script) &&
	    (verdict == VERDICT_OURS || verdict == VERDICT_RECONCILE ||
		verdict == VERDICT_DONE);
}

/*
 * While there are enough replicas, WAIT follows each script at once, before it
 * is known whether the script writes.  While there are too few, it follows only
 * a script that has written (replicas_hold).
 */
void
replicas_sent(struct line *line, enum script script)
{
	struct replicas *replicas = &line->replicas;
	if (is_waited_for(line, script) && !replicas->few)
		replicas->wanted = true;
}

static redisReply *
copy_reply(const redisReply *from)
{
	redisReply *reply = mem_zero(sizeof *reply);
	reply->type = from->type;
	reply->integer = from->integer;
	reply->len = from->len;
	if (from->str != NULL)
		reply->str = mem_str(span_of(from->str, from->len));
	if (from->type != REDIS_REPLY_ARRAY)
		return reply;
	reply->elements = from->elements;
	reply->element = mem_zero((from->elements + 1) * sizeof reply);
	for (size_t i = 0; i < from->elements; i++)
		reply->element[i] = copy_reply(from->element[i]);
	return reply;
}

bool
replicas_hold(struct line *line, enum script script, enum verdict verdict,
    const redisReply *reply, struct replicas_held *held)
{
	struct replicas *replicas = &line->replicas;
	if (!is_kept_back(line, script, verdict, reply))
		return false;
	held->reply = copy_reply(reply);
	held->next = replicas->held;
	replicas->held = held;
	/* A WAIT that is under way was sent after it; else one is needed. */
	if (!replicas->under_way)
		replicas->wanted = true;
	return true;
}

/* --- what WAIT says --- */

static void
log_few(struct store *store, int64_t count)
{
	int64_t now_ms = clock_us() / 1000;
	if (store->few_ms != 0 && now_ms - store->few_ms < SHORT_QUIET_MS &&
	    count == store->few_count)
		return;
	store->few_ms = now_ms;
	store->few_count = count;
	struct logline line = log_begin(EV_replicas_few);
	log_int(&line, "replicas", count);
	log_int(&line, "wait_replicas", store->conf->store.wait_replicas);
	log_end(&line);
}

/* How many replicas have it; 0, and a line in the log, for an error. */
static int64_t
count_of(struct line *line, const redisReply *reply)
{
	if (reply->type == REDIS_REPLY_INTEGER)
		return reply->integer;
	if (reply->type == REDIS_REPLY_ERROR)
		refused_log(
		    line->node->store, EV_store_refused, "wait", reply->str);
	return 0;
}

/* Ends all that are held: they were answered before WAIT, so it covers them. */
static void
end_held(struct replicas *replicas, int error)
{
	struct replicas_held *held = replicas->held;
	replicas->held = NULL;
	while (held != NULL) {
		struct replicas_held *next = held->next;
		redisReply *reply = held->reply;
		held->next = NULL;
		held->reply = NULL;
		held->end(held, error == 0 ? reply : NULL, error);
		freeReplyObject(reply);
		held = next;
	}
}

static void
on_waited(struct link_call *call, const redisReply *reply)
{
	struct line *line = CONTAINER_OF(call, struct line, replicas.call);
	struct replicas *replicas = &line->replicas;
	replicas->under_way = false;
	if (!node_check_type(line, reply, REDIS_REPLY_INTEGER))
		reply = NULL;
	if (reply == NULL) {
		end_held(replicas, E_STORE_DOWN);
		return;
	}
	int64_t count = count_of(line, reply);
	bool enough = count >= line->node->store->conf->store.wait_replicas ||
	    !INVARIANT(replicas_compared);
	replicas->few = !enough;
	if (!enough)
		log_few(line->node->store, count);
	end_held(replicas, enough ? 0 : E_STORE_REFUSED);
}

/*
 * A WAIT must end within an operation's time, and the connection answers
 * nothing meanwhile: an operation may have to wait for another one's WAIT and
 * then for its own, and the network takes time too.  Never 0, which means for
 * ever.
 */
static int64_t
longest_ms(const struct conf_store *store)
{
	int64_t max_ms = conf_longest_wait_ms(store);
	return store->wait_timeout_ms < max_ms ? store->wait_timeout_ms
						: max_ms;
}

/* Runs before the link writes out what this turn has sent. */
static bool
on_flush_wait(void *arg)
{
	struct line *line = arg;
	struct replicas *replicas = &line->replicas;
	const struct conf_store *store = &line->node->store->conf->store;
	if (!replicas->wanted || replicas->under_way ||
	    !link_is_up(line->link))
		return false;
	struct resp command = {0};
	resp_begin(&command, 3);
	resp_arg(&command, SPAN("WAIT"));
	resp_number(&command, store->wait_replicas);
	resp_number(&command, longest_ms(store));
	replicas->wanted = false;
	replicas->under_way = true;
	replicas->call.done = on_waited;
	link_send(line->link, &replicas->call, &command);
	resp_clear(&command);
	return false;
}

void
replicas_link_down(struct line *line)
{
	line->replicas.wanted = line->replicas.few = false;
	end_held(&line->replicas, E_STORE_DOWN);
}

/* --- life --- */

void
replicas_init(struct line *line)
{
	if (is_on(line))
		loop_hook(line->node->store->loop, HOOK_FLUSH,
		    &line->replicas.flush, on_flush_wait, line);
}

void
replicas_end(struct line *line)
{
	must(line->replicas.held == NULL);
	if (is_on(line))
		loop_unhook(line->node->store->loop, HOOK_FLUSH,
		    &line->replicas.flush);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/histogram.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/call.h"
#include "store/record/label.h"
#include "store/record/record.h"
#include "store/record/redis_keys.h"
#include "store/record/script.h"
#include "store/redis/slots.h"
#include "store/topology.h"

enum {
	REDIRECTS_MAX = 8,
	AGAIN_MS = 20, /* after TRYAGAIN */
	ATTEMPT_DIGITS = 6,
	CREATED_DIGITS = 13,
};

static void on_reply(struct link_call *link, const redisReply *reply);
static void on_batch_done(
    struct batch_item *item, const struct batch_result *result);

/* --- a call, and its arguments --- */

static struct store_call *
new_sized(struct store *store, unsigned shard, enum script script,
    size_t n_args, size_t size)
{
	must(size >= sizeof(struct store_call));
	struct store_call *call = mem_zero(size);
	call->run.link.done = on_reply;
	call->run.script = call->item.script = script;
	call->item.done = on_batch_done;
	call->item.whole = &call->args;
	call->store = store;
	call->shard = shard;
	call->n_args = n_args;
	return call;
}

struct store_call *
call_new(struct store *store, unsigned shard, enum script script,
    size_t n_args)
{
	return new_sized(
	    store, shard, script, n_args, sizeof(struct store_call));
}

struct store_call *
call_of_record(struct store *store, enum script script,
    const struct key_id *key_id, size_t n_argv, size_t size)
{
	const struct conf *conf = store->conf;
	unsigned shard = redis_keys_shard(conf, key_id);
	const struct shard_names_of *names =
	    redis_keys_names(&store->shard_names, shard);
	bool tells = conf->store.events_maxlen > 0;
	bool refuses = tells && conf->store.events_refuse;
	size_t n_keys = refuses ? 6 : tells ? 5 : 3;
	struct store_call *call =
	    new_sized(store, shard, script, 1 + n_keys + n_argv, size);
	call->key_id = *key_id;
	call->events_maxlen = conf->store.events_maxlen;
	resp_number(&call->args, (int64_t)n_keys);
	call->item.keys_from = call->args.len;
	redis_keys_record(&call->args, names, key_id);
	call->item.keys_to = call->args.len + names->leases_len;
	resp_bytes(&call->args,
	    span_of(names->indexes.bytes, names->indexes.len));
	if (tells) {
		redis_keys_index(&call->args, conf, shard, "events");
		redis_keys_index(&call->args, conf, shard, "dead");
	}
	if (refuses)
		redis_keys_index(&call->args, conf, shard, "relayed");
	call->item.terms_from = call->args.len;
	return call;
}

void
call_arg_token(struct store_call *call, const uint8_t bytes[16])
{
	char token[TOKEN_CHARS + 1];
	base64_url_encode(bytes, 16, token);
	resp_arg(&call->args, span_of(token, TOKEN_CHARS));
}

void
call_arg_labelled(struct store_call *call, const struct owner *owner,
    struct span provenance)
{
	const struct conf_store *conf = &call->store->conf->store;
	char token[TOKEN_CHARS + 1], label[LABEL_INDEX_CHARS + 1] = "";
	struct span text, stored = SPAN("");
	if (provenance.len > 0)
		stored = provenance_read(provenance).label;
	if (stored.len > 0) {
		struct arena *scratch = arena_new();
		if (label_read(scratch, conf, &call->key_id, stored, &text))
			(void)label_index(conf, text, 0, label);
		arena_free(&scratch);
	}
	base64_url_encode(owner->bytes, 16, token);
	const struct span parts[] = {
	    span_of(token, TOKEN_CHARS), span_str(label)};
	resp_joined(&call->args, parts, 2);
}

void
call_arg_attempt(struct store_call *call, uint32_t attempt)
{
	char digits[ATTEMPT_DIGITS];
	digits_pad(digits, sizeof digits, attempt);
	resp_arg(&call->args, span_of(digits, sizeof digits));
}

void
call_arg_entity(struct store_call *call, const struct store_entity *entity)
{
	redis_keys_entity(&call->args, call->store->conf, entity->name);
	resp_arg(&call->args, entity->version);
	resp_arg(&call->args, entity->shown);
}

void
call_arg_make_again(
    struct store_call *call, const struct owned_claim *owned, int64_t keep_ms)
{
	char digits[CREATED_DIGITS];
	call_arg_token(call, owned->fingerprint);
	call_arg_attempt(call, owned->tries);
	digits_pad(digits, sizeof digits, owned->created_ms);
	resp_arg(&call->args, span_of(digits, sizeof digits));
	resp_arg(&call->args, call_one_line(owned->provenance));
	if (owned->entity != NULL) {
		call_arg_entity(call, owned->entity);
		resp_number(&call->args, keep_ms);
	}
}

struct span
call_one_line(struct span s)
{
	const char *end = s.len ? memchr(s.ptr, '\n', s.len) : NULL;
	return end ? span_of(s.ptr, (size_t)(end - s.ptr)) : s;
}

/* The lease, and then as long as what it ends with is kept. */
int64_t
call_outlive(struct store *store, const struct conf_idempotency *policy)
{
	int64_t after_ms = policy->retention_ms;
	if (policy->unknown_retention_ms > after_ms)
		after_ms = policy->unknown_retention_ms;
	int64_t alive_ms = policy->lease_ms + after_ms;
	if (alive_ms > store->longest_ms)
		store->longest_ms = alive_ms;
	return alive_ms;
}

/* Forgets what only concerned the server it was sent to. */
static void
forget_server(struct store_call *call)
{
	call->asking = call->alone = false;
	call->run.whole = call->run.reads = false;
	free(call->refused);
	call->refused = NULL;
}

static void
end(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->done != NULL)
		call->done(call, how, error, reply);
	if (call->again) {
		call->again = false;
		forget_server(call);
		call->node = NULL;
		call_start(call);
		return;
	}
	resp_clear(&call->args);
	free(call->refused);
	free(call);
}

/* --- the operation that waits for it --- */

static int64_t
ms_until(int64_t us)
{
	int64_t left_us = us - clock_us();
	return left_us > 0 ? (left_us + 999) / 1000 : 0;
}

/* The command by which it was sent; NULL: it leaves at the end of this turn. */
static struct link_call *
sent_as(struct store_call *call)
{
	struct batch *batch = call->item.batch;
	if (batch == NULL)
		return &call->run.link;
	return batch->sent ? &batch->run.link : NULL;
}

/* For so long its connection, or the way to it, may yet be silent. */
static int64_t
silence_left_ms(struct store_call *call)
{
	struct link_call *sent =
	    list_linked(&call->queued) ? NULL : sent_as(call);
	return sent != NULL ? link_left_ms(call->channel->link, sent)
			    : ms_until(call->give_up_us);
}

/*
 * A Redis that did not answer in time, or the way to it, may be frozen: the
 * connection is not used any more.
 */
static void
reset_late(struct channel *channel)
{
	bool late = channel->is_late;
	channel->is_late = false;
	if (late && INVARIANT(late_link_reset))
		link_reset(channel->link, "no answer within store.timeout");
}

/*
 * Parts an operation from its calls; those that were sent go on alone, but on a
 * silent connection nothing more is to be sent.
 */
static void
on_detach(struct op *op, int error)
{
	struct store_op *store_op = CONTAINER_OF(op, struct store_op, op);
	struct store *store = NULL;
	struct store_call *call;
	struct node *node;
	LIST_EACH(call, &store_op->calls, in_op) {
		store = call->store;
		call->op = NULL;
		list_remove(&call->in_op);
		if (list_linked(&call->queued)) {
			list_remove(&call->queued);
			end(call, CALL_NOT_RUN, E_CANCELLED, NULL);
		} else if (error == E_TIMEOUT && sent_as(call) != NULL &&
		    silence_left_ms(call) == 0) {
			call->channel->is_late = true;
		}
	}
	if (store == NULL)
		return;
	LIST_EACH(node, &store->nodes, in_store) {
		reset_late(&node->large);
		reset_late(&node->small);
	}
}

/* store.timeout is for silence: what flows may take longer. */
static int64_t
on_more_ms(struct op *op)
{
	const struct store_op *store_op =
	    CONTAINER_OF(op, struct store_op, op);
	int64_t least_ms = INT64_MAX;
	struct store_call *call;
	LIST_EACH(call, &store_op->calls, in_op) {
		int64_t left_ms =
		    call->store->hurries ? 0 : silence_left_ms(call);
		if (!list_linked(&call->queued) && call->end_us != 0 &&
		    ms_until(call->end_us) < left_ms)
			left_ms = ms_until(call->end_us);
		least_ms = left_ms < least_ms ? left_ms : least_ms;
	}
	return list_empty(&store_op->calls) ? 0 : least_ms;
}

void
call_begin_op(struct store *store, struct store_op *op)
{
	*op = (struct store_op){.op = op->op,
	    .verdict = VERDICT_BROKEN,
	    .state = STATE_PROCESSING,
	    .reason = REASON_NONE,
	    .differs = '-'};
	list_init(&op->calls);
	op_start(&op->op, store->conf->store.redis.timeout_ms, on_detach);
	op->op.more_ms = on_more_ms;
}

void
call_join_op(struct store_call *call, struct store_op *op)
{
	call->op = op;
	list_add_first(&op->calls, &call->in_op);
	call->give_up_us =
	    clock_us() + call->store->conf->store.redis.timeout_ms * 1000;
}

/*
 * All are there before one can end, as the last to end ends the operation; each
 * may leave it as it is started.
 */
void
call_start_op(struct store_op *op)
{
	struct store_call *call;
	if (list_empty(&op->calls))
		op_done(&op->op, 0);
	LIST_EACH(call, &op->calls, in_op)
		call_start(call);
}

void
call_end_op(struct store_call *call, int error)
{
	struct store_op *op = call->op;
	list_remove(&call->in_op);
	if (op->failure == 0)
		op->failure = error;
	if (list_empty(&op->calls))
		op_done(&op->op, op->failure);
}

/* --- its way to a node --- */

static void
on_asking(struct link_call *link, const redisReply *reply)
{
	struct store_call *call = CONTAINER_OF(link, struct store_call, ahead);
	channel_check_type(call->channel, reply, REDIS_REPLY_STATUS);
}

/* Sends it on the channel that it has, which must be up. */
static void
send_call(struct store_call *call)
{
	struct channel *channel = call->channel;
	bool tells = call->events_maxlen > 0;
	bool usual = call->item.own_to != 0 && !tells && !call->alone &&
	    !call->asking && !call->run.whole && !call->run.reads;
	if (usual && batch_add(channel, &call->item))
		return;
	if (call->item.prepare != NULL)
		call->item.prepare(&call->item);
	if (call->asking) {
		/* The next command may use a slot that is being moved here. */
		const struct span word = SPAN("ASKING");
		call->ahead.done = on_asking;
		channel_ask(channel, &call->ahead, &word, 1);
	}
	struct resp command = {0};
	channel_begin(channel, &call->run, call->n_args + tells, &command);
	resp_bytes(&command, span_of(call->args.bytes, call->args.len));
	if (tells)
		resp_number(&command, call->events_maxlen);
	channel_send(channel, &call->run, &command);
	replicas_sent(channel, call->run.script);
	resp_clear(&command);
}

static void
start_at(struct store_call *call, struct node *node)
{
	bool up = node_is_up(node);
	bool hopeful = !up && node_is_hopeful(node);
	call->node = node;
	call->channel = &node->small;
	/* What may leave with others is large only when it goes alone. */
	if (up && call->large && (call->item.own_to == 0 || call->alone)) {
		call->channel = node_large_channel(node);
		up = link_is_up(call->channel->link);
		hopeful = link_is_hopeful(call->channel->link);
	}
	if (up)
		send_call(call);
	else if (hopeful)
		list_add_last(&call->channel->queue, &call->queued);
	else
		end(call, CALL_NOT_RUN, E_STORE_DOWN, NULL);
}

void
call_start(struct store_call *call)
{
	struct store *store = call->store;
	struct node *node = call->node != NULL
	    ? call->node
	    : topology_node_of(store, call->shard);
	if (node != NULL)
		start_at(call, node);
	else if (store->topology != NULL &&
	    topology_is_hopeful(store->topology))
		list_add_last(&store->unplaced, &call->queued);
	else
		end(call, CALL_NOT_RUN, E_STORE_DOWN, NULL);
}

void
call_start_queue(struct list *queue)
{
	struct list now;
	list_init(&now);
	list_move_all(queue, &now);
	while (!list_empty(&now)) {
		struct store_call *call =
		    LIST_FIRST(&now, struct store_call, queued);
		list_remove(&call->queued);
		call_start(call);
	}
}

void
call_fail_queue(struct list *queue)
{
	while (!list_empty(queue)) {
		struct store_call *call =
		    LIST_FIRST(queue, struct store_call, queued);
		list_remove(&call->queued);
		end(call, CALL_NOT_RUN, E_STORE_DOWN, NULL);
	}
}

/* --- what Redis refuses --- */

static void
log_refused(
    const struct store_call *call, enum event event, const char *error)
{
	channel_log_refused(
	    call->channel, event, script_words[call->run.script], error);
}

int
call_log_odd(const struct store_call *call)
{
	log_refused(call, EV_store_refused, "a reply of an unexpected type");
	return E_STORE_REFUSED;
}

/*
 * The slot is being moved, and some of the keys are here and some there: no
 * node can run it until they are together again.
 */
static void
try_again(struct store_call *call, const char *error)
{
	struct store *store = call->store;
	log_refused(call, EV_cluster_moving, error);
	forget_server(call);
	call->redirects = 0;
	if (call->op == NULL || clock_us() >= call->give_up_us) {
		end(call, CALL_NOT_RUN, E_STORE_REFUSED, NULL);
		return;
	}
	call->node = NULL;
	call->op->reached = true;
	list_add_last(&store->again, &call->queued);
	if (!timer_is_set(&store->again_timer))
		timer_set(&store->again_timer, AGAIN_MS);
}

/*
 * A server of a cluster refused it: its slot is another server's, or being
 * moved there, or the server cannot serve and may have been replaced.  Nothing
 * ran.  True: the call goes on, or has ended; false: the refusal is final.
 */
static bool
follow_redirect(
    struct store_call *call, enum redis_error error, const redisReply *reply)
{
	struct topology *topology = call->store->topology;
	struct slots_redirect where;
	if (error == REDIS_ERROR_TRYAGAIN) {
		try_again(call, reply->str);
		return true;
	}
	if (error != REDIS_ERROR_MOVED && error != REDIS_ERROR_ASK) {
		if (redis_error_is(error, REDIS_MOVES))
			topology_doubt(topology);
		return false;
	}
	if (!slots_redirect_read(span_of(reply->str, reply->len),
		&call->node->place, &where))
		return false;
	struct node *node = topology_node_at(topology, &where.address);
	redis_address_clear(&where.address);
	if (!where.ask)
		topology_moved(topology, where.slot, node);
	/* Not for an operation that waits no more, nor for ever. */
	if (call->redirects >= REDIRECTS_MAX ||
	    (call->op == NULL && call->give_up_us != 0))
		return false;
	forget_server(call);
	call->redirects++;
	call->asking = where.ask;
	start_at(call, node);
	return true;
}

static void
on_refused(struct store_call *call, const redisReply *reply)
{
	const struct function_library *library = call->store->library;
	enum redis_error error = redis_error_of_reply(reply);
	if (error == REDIS_ERROR_READONLY || error == REDIS_ERROR_MASTERDOWN)
		node_not_master(call->node);
	if (channel_brings_script(call->channel, &call->run, error)) {
		send_call(call);
		return;
	}
	/*
	 * A Redis that takes no writes refuses a function that may write as a
	 * whole; for a replay the one that only reads is enough.
	 */
	bool read = library != NULL && !call->run.reads &&
	    *library->readers[call->run.script] != '\0' &&
	    redis_error_is(error, REDIS_ONLY_READS);
	if (!read && call->store->topology != NULL &&
	    follow_redirect(call, error, reply))
		return;
	if (call->refused == NULL)
		call->refused = mem_str(span_of(reply->str, reply->len));
	if (read) {
		call->run.reads = true;
		send_call(call);
		return;
	}
	/* Where Redis refused our library, the log already has the reason. */
	if (error != REDIS_ERROR_NO_FUNCTION || !call->channel->loader.failed)
		log_refused(call, EV_store_refused, call->refused);
	bool ran_nothing =
	    call->run.reads || redis_error_is(error, REDIS_NOT_RUN);
	end(call, ran_nothing ? CALL_NOT_RUN : CALL_LOST, E_STORE_REFUSED,
	    NULL);
}

/* --- replies --- */

static void
on_answered(struct store_call *call, struct call_reply reply, int64_t now_us)
{
	if (call->store->took != NULL)
		histogram_add(&call->store->took[call->run.script],
		    now_us - call->run.link.sent_us);
	/* An error comes last: Redis took the step but not its event. */
	if (reply.n_extra > 0 &&
	    reply.extra[reply.n_extra - 1]->type == REDIS_REPLY_ERROR)
		log_refused(call, EV_event_lost,
		    reply.extra[--reply.n_extra]->str);
	end(call, CALL_ANSWERED, 0, &reply);
}

static void
on_delayed_end(struct replicas_delayed *delayed, int error)
{
	struct store_call *call =
	    CONTAINER_OF(delayed, struct store_call, delayed);
	if (error != 0) {
		end(call, CALL_LOST, error, NULL);
		return;
	}
	if (call->confirmed != NULL)
		call->confirmed(call, &delayed->reply);
	on_answered(call, delayed->reply, clock_us());
}

/* It is the reply to this call. */
static void
take_reply(struct store_call *call, const struct call_reply *reply)
{
	int64_t now_us = clock_us();
	redis_clock_heard(link_clock(call->channel->link), reply->now_ms,
	    call->run.link.sent_us, now_us);
	call->delayed.end = on_delayed_end;
	if (!replicas_delay(
		call->channel, call->run.script, reply, &call->delayed))
		on_answered(call, *reply, now_us);
	else if (call->op != NULL)
		call->op->reached = reply->verdict != VERDICT_OURS;
}

static void
on_reply(struct link_call *link, const redisReply *reply)
{
	struct store_call *call =
	    CONTAINER_OF(link, struct store_call, run.link);
	struct call_reply read;
	struct span name = SPAN("");
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
		on_refused(call, reply);
		return;
	}
	bool whole = reply != NULL &&
	    call_reply_read(reply, call->run.script, &read, &name);
	if (reply != NULL &&
	    channel_is_own(call->channel, &call->run, whole, name))
		take_reply(call, &read);
	else
		end(call, CALL_LOST, E_STORE_DOWN, NULL);
}

static void
on_batch_done(struct batch_item *item, const struct batch_result *result)
{
	struct store_call *call = CONTAINER_OF(item, struct store_call, item);
	call->run.link.sent_us = result->sent_us;
	switch (result->what) {
	case BATCH_ANSWERED:
		take_reply(call, &result->reply);
		break;
	case BATCH_REFUSED:
		call->alone = true;
		on_refused(call, result->error);
		break;
	case BATCH_LOST:
		end(call, CALL_LOST, E_STORE_DOWN, NULL);
		break;
	case BATCH_UNUSUAL:
		call->alone = true;
		/* Another batch may have left it in doubt before. */
		call->in_doubt |= result->in_doubt;
		start_at(call, call->node);
		break;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/histogram.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/test_build.h"
#include "store/call.h"
#include "store/function_loader.h"
#include "store/health.h"
#include "store/joint.h"
#include "store/record/script.h"
#include "store/redirect.h"
#include "store/redis/redis_error.h"
#include "store/refused_log.h"
#include "store/topology.h"

enum {
	REDIRECTS_MAX = 8,
	AGAIN_MS = 20, /* after TRYAGAIN */
	ATTEMPT_MAX = 999999, /* six digits in a record */
};

static void on_reply(struct link_call *link, const redisReply *reply);
static void forget_server(struct store_call *call);

struct store_call *
call_new(struct store *store, unsigned shard, enum script script,
    size_t n_args)
{
	return call_new_sized(
	    store, shard, script, n_args, sizeof(struct store_call));
}

struct store_call *
call_new_sized(struct store *store, unsigned shard, enum script script,
    size_t n_args, size_t size)
{
	must(size >= sizeof(struct store_call));
	struct store_call *call = mem_zero(size);
	call->link.done = on_reply;
	call->store = store;
	call->shard = shard;
	call->script = script;
	call->n_args = n_args;
	return call;
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
		call_start(call);
		return;
	}
	resp_clear(&call->args);
	free(call->refused);
	free(call);
}

/* --- sending --- */

static void
on_asking(struct link_call *link, const redisReply *reply)
{
	node_check_type(CONTAINER_OF(link, struct store_call, ahead)->line,
	    reply, REDIS_REPLY_STATUS);
}

/* ASKING lets the next command use a slot that is being moved to this node. */
static void
send_asking(struct store_call *call)
{
	struct resp command = {0};
	resp_begin(&command, 1);
	resp_arg(&command, SPAN("ASKING"));
	call->ahead.done = on_asking;
	link_send(call->line->link, &call->ahead, &command);
	resp_clear(&command);
}

void
call_name(struct store *store, char ret_name[CALL_NAME_CHARS + 1])
{
	const uint64_t number = store->next_call++;
	hex_encode((const uint8_t *)&number, sizeof number, ret_name);
}

void
call_send(struct store_call *call)
{
	struct store *store = call->store;
	bool tells = call->events_maxlen > 0;
	enum script_as as = call->whole ? SCRIPT_AS_TEXT : SCRIPT_AS_NAME;
	struct resp command = {0};
	if (joint_takes(call)) {
		joint_add(call);
		return;
	}
	if (call->prepare != NULL)
		call->prepare(call);
	if (call->asking)
		send_asking(call);
	if (call->reads)
		as = SCRIPT_AS_READER;
	call_name(store, call->name);
	script_command_begin(&command, &store->names, store->library,
	    call->script, as, call->n_args + tells + 1);
	resp_bytes(&command, span_of(call->args.bytes, call->args.len));
	if (tells)
		resp_number(&command, call->events_maxlen);
	resp_arg(&command, span_of(call->name, CALL_NAME_CHARS));
	link_send(call->line->link, &call->link, &command);
	replicas_sent(call->line, call->script);
	resp_clear(&command);
}

/* --- waiting --- */

static void
wait_in(struct store_call *call, struct call_queue *queue)
{
	call->queue = queue;
	call->queued = queue->end;
	*queue->end = call;
	queue->end = &call->next;
}

static void
leave_queue(struct store_call *call)
{
	*call->queued = call->next;
	if (call->next != NULL)
		call->next->queued = call->queued;
	else
		call->queue->end = call->queued;
	call->queue = NULL;
	call->next = NULL;
	call->queued = NULL;
}

static void
start_on_large(struct store_call *call)
{
	call->line = node_large_line(call->node);
	if (link_is_up(call->line->link))
		call_send(call);
	else if (link_is_hopeful(call->line->link))
		wait_in(call, &call->line->queue);
	else
		end(call, CALL_NOT_RUN, E_STORE_DOWN, NULL);
}

static void
start_at(struct store_call *call, struct node *node)
{
	call->node = node;
	call->line = &node->small;
	if (node_is_up(node) && call->large)
		start_on_large(call);
	else if (node_is_up(node))
		call_send(call);
	else if (node_is_hopeful(node))
		wait_in(call, &node->small.queue);
	else
		end(call, CALL_NOT_RUN, E_STORE_DOWN, NULL);
}

void
call_start(struct store_call *call)
{
	struct store *store = call->store;
	struct node *node = topology_node_of(store, call->shard);
	if (node != NULL)
		start_at(call, node);
	else if (store->topology != NULL &&
	    topology_is_hopeful(store->topology))
		wait_in(call, &store->unplaced);
	else
		end(call, CALL_NOT_RUN, E_STORE_DOWN, NULL);
}

void
call_start_queue(struct call_queue *queue)
{
	struct call_queue now = {NULL, &now.first};
	while (queue->first != NULL) {
		struct store_call *call = queue->first;
		leave_queue(call);
		wait_in(call, &now);
	}
	while (now.first != NULL) {
		struct store_call *call = now.first;
		leave_queue(call);
		call_start(call);
	}
}

bool
call_drop(struct store_call *call)
{
	if (call->queue == NULL)
		return false;
	leave_queue(call);
	end(call, CALL_NOT_RUN, E_CANCELLED, NULL);
	return true;
}

static int64_t
ms_until(int64_t us)
{
	int64_t left_us = us - clock_us();
	return left_us > 0 ? (left_us + 999) / 1000 : 0;
}

/* How long its line, or the way to it, may yet be silent. */
static int64_t
silence_ms(struct store_call *call)
{
	struct link_call *sent = joint_link_call(call);
	return sent != NULL ? link_left_ms(call->line->link, sent)
			    : ms_until(call->give_up_us);
}

int64_t
call_left_ms(struct store_call *call)
{
	if (call->queue != NULL)
		return ms_until(call->give_up_us);
	int64_t left_ms = silence_ms(call);
	int64_t most_ms = call->end_us != 0 ? ms_until(call->end_us) : left_ms;
	return most_ms < left_ms ? most_ms : left_ms;
}

bool
call_is_silent(struct store_call *call)
{
	return call->queue == NULL && joint_link_call(call) != NULL &&
	    silence_ms(call) == 0;
}

void
call_flush_queue(struct call_queue *queue)
{
	while (queue->first != NULL) {
		struct store_call *call = queue->first;
		leave_queue(call);
		start_at(call, call->node);
	}
}

void
call_fail_queue(struct call_queue *queue)
{
	while (queue->first != NULL) {
		struct store_call *call = queue->first;
		leave_queue(call);
		end(call, CALL_NOT_RUN, E_STORE_DOWN, NULL);
	}
}

/* --- replies --- */

static void
log_refused(
    const struct store_call *call, enum event event, const char *error)
{
	refused_log(call->store, event, script_word(call->script), error);
}

void
call_log_odd(const struct store_call *call)
{
	log_refused(call, EV_store_refused, "a reply of an unexpected type");
}

static bool
read_reply(const struct store_call *call, const redisReply *reply,
    struct call_reply *ret_reply)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 4 ||
	    reply->element[1]->type != REDIS_REPLY_INTEGER ||
	    reply->element[1]->integer < 0 ||
	    reply->element[1]->integer > ATTEMPT_MAX ||
	    reply->element[2]->type != REDIS_REPLY_INTEGER ||
	    reply->element[2]->integer < 0 ||
	    reply->element[2]->integer > REDIS_CLOCK_MAX_MS ||
	    !verdict_of(resp_text(reply->element[0]), &ret_reply->verdict) ||
	    !script_answers(call->script, ret_reply->verdict))
		return false;
	ret_reply->attempt = (uint32_t)reply->element[1]->integer;
	ret_reply->now_ms = reply->element[2]->integer;
	ret_reply->extra = reply->element + 4;
	ret_reply->n_extra = reply->elements - 4;
	return true;
}

bool
call_is_own(const struct store_call *call, struct span name)
{
	return span_eq(name, span_str(call->name)) || !INVARIANT(own_reply);
}

/* An error as the last element: Redis took the step but not its event. */
static void
take_untold(struct store_call *call, struct call_reply *reply)
{
	if (reply->n_extra == 0)
		return;
	const redisReply *last = reply->extra[reply->n_extra - 1];
	if (last->type != REDIS_REPLY_ERROR)
		return;
	reply->n_extra--;
	log_refused(call, EV_event_lost, last->str);
}

/*
 * Sends the call again, with the script (or before it the library) that Redis
 * says it does not have; false: that is not what was wrong.
 */
static bool
send_whole(struct store_call *call, enum redis_error error)
{
	bool functions = call->store->library != NULL;
	if (call->whole ||
	    error != (functions ? REDIS_ERROR_NO_FUNCTION
				: REDIS_ERROR_NOSCRIPT))
		return false;
	call->whole = true;
	if (functions)
		function_loader_send(call->line);
	call_send(call);
	return true;
}

/*
 * A Redis that takes no writes refuses a function that may write as a whole.
 * Sends the one that only reads instead: a replay needs no more.
 */
static bool
send_reader(struct store_call *call, const redisReply *reply)
{
	const struct function_library *library = call->store->library;
	if (library == NULL || call->reads ||
	    *library->readers[call->script] == '\0' ||
	    !redis_error_allows_reads(redis_error_of_reply(reply)))
		return false;
	call->reads = true;
	call->refused = mem_str(span_of(reply->str, reply->len));
	call_send(call);
	return true;
}

/* --- in a cluster --- */

/*
 * Whether to follow another redirect: while its operation waits, or where it
 * never had one.
 */
static bool
may_go_on(const struct store_call *call)
{
	return call->redirects < REDIRECTS_MAX &&
	    (call->op != NULL || call->give_up_us == 0);
}

/* Forgets what only concerned the server it was sent to. */
static void
forget_server(struct store_call *call)
{
	call->asking = call->whole = call->reads = call->alone = false;
	free(call->refused);
	call->refused = NULL;
}

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
	wait_in(call, &store->again);
	if (!timer_is_set(&store->again_timer))
		timer_set(&store->again_timer, AGAIN_MS);
}

/* True: the call goes on, or has ended; false: the refusal is final. */
static bool
follow_redirect(struct store_call *call, const redisReply *reply)
{
	struct redirect redirect =
	    redirect_of(call->node, span_of(reply->str, reply->len));
	if (redirect.what == REDIRECT_AGAIN) {
		try_again(call, reply->str);
		return true;
	}
	if (redirect.what == REDIRECT_NONE || !may_go_on(call))
		return false;
	forget_server(call);
	call->redirects++;
	call->asking = redirect.asking;
	start_at(call, redirect.node);
	return true;
}

/* --- the end --- */

static void
on_refused(struct store_call *call, const redisReply *reply)
{
	enum redis_error error = redis_error_of_reply(reply);
	if (error == REDIS_ERROR_READONLY || error == REDIS_ERROR_MASTERDOWN)
		health_not_master(call->node);
	if (send_whole(call, error) || send_reader(call, reply) ||
	    (call->store->topology != NULL && follow_redirect(call, reply)))
		return;
	if (call->refused == NULL)
		call->refused = mem_str(span_of(reply->str, reply->len));
	/* Where Redis refused our library, the log already has the reason. */
	if (error != REDIS_ERROR_NO_FUNCTION ||
	    !function_loader_failed(call->line))
		log_refused(call, EV_store_refused, call->refused);
	bool ran_nothing = call->reads || redis_error_ran_nothing(error);
	end(call, ran_nothing ? CALL_NOT_RUN : CALL_LOST, E_STORE_REFUSED,
	    NULL);
}

static void
on_answered(struct store_call *call, struct call_reply *reply)
{
	if (call->store->took != NULL)
		histogram_add(&call->store->took[call->script],
		    clock_us() - call->link.sent_us);
	take_untold(call, reply);
	end(call, CALL_ANSWERED, 0, reply);
}

/* reply is NULL where too few replicas have it. */
static void
on_held_end(struct replicas_held *held, const redisReply *reply, int error)
{
	struct store_call *call = CONTAINER_OF(held, struct store_call, held);
	struct call_reply read;
	must(reply == NULL || read_reply(call, reply, &read));
	if (reply != NULL && call->confirmed != NULL)
		call->confirmed(call, reply);
	if (reply != NULL)
		on_answered(call, &read);
	else
		end(call, CALL_LOST, error, NULL);
}

void
call_distrust(struct store_call *call, const char *message)
{
	link_distrust(call->line->link, message);
	end(call, CALL_LOST, E_STORE_DOWN, NULL);
}

void
call_replied(struct store_call *call, const redisReply *reply)
{
	struct call_reply read;
	if (reply == NULL) {
		end(call, CALL_LOST, E_STORE_DOWN, NULL);
	} else if (reply->type == REDIS_REPLY_ERROR) {
		on_refused(call, reply);
	} else if (!read_reply(call, reply, &read)) {
		call_distrust(call, "a reply of an unexpected form");
	} else if (!call_is_own(call, resp_text(reply->element[3]))) {
		call_distrust(call, "a reply to another call");
	} else {
		redis_clock_heard(link_clock(call->line->link), read.now_ms,
		    call->link.sent_us, clock_us());
		call->held.end = on_held_end;
		if (!replicas_hold(call->line, call->script, read.verdict,
			reply, &call->held))
			on_answered(call, &read);
	}
}

static void
on_reply(struct link_call *link, const redisReply *reply)
{
	call_replied(CONTAINER_OF(link, struct store_call, link), reply);
}

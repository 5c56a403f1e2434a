/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "record/library.h"
#include "store/call.h"
#include "store/function_loader.h"
#include "store/health.h"
#include "store/redirect.h"
#include "store/replicas.h"
#include "store/topology.h"

enum {
	DEADLINE_DIGITS = 13,
	REFUSED_QUIET_MS = 1000,
};

static const char *const script_words[] = {
#define SCRIPT(name, word) word,
#include "tbl/scripts.h"
#undef SCRIPT
};

static void on_reply(struct link_call *link, const redisReply *reply);

const char *
store_operation_word(unsigned operation)
{
	must(operation < STORE_OPERATIONS);
	return script_words[operation];
}

void
store_measure(struct store *store, struct histogram *took)
{
	store->took = took;
}

struct store_call *
call_new(struct store *store, unsigned shard, enum script script,
    size_t n_args)
{
	struct store_call *call = mem_zero(sizeof *call);
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
	call->done(call, how, error, reply);
	resp_clear(&call->args);
	free(call->refused);
	free(call);
}

/* --- sending --- */

void
call_deadline_arg(struct store_call *call)
{
	resp_arg(&call->args, SPAN("0000000000000"));
	call->deadline_at = call->args.len - 2 - DEADLINE_DIGITS;
}

/* The command's name, and the script's or its text. */
static void
put_script(const struct store_call *call, struct resp *command)
{
	const struct store *store = call->store;
	const struct library *library = store->library;
	enum script script = call->script;
	if (library != NULL) {
		resp_arg(command, SPAN("FCALL"));
		resp_arg(command,
		    span_str(call->reads ? library->readers[script]
					 : library->functions[script]));
	} else if (call->whole) {
		resp_arg(command, SPAN("EVAL"));
		resp_arg(command, script_text(script));
	} else {
		resp_arg(command, SPAN("EVALSHA"));
		resp_arg(command, span_of(store->names.sha[script], SHA1_HEX));
	}
}

static void
on_asking(struct link_call *call, const redisReply *reply)
{
	(void)call;
	(void)reply;
}

/* The next command on that connection may be for a slot that comes there. */
static void
send_asking(struct node *node)
{
	struct resp command = {0};
	resp_begin(&command, 1);
	resp_arg(&command, SPAN("ASKING"));
	node->asking.done = on_asking;
	link_send(node->link, &node->asking, &command);
	resp_clear(&command);
}

static void
send_call(struct store_call *call)
{
	struct store *store = call->store;
	bool claims = call->deadline_at != 0;
	bool tells = call->events_maxlen > 0;
	struct resp command = {0};
	if (call->asking)
		send_asking(call->node);
	resp_begin(&command, 2 + call->n_args + claims + tells);
	put_script(call, &command);
	resp_bytes(&command, span_of(call->args.bytes, call->args.len));
	if (claims)
		resp_number(&command, health_fault(store) != FAULT_NONE);
	if (tells)
		resp_number(&command, call->events_maxlen);
	link_send(call->node->link, &call->link, &command);
	replicas_sent(call);
	resp_clear(&command);
}

/* When the claim is too late, said on the clock that Redis has. */
static void
write_deadline(struct store_call *call)
{
	call->deadline_ms =
	    redis_clock_ms(link_clock(call->node->link), call->give_up_us);
	digits_pad(call->args.bytes + call->deadline_at, DEADLINE_DIGITS,
	    call->deadline_ms);
}

static void
send_first(struct store_call *call)
{
	if (call->deadline_at != 0)
		write_deadline(call);
	send_call(call);
}

/* --- waiting --- */

void
call_wait(struct store_call *call, struct call_queue *queue)
{
	call->queue = queue;
	call->queued = queue->end;
	*queue->end = call;
	queue->end = &call->next;
}

static void
unqueue(struct store_call *call)
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

void
call_start_at(struct store_call *call, struct node *node)
{
	call->node = node;
	if (node_is_up(node))
		send_first(call);
	else if (node_is_hopeful(node))
		call_wait(call, &node->queue);
	else
		end(call, CALL_NOT_RUN, E_STORE_DOWN, NULL);
}

void
call_start(struct store_call *call)
{
	struct topology *topology = call->store->topology;
	struct node *node = store_node(call->store, call->shard);
	if (node != NULL)
		call_start_at(call, node);
	else if (topology_is_hopeful(topology))
		call_wait(call, &topology->queue);
	else
		end(call, CALL_NOT_RUN, E_STORE_DOWN, NULL);
}

void
call_start_queue(struct call_queue *queue)
{
	struct call_queue now = {NULL, &now.first};
	while (queue->first != NULL) {
		struct store_call *call = queue->first;
		unqueue(call);
		call_wait(call, &now);
	}
	while (now.first != NULL) {
		struct store_call *call = now.first;
		unqueue(call);
		call_start(call);
	}
}

void
call_end_unrun(struct store_call *call, int error)
{
	end(call, CALL_NOT_RUN, error, NULL);
}

bool
call_drop(struct store_call *call)
{
	if (call->queue == NULL)
		return false;
	unqueue(call);
	end(call, CALL_NOT_RUN, E_CANCELLED, NULL);
	return true;
}

void
call_flush_queue(struct call_queue *queue)
{
	while (queue->first != NULL) {
		struct store_call *call = queue->first;
		unqueue(call);
		send_first(call);
	}
}

void
call_fail_queue(struct call_queue *queue)
{
	while (queue->first != NULL) {
		struct store_call *call = queue->first;
		unqueue(call);
		end(call, CALL_NOT_RUN, E_STORE_DOWN, NULL);
	}
}

/* --- replies --- */

void
call_log_refused(struct store *store, enum event event,
    const char *operation, const char *error)
{
	char kind[sizeof store->refused];
	size_t len = strcspn(error, " ");
	snprintf(kind, sizeof kind, "%.*s",
	    (int)(len < sizeof kind ? len : sizeof kind - 1), error);
	int64_t now_ms = clock_us() / 1000;
	if (strcmp(kind, store->refused) == 0 &&
	    now_ms - store->refused_ms < REFUSED_QUIET_MS)
		return;
	memcpy(store->refused, kind, sizeof kind);
	store->refused_ms = now_ms;
	struct logline line = log_begin(event);
	log_str(&line, "operation", operation);
	log_str(&line, "error", error);
	log_end(&line);
}

static void
log_refused(
    const struct store_call *call, enum event event, const char *error)
{
	call_log_refused(
	    call->store, event, script_words[call->script], error);
}

static bool
verdict_of(const redisReply *word, enum verdict *ret_verdict)
{
	static const char *const message[] = {
#define VERDICT(name, word) word,
#include "tbl/verdicts.h"
#undef VERDICT
	};
	for (int i = 0; i < VERDICT_COUNT_; i++) {
		if (word->type != REDIS_REPLY_STRING ||
		    !span_eq(
			span_of(word->str, word->len), span_str(message[i])))
			continue;
		*ret_verdict = (enum verdict)i;
		return true;
	}
	return false;
}

static bool
read_reply(const redisReply *reply, struct call_reply *ret_reply)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3 ||
	    reply->element[1]->type != REDIS_REPLY_INTEGER ||
	    reply->element[2]->type != REDIS_REPLY_INTEGER ||
	    !verdict_of(reply->element[0], &ret_reply->verdict))
		return false;
	ret_reply->attempt = (uint32_t)reply->element[1]->integer;
	ret_reply->now_ms = reply->element[2]->integer;
	ret_reply->extra = reply->element + 3;
	ret_reply->n_extra = reply->elements - 3;
	return true;
}

/* An error behind all else: Redis took the step and not its event. */
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

static bool
is_kind_of(struct span error, const char *const *kinds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_starts(error, span_str(kinds[i])))
			return true;
	return false;
}

/*
 * Errors that Redis raises before a script, or instead of its first write,
 * which is the one that matters.  Any other may come from within it.
 */
static bool
nothing_ran(const struct store_call *call, struct span error)
{
	static const char *const kinds[] = {"ASK ", "BUSY ", "CLUSTERDOWN ",
	    "CROSSSLOT ", "LOADING ", "MASTERDOWN ", "MISCONF ", "MOVED ",
	    "NOAUTH ", "NOPERM ", "NOREPLICAS ", "NOSCRIPT ", "OOM ",
	    "READONLY ", "TRYAGAIN "};
	return call->reads || library_is_missing(error) ||
	    is_kind_of(error, kinds, sizeof kinds / sizeof *kinds);
}

/* The script goes to Redis along with the call, which it does not have. */
static bool
send_whole(struct store_call *call, struct span error)
{
	bool functions = call->store->library != NULL;
	if (call->whole ||
	    !(functions ? library_is_missing(error)
			: span_starts(error, SPAN("NOSCRIPT "))))
		return false;
	call->whole = true;
	if (functions)
		function_loader_send(call->node);
	send_call(call);
	return true;
}

/*
 * Where Redis takes no writes, it refuses a function as a whole that may
 * write; what it would have read is still to be had.
 */
static bool
send_reader(struct store_call *call, struct span error)
{
	static const char *const kinds[] = {
	    "MISCONF ", "NOREPLICAS ", "OOM ", "READONLY "};
	const struct library *library = call->store->library;
	if (library == NULL || call->reads ||
	    *library->readers[call->script] == '\0' ||
	    !is_kind_of(error, kinds, sizeof kinds / sizeof *kinds))
		return false;
	call->reads = true;
	call->refused = mem_str(error);
	send_call(call);
	return true;
}

static void
on_refused(struct store_call *call, const redisReply *reply)
{
	struct span error = span_of(reply->str, reply->len);
	if (span_starts(error, SPAN("READONLY ")) ||
	    span_starts(error, SPAN("MASTERDOWN ")))
		health_not_master(call->node);
	if (send_whole(call, error) || send_reader(call, error))
		return;
	if (call->store->topology != NULL && redirect_call(call, reply))
		return;
	/* Of a library that was refused, the log has the reason. */
	if (!library_is_missing(error) || !function_loader_failed(call->node))
		log_refused(call, EV_store_refused,
		    call->refused != NULL ? call->refused : reply->str);
	end(call, nothing_ran(call, error) ? CALL_NOT_RUN : CALL_LOST,
	    E_STORE_REFUSED, NULL);
}

void
call_answered(struct store_call *call, const redisReply *reply)
{
	struct call_reply read;
	must(read_reply(reply, &read));
	if (call->store->took != NULL)
		histogram_add(&call->store->took[call->script],
		    clock_us() - call->link.sent_us);
	take_untold(call, &read);
	end(call, CALL_ANSWERED, 0, &read);
}

void
call_lost(struct store_call *call, int error)
{
	end(call, CALL_LOST, error, NULL);
}

static void
on_reply(struct link_call *link, const redisReply *reply)
{
	struct store_call *call = (struct store_call *)(void *)link;
	struct call_reply read;
	if (reply == NULL) {
		end(call, CALL_LOST, E_STORE_DOWN, NULL);
	} else if (reply->type == REDIS_REPLY_ERROR) {
		on_refused(call, reply);
	} else if (!read_reply(reply, &read)) {
		log_refused(call, EV_store_refused,
		    "an answer of another kind");
		end(call, CALL_LOST, E_STORE_REFUSED, NULL);
	} else {
		redis_clock_heard(link_clock(call->node->link), read.now_ms,
		    link->sent_us, clock_us());
		if (!replicas_hold(call, read.verdict, reply))
			call_answered(call, reply);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "base/test_build.h"
#include "record/answer_codec.h"
#include "record/library.h"
#include "redis/managed.h"
#include "store/claim_revoke.h"
#include "store/health.h"
#include "store/operation.h"
#include "store/sweep.h"
#include "store/topology.h"

/* --- a claim --- */

/*
 * What nobody waits for, and what may be ours unbeknownst to us, goes back;
 * so does what was ours to ask about, where it did not become ours to
 * execute.
 */
static bool
goes_back(const struct store_call *call, enum call_end how,
    const struct call_reply *reply)
{
	if (how == CALL_LOST)
		return true;
	if (how == CALL_NOT_RUN)
		return call->reclaims;
	enum verdict verdict = reply->verdict;
	if (verdict == VERDICT_OURS || verdict == VERDICT_RECONCILE)
		return call->op == NULL;
	return call->reclaims &&
	    (verdict == VERDICT_LATE || verdict == VERDICT_REFUSED);
}

static void
on_claim_done(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (goes_back(call, how, reply) && INVARIANT(claim_given_back))
		claim_revoke_start(call);
	else
		claim_revoke_drop(&call->revoke);
	operation_done(call, how, error, reply);
}

static struct span
claim_policy(const struct claim *claim)
{
	if (claim->reconciled)
		return SPAN("execute");
	switch (claim->policy->on_unknown) {
	case UNKNOWN_RETRY:
		return SPAN("retry");
	case UNKNOWN_RECONCILE:
		return SPAN("reconcile");
	case UNKNOWN_HOLD:
		break;
	}
	return SPAN("hold");
}

/* A route's name ends with its line. */
static struct span
one_line(struct span s)
{
	const char *end = s.len ? memchr(s.ptr, '\n', s.len) : NULL;
	return end ? span_of(s.ptr, (size_t)(end - s.ptr)) : s;
}

void
store_claim(
    struct store *store, struct store_op *op, const struct claim *claim)
{
	/* A release that is still under way would take this one back too. */
	must(!claim_revoke_has(store, &claim->owner));
	operation_longest(store, claim->policy);
	operation_begin(store, op);
	struct store_call *call =
	    operation_call(store, SCRIPT_claim, &claim->key_id, 11);
	operation_arg_owner(call, &claim->owner);
	operation_arg_token(call, claim->fingerprint);
	resp_number(&call->args, claim->policy->lease_ms);
	resp_number(&call->args, operation_alive_ms(claim->policy));
	resp_number(&call->args, claim->policy->unknown_retention_ms);
	resp_number(&call->args, claim->policy->max_attempts);
	resp_arg(&call->args, claim_policy(claim));
	call_deadline_arg(call);
	resp_arg(&call->args, one_line(claim->route));
	resp_number(&call->args, store->longest_ms);
	resp_number(&call->args, claim->waits);
	call->revoke = claim_revoke_new(claim);
	call->reclaims = claim->reconciled;
	call->done = on_claim_done;
	operation_add(call, op);
	call_start(call);
}

/* --- the steps of who holds it --- */

static struct store_call *
held_call(struct store *store, struct store_op *op, enum script script,
    const struct held *held, size_t n_argv)
{
	operation_longest(store, held->policy);
	operation_begin(store, op);
	struct store_call *call =
	    operation_call(store, script, &held->key_id, n_argv);
	operation_arg_owner(call, &held->owner);
	operation_arg_attempt(call, held->attempt);
	call->done = operation_done;
	operation_add(call, op);
	return call;
}

void
operation_complete(struct store *store, struct store_op *op,
    const struct held *held, struct span bytes, int status)
{
	struct store_call *call =
	    held_call(store, op, SCRIPT_complete, held, 5);
	resp_number(&call->args, held->policy->retention_ms);
	resp_arg(&call->args, bytes);
	resp_number(&call->args, status);
	call_start(call);
}

void
store_complete(struct store *store, struct store_op *op,
    const struct held *held, const struct answer *answer)
{
	char *bytes;
	size_t len;
	struct seal_about about = seal_about_attempt(
	    &held->key_id, held->attempt, held->fingerprint);
	answer_codec_write(store, &about, answer, &bytes, &len);
	operation_complete(
	    store, op, held, span_of(bytes, len), answer->status);
	free(bytes);
}

void
store_release(struct store *store, struct store_op *op,
    const struct held *held, bool sent)
{
	must(held->attempt != 0);
	struct store_call *call = held_call(store, op, SCRIPT_release, held, 6);
	resp_number(&call->args, sent);
	resp_number(&call->args, held->policy->retention_ms);
	resp_number(&call->args, held->policy->unknown_retention_ms);
	resp_number(&call->args, store->longest_ms);
	call_start(call);
}

void
store_mark_unknown(struct store *store, struct store_op *op,
    const struct held *held, enum reason reason)
{
	must(reason != REASON_NONE);
	char letter = reason_letter(reason);
	struct store_call *call =
	    held_call(store, op, SCRIPT_mark_unknown, held, 5);
	resp_arg(&call->args, span_of(&letter, 1));
	resp_number(&call->args, held->policy->unknown_retention_ms);
	resp_number(&call->args, store->longest_ms);
	call_start(call);
}

/* --- life --- */

static void
on_claim_revoke_timer(void *arg)
{
	claim_revoke_pump(arg);
}

/* The Redis that the configuration names; nothing where Sentinels name it. */
static void
add_redis(struct store *store)
{
	const struct address *redis = &store->conf->store.redis;
	char *socket = NULL;
	if (store->conf->store.managed)
		socket = managed_socket(store->conf);
	else if (redis->kind == ADDRESS_UNIX)
		socket = mem_str(span_str(redis->host));
	const struct link_to to = {.socket = socket,
	    .host = socket ? NULL : redis->host,
	    .port = redis->port};
	node_new(store, &to);
	free(socket);
}

void
store_listen(struct store *store, const struct store_listener *listener)
{
	must(!store->listens);
	store->listens = true;
	store->listener = *listener;
	for (struct node *n = store->nodes; n != NULL; n = n->next)
		if (node_counts(n))
			subscriber_open(&n->subscriber);
}

int64_t
store_latest_ms(const struct store *store)
{
	int64_t now_us = clock_us(), latest_ms = 0;
	for (struct node *n = store->nodes; n != NULL; n = n->next) {
		int64_t ms = redis_clock_ms(link_clock(n->link), now_us);
		latest_ms = ms > latest_ms ? ms : latest_ms;
	}
	return latest_ms + store->conf->store.timeout_ms;
}

struct store *
store_new(struct loop *loop, const struct conf *conf, struct budget *budget,
    struct store_health *health)
{
	struct store *store = mem_zero(sizeof *store);
	store->loop = loop;
	store->conf = conf_ref(conf);
	store->budget = budget;
	script_names(&store->names);
	if (conf->store.functions)
		store->library = library_new();
	store->decompress = ZSTD_createDCtx();
	must(store->decompress != NULL);
	if (conf->store.compression) {
		store->compress = ZSTD_createCCtx();
		must(store->compress != NULL);
	}
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].idempotency != NULL)
			operation_longest(store, conf->routes[i].idempotency);
	timer_init(&store->sweep, loop, sweep_on_timer, store);
	timer_init(
	    &store->claim_revoke_timer, loop, on_claim_revoke_timer, store);
	store->health = health;
	store->topology = topology_new(store);
	if (store->topology == NULL)
		add_redis(store);
	return store;
}

void
store_free(struct store **store)
{
	struct store *s = *store;
	*store = NULL;
	if (s == NULL)
		return;
	s->listens = false; /* nobody wants to hear of it any more */
	while (s->nodes != NULL) {
		struct node *node = s->nodes;
		node_free(&node);
	}
	topology_free(&s->topology);
	timer_clear(&s->sweep);
	claim_revoke_free(s);
	library_free(&s->library);
	ZSTD_freeCCtx(s->compress);
	ZSTD_freeDCtx(s->decompress);
	conf_unref(&s->conf);
	free(s);
}

bool
store_is_up(const struct store *store)
{
	return store->topology != NULL ? topology_is_up(store->topology)
				  : node_is_up(store->nodes);
}

char *
store_master(const struct store *store)
{
	return master_text(store_health_master(store->health));
}

unsigned
store_unsettled(const struct store *store)
{
	return store->n_claim_revokes;
}

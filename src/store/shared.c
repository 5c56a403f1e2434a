/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/must.h"
#include "store/record/redis_keys.h"
#include "store/shared.h"

void
shared_init(struct shared *ret_shared, struct store *store, const char *kind,
    const char *name)
{
	struct digest digest;
	struct key_id key_id;
	must(*kind != '\0' && *name != '\0');
	digest_begin(&digest, SPAN("shared"), SPAN(""));
	digest_part(&digest, span_str(kind));
	digest_part(&digest, span_str(name));
	digest_end(&digest, key_id.bytes);
	*ret_shared = (struct shared){.store = store, .kind = kind,
	    .name = name, .shard = redis_keys_shard(store->conf, &key_id)};
}

struct store_call *
shared_call(const struct shared *shared, enum script script, const char *word,
    size_t n_argv)
{
	struct store_call *call =
	    call_new(shared->store, shared->shard, script, 2 + n_argv);
	resp_number(&call->args, 1);
	shared_arg_key(shared, call, word, "");
	return call;
}

void
shared_arg_key(const struct shared *shared, struct store_call *call,
    const char *word, const char *more)
{
	char *name = mem_printf(":%s:%s%s", shared->kind, shared->name, more);
	redis_keys_index_of(&call->args, shared->store->conf, shared->shard,
	    word, name);
	free(name);
}

void
shared_arg_notice(const struct shared *shared, struct store_call *call)
{
	const struct span parts[] = {SPAN("!"), span_str(shared->kind),
	    SPAN(":"), span_str(shared->name)};
	resp_joined(&call->args, parts, sizeof parts / sizeof *parts);
}

struct store_call *
shared_act(const struct shared *shared, enum script script, const char *word,
    const char *act, struct span what, struct span more)
{
	struct store_call *call = shared_call(shared, script, word, 4);
	resp_arg(&call->args, span_str(act));
	resp_arg(&call->args, what);
	resp_arg(&call->args, more);
	shared_arg_notice(shared, call);
	return call;
}

void
shared_ended(struct shared *shared, const char *word,
    const struct store_call *call, int error, bool has_last)
{
	if (error == 0)
		shared->trouble[0] = '\0';
	else if (error == E_STORE_REFUSED && call->refused != NULL)
		snprintf(shared->trouble, sizeof shared->trouble,
		    "%.80s (%s:{%u}:%s:%s:%s)", call->refused,
		    shared->store->conf->store.prefix, shared->shard, word,
		    shared->kind, shared->name);
	else if (!has_last)
		snprintf(shared->trouble, sizeof shared->trouble, "%s",
		    error_message(error));
}

bool
shared_notice(const struct shared *shared, struct span notice,
    struct span *ret_what)
{
	const struct span parts[] = {span_str(shared->kind), SPAN(":"),
	    span_str(shared->name), SPAN("\n")};
	for (size_t i = 0;
	     notice.len > 0 && i < sizeof parts / sizeof *parts; i++) {
		if (!span_starts(notice, parts[i]))
			return false;
		notice = span_from(notice, parts[i].len);
		if (notice.len == 0)
			return false; /* cut short */
	}
	*ret_what = notice;
	return true;
}

int64_t
shared_number(const struct call_reply *reply, size_t i)
{
	int64_t number;
	return digits_read(call_reply_text(reply, i), INT64_MAX, &number)
	    ? number
	    : -1;
}

/* --- asking again and again --- */

static void
on_asked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct shared_watch *watch = call->arg;
	if (watch == NULL)
		return;
	watch->call = NULL;
	shared_ended(
	    &watch->shared, watch->word, call, error, watch->has_last);
	if (watch->again)
		timer_set(&watch->timer, 0);
	watch->heard(watch, call, how == CALL_ANSWERED ? reply : NULL);
}

/* A call that Redis does not answer ends with its link. */
static void
on_watch_timer(void *arg)
{
	struct shared_watch *watch = arg;
	timer_set(&watch->timer, watch->every_ms);
	if (watch->call != NULL)
		return;
	watch->again = false;
	watch->call = watch->ask(watch);
	watch->call->done = on_asked;
	watch->call->arg = watch;
	call_start(watch->call);
}

static void
on_watch_notice(void *arg, struct span notice)
{
	struct shared_watch *watch = arg;
	struct span what;
	if (!shared_notice(&watch->shared, notice, &what) ||
	    (what.len > 0 && !span_eq(what, span_str(watch->word))))
		return;
	watch->again = true;
	if (watch->call == NULL)
		timer_set(&watch->timer, 0);
}

void
shared_watch_start(struct shared_watch *watch, struct store *store,
    struct loop *loop, const char *kind, const char *name)
{
	shared_init(&watch->shared, store, kind, name);
	timer_init(&watch->timer, loop, on_watch_timer, watch);
	watch->hearing = (struct subscriber_hearing){
	    .heard = on_watch_notice, .arg = watch};
	subscriber_hear(store, &watch->hearing);
	timer_set(&watch->timer, 0);
}

void
shared_watch_stop(struct shared_watch *watch)
{
	if (watch->shared.store == NULL)
		return;
	timer_clear(&watch->timer);
	list_remove(&watch->hearing.in_store);
	if (watch->call != NULL)
		watch->call->arg = NULL;
	*watch = (struct shared_watch){0};
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/swappable.h"
#include "base/test_build.h"
#include "conf/load/conf_load.h"
#include "conf/load/conf_restart.h"
#include "conf/show.h"

static bool
keeps_option(const struct conf *a, const struct conf *b, size_t option)
{
	size_t at = option * DIGEST_BYTES;
	return memcmp(a->fixed + at, b->fixed + at, DIGEST_BYTES) == 0;
}

/* Those of the whole file whose places in struct conf are in between. */
static bool
keeps_options(
    const struct conf *a, const struct conf *b, size_t from, size_t to)
{
	for (size_t i = 0; i < n_options; i++)
		if (options[i].group == GROUP_ROOT &&
		    options[i].offset >= from && options[i].offset < to &&
		    !keeps_option(a, b, i))
			return false;
	return true;
}

void
conf_restart_renew(const struct conf *running, const struct conf *next)
{
	const struct conf_redis *now = &running->store.redis;
	const struct conf_redis *then = &next->store.redis;
	const char *place = now->address.text, *other = then->address.text;
	/* What is read again is given to no other place. */
	if (strcmp(place ? place : "", other ? other : "") != 0 ||
	    !keeps_options(running, next, offsetof(struct conf, store.redis),
		offsetof(struct conf, store.redis.timeout_ms)))
		return;
	if (now->tls.on && then->tls.on &&
	    keeps_options(running, next, offsetof(struct conf, store.redis.tls),
		offsetof(struct conf, store.prefix)))
		swappable_swap(now->tls.credentials, then->tls.credentials);
	/* A URL is not read again. */
	if (now->login != NULL && then->login != NULL &&
	    !now->login_elsewhere && !then->login_elsewhere)
		swappable_swap(now->login, then->login);
}

/* Whoever has said more of an option before is not repeated. */
void
conf_restart_warn(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	for (size_t i = 0; i < n_options; i++) {
		if (keeps_option(running, next, i))
			continue;
		char *pointer = complaints_pointer(NULL, options[i].path);
		bool said = false;
		for (size_t k = 0; k < complaints->count && !said; k++) {
			const char *other = complaints->list[k].pointer;
			said = other != NULL && !strcmp(other, pointer);
		}
		if (said)
			free(pointer);
		else
			complaints_add(complaints, pointer,
			    "a reload does not change this; restart the "
			    "gateway")->warning = true;
	}
}

bool
conf_restart_has_events(
    bool written, const struct conf *next, struct complaints *complaints)
{
	if (next->n_relays == 0 || written)
		return true;
	complaints_add(complaints, mem_text("/relays"),
	    "a reload does not begin to write events, which the first relay "
	    "needs; restart the gateway");
	return false;
}

/* --- where records are --- */

/* Whether keys that the one before was sent are elsewhere for the next. */
static bool
loses_records(const struct conf_route *next, const struct conf_route *before)
{
	const struct option *option =
	    option_of_path(GROUP_IDEMPOTENCY, "entity");
	if (next->idempotency == NULL || before->idempotency == NULL ||
	    (strcmp(next->name, before->name) != 0 &&
		strcmp(next->path, before->path) != 0) ||
	    !conf_shares_method(next, before))
		return false;
	json_t *one = show_option(option, next->idempotency);
	json_t *other = show_option(option, before->idempotency);
	bool same = json_equal(one, other) || one == other;
	json_decref(one);
	json_decref(other);
	return !same;
}

bool
conf_restart_finds(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	size_t before = complaints->count;
	/* Nothing has looked at its routes as those of a cluster. */
	if (next->store.redis.cluster.count == 0)
		complaints_add(complaints, mem_text("/store/cluster"),
		    "a reload does not lead away from a cluster, on which "
		    "routes have rules of their own; restart the gateway");
	for (size_t i = 0; i < next->n_routes; i++) {
		bool loses = false;
		for (size_t k = 0; k < running->n_routes; k++)
			loses |= loses_records(
			    &next->routes[i], &running->routes[k]);
		if (!loses || !INVARIANT(records_found))
			continue;
		complaints_add(complaints,
		    mem_printf("/routes/%zu/idempotency/entity", i),
		    "a reload does not change this on a cluster, where it says "
		    "in which shard records are: keys that were executed would "
		    "be free; restart the gateways when no client sends older "
		    "keys again");
	}
	return complaints->count == before;
}

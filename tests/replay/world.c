/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "conf/load/conf_load.h"
#include "messages/source/sources.h"
#include "replay/choice.h"
#include "replay/fakes.h"
#include "replay/messages.h"

struct world world;

/* --- libsodium's random bytes, the same in each run --- */

static uint64_t drawn;

static uint32_t
on_random(void)
{
	return (uint32_t)mix(17, ++drawn);
}

static void
on_random_bytes(void *const bytes, const size_t size)
{
	unsigned char *out = bytes;
	drawn++;
	for (size_t i = 0; i < size; i++)
		out[i] = (unsigned char)mix(drawn, i);
}

static const char *
on_random_name(void)
{
	return "replay";
}

static struct randombytes_implementation not_random = {
    .implementation_name = on_random_name,
    .random = on_random,
    .buf = on_random_bytes,
};

/* --- the configuration --- */

/* The members of a configuration with a source; the caller frees them. */
static char *
source_text(const char *source)
{
	if (source == NULL)
		return mem_str(SPAN(""));
	return mem_printf("'workers':1,"
	    "'brokers':{'b':{'redis':'redis://127.0.0.1:3'}},"
	    "'sources':{'s':{'broker':'b','stream':'m',"
	    "'request':{'path':'/pay','headers':{'Authorization':'a'}}%s%s}},",
	    *source != '\0' ? "," : "", source);
}

static const struct conf *
make_conf(const struct scenario *scenario, unsigned index, const char *policy,
    const char *source)
{
	struct complaints complaints = {NULL, 0};
	char *messages = source_text(source);
	bool asks = strstr(policy, "witness") != NULL;
	char *text = mem_printf(
	    "{%s%s'listen':['127.0.0.1:1'],'state_dir':'/replay/%u',"
	    "'drain_timeout':'5s','log':{'access':false},"
	    "'store':{'redis':'redis://127.0.0.1:1','shards':1,"
	    "'compression':'none','wait_replicas':%u},'cache':{'size':%s},"
	    "'upstreams':{'u':{'targets':['http://127.0.0.1:2'],"
	    "'timeout':'20s'}},"
	    "'routes':[{'name':'pay','path':'/pay','upstream':'u',"
	    "'idempotency':{%s}}]}",
	    messages,
	    asks ? "'brokers':{'l':{'postgres':'postgresql://u@h/d'}}," : "",
	    index, scenario->replicas,
	    scenario->cached ? "65536" : "0", policy);
	for (char *p = text; *p != '\0'; p++)
		*p = *p == '\'' ? '"' : *p;
	const struct conf *conf =
	    conf_load_text("replay", span_str(text), false, &complaints);
	if (conf == NULL)
		world_failed("%s: %s", complaints.list[0].pointer,
		    complaints.list[0].message);
	complaints_free(&complaints);
	free(messages);
	free(text);
	return conf;
}

/* A scenario's configurations are made once, not for each run. */
static void
make_confs(const struct scenario *scenario)
{
	for (unsigned i = 0; i < GATEWAYS_MAX; i++) {
		conf_unref(&world.confs[i]);
		conf_unref(&world.reloaded[i]);
	}
	for (unsigned i = 0; scenario != NULL && i < scenario->gateways; i++) {
		world.confs[i] = make_conf(
		    scenario, i, scenario->policy, scenario->source);
		world.reloaded[i] = make_conf(scenario, i,
		    scenario->reloaded ? scenario->reloaded
				       : scenario->policy,
		    scenario->resourced ? scenario->resourced
					: scenario->source);
	}
}

/* --- gateways --- */

bool
gateway_lives(const struct gateway *gateway)
{
	return gateway->worker != NULL;
}

void
gateway_start(struct gateway *gateway)
{
	unsigned index = (unsigned)(gateway - world.gateways);
	bool was_killed = gateway->was_killed;
	bool reloaded = gateway->reloaded;
	must(gateway->worker == NULL);
	*gateway = (struct gateway){.index = index,
	    .was_killed = was_killed, .reloaded = reloaded};
	world.starting = gateway;
	world_say("gateway %u starts", index + 1);
	static const struct worker_part_kind *const kinds[] = {
	    &sources_kind, NULL};
	struct journal *journal = fake_journal_new(gateway);
	messages_start(gateway);
	gateway->health = store_health_new();
	gateway->awaited = journal_awaited_new();
	gateway->worker = worker_new(
	    reloaded ? world.reloaded[index] : world.confs[index],
	    &world.budget, NULL, gateway->health, gateway->awaited, 0, NULL, 0,
	    journal, world.scenario->source ? kinds : NULL);
	gateway->loop = gateway->worker->loop;
	fake_loop_fire(gateway->loop);
	fake_loop_work(gateway->loop);
}

static void
gateway_end(struct gateway *gateway)
{
	messages_end(gateway);
	worker_run(gateway->worker);
	CHECK(gateway->worker->requests.count == 0 &&
		gateway->worker->executions.count == 0 &&
		gateway->reader == NULL,
	    "a machine outlives its worker");
	worker_free(&gateway->worker);
	store_health_free(&gateway->health);
	journal_awaited_free(&gateway->awaited);
	gateway->loop = NULL;
	gateway->dead = false;
}

/* Nobody knows how its executions would have ended. */
static void
lose_truths(void)
{
	for (unsigned i = 0; i < KEYS_MAX; i++)
		world.truths[i].lost = true;
}

void
gateway_kill(struct gateway *gateway)
{
	/* What it was writing may be on disk all the same. */
	struct work *work = gateway->worker->journal_replay.writer.work;
	if (work != NULL && choose(2) == 1)
		fake_loop_run_work(work);
	gateway->dead = gateway->was_killed = true;
	gateway->stalled = false;
	lose_truths();
	forwards_orphan(gateway);
	gateway_end(gateway);
}

void
gateway_drain(struct gateway *gateway)
{
	worker_post_drain(gateway->worker);
}

void
gateway_bury(struct gateway *gateway)
{
	if (gateway_lives(gateway) && fake_loop_is_stopped(gateway->loop)) {
		world_say("gateway %u has ended", gateway->index + 1);
		/*
		 * Operations that Redis does not answer in time are given up,
		 * and a claim that is only on disk may count until the next
		 * process gives it back.
		 */
		if (store_unsettled(gateway->worker->store) > 0 ||
		    gateway->worker->executions.count > 0 ||
		    gateway->worker->requests.count > 0 ||
		    fake_journals_revoke())
			lose_truths();
		gateway_end(gateway);
	}
}

static void
on_adopted(void *arg)
{
	(void)arg;
}

void
gateway_reload(struct gateway *gateway)
{
	worker_post_errand(gateway->worker, world.reloaded[gateway->index],
	    gateway->loop, on_adopted, NULL);
}

/* --- memory --- */

void
world_memory(bool is_short)
{
	enum { MEMORY_BYTES = 1 << 20 };
	size_t hoard = is_short ? MEMORY_BYTES : 0;
	world.memory_short = is_short;
	atomic_store(&world.budget.limit, MEMORY_BYTES);
	/* Nothing fits beside that, whatever is given back. */
	atomic_fetch_add(&world.budget.used, hoard - world.hoard);
	world.hoard = hoard;
}

/* --- clients --- */

struct truth *
truth_of(struct span scope, struct span key)
{
	/* Clears all of it: truths are hashed with the bytes after the name. */
	char name[LABEL_BYTES] = "";
	snprintf(name, sizeof name, "%.*s/%.*s", SPAN_FMT(scope),
	    SPAN_FMT(key));
	for (unsigned i = 0; i < KEYS_MAX; i++) {
		struct truth *truth = &world.truths[i];
		if (truth->key[0] == '\0')
			memcpy(truth->key, name, sizeof name);
		if (strcmp(truth->key, name) == 0)
			return truth;
	}
	must(false);
	return NULL;
}

struct client *
client_arrive(struct client *client, const struct caller *caller)
{
	*client = (struct client){
	    .caller = caller,
	    .truth = truth_of(span_str(caller->scope ? caller->scope : "a"),
		span_str(caller->key)),
	    .gateway = &world.gateways[caller->gateway],
	};
	/* While the disk writes, nobody knows yet that it is full. */
	client->unkept = client->gateway->disk_full &&
	    client->gateway->worker->journal_replay.writer.work == NULL;
	fake_random_about(ABOUT_CLIENT, (unsigned)(client - world.clients));
	fake_front_arrive(client);
	fake_random_about(ABOUT_NOTHING, 0);
	return client;
}

/* --- life --- */

void
world_begin(const struct scenario *scenario)
{
	if (world.scenario != scenario) {
		randombytes_set_implementation(&not_random);
		log_level = LOG_ERROR + 1;
		make_confs(scenario);
	}
	struct world old = world;
	world = (struct world){
	    .scenario = scenario,
	    .fault = scenario->fault,
	    .late = scenario->late,
	    .slow = scenario->slow,
	    .close = scenario->close,
	    .ills = scenario->ills,
	    .now_us = 1000000,
	    .loud = old.loud,
	};
	memcpy(world.confs, old.confs, sizeof world.confs);
	memcpy(world.reloaded, old.reloaded, sizeof world.reloaded);
	world_memory(false);
	drawn = 0;
	fake_random_begin();
	lua_begin();
	redis_clear();
	fake_broker_begin();
	if (world.loud)
		log_level = LOG_DEBUG;
	while (world.n_clients < CALLERS_MAX &&
	    scenario->callers[world.n_clients].key != NULL) {
		unsigned i = world.n_clients++;
		world.clients[i].caller = &scenario->callers[i];
	}
	for (unsigned i = 0; i < scenario->gateways; i++)
		gateway_start(&world.gateways[i]);
}

void
world_end(void)
{
	choice_rest(true);
	world_memory(false);
	for (unsigned i = 0; i < GATEWAYS_MAX; i++)
		if (gateway_lives(&world.gateways[i]))
			gateway_kill(&world.gateways[i]);
	must(forwards_count() == 0);
	CHECK(world.budget.used == 0, "%zu bytes of bodies are not given back",
	    (size_t)world.budget.used);
	ghosts_clear();
	fake_journals_clear();
	redis_clear();
	log_flush();
}

void
world_forget(void)
{
	make_confs(NULL);
	world.scenario = NULL;
	lua_end();
}

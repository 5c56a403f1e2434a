/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/hex.h"
#include "base/loop/clock.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_call.h"
#include "messages/broker/kafka/kafka_conf.h"
#include "operators/doctor/look_private.h"
#include "store/record/origin.h"

enum {
	ASK_MS = 5000,
	TRY_MS = 6000, /* for what is asked by trying it */
	POLL_MS = 100,
	WEEK_MINUTES = 7 * 24 * 60,
	MINUTE_MS = 60 * 1000,
	/*
	 * What gateways put together; a topic that takes less refuses all of
	 * that for the sake of one.
	 */
	TOGETHER_BYTES = 16384,
};

#define CLIENT "onceproxy doctor"
/* A name that no topic may have. */
#define NO_TOPIC "."

struct look_kafka {
	const struct look_broker *at;
	const struct conf_source *source; /* NULL: a relay's */
	const char *group;
	rd_kafka_t *client;
	int32_t a_broker; /* one that is there, by its number */
	/* What the client has said of itself, the last time. */
	rd_kafka_resp_err_t trouble;
	char words[KAFKA_WORDS_BYTES];
	/* What the broker does with topics that are not there. */
	bool makes_topics;
	int64_t lag; /* of the group; -1: not known */
};

/* --- the client --- */

static void
on_trouble(rd_kafka_t *client, int error, const char *words, void *opaque)
{
	struct look_kafka *look = opaque;
	(void)client;
	/* Why a login fails says more than that no broker is left. */
	if (look->trouble == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
	    error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		return;
	look->trouble = (rd_kafka_resp_err_t)error;
	snprintf(look->words, sizeof look->words, "%s", words);
}

static void
set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char words[KAFKA_WORDS_BYTES];
	(void)rd_kafka_conf_set(conf, name, value, words, sizeof words);
}

/* NULL: the words say why not. */
static rd_kafka_t *
make_client(
    rd_kafka_type_t type, rd_kafka_conf_t *conf, char words[KAFKA_WORDS_BYTES])
{
	rd_kafka_t *client = rd_kafka_new(type, conf, words, KAFKA_WORDS_BYTES);
	if (client == NULL)
		rd_kafka_conf_destroy(conf);
	return client;
}

/* Of what it has said meanwhile the error; a timeout: it has said nothing. */
static rd_kafka_resp_err_t
hear(struct look_kafka *look, int ms)
{
	rd_kafka_message_t *message = rd_kafka_consumer_poll(look->client, ms);
	if (message == NULL)
		return RD_KAFKA_RESP_ERR__TIMED_OUT;
	rd_kafka_resp_err_t error = message->err;
	rd_kafka_message_destroy(message);
	if (error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		look->trouble = error;
	return error;
}

/*
 * A consumer: what asks for a topic as a producer has brokers make it.  False:
 * none can be asked, which is said.
 */
static bool
dial_brokers(struct look_kafka *look)
{
	const struct rd_kafka_metadata *found = NULL;
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__FAIL;
	rd_kafka_conf_t *conf =
	    kafka_conf_asker(look->at->broker, CLIENT, look->group);
	set(conf, "allow.auto.create.topics", "false");
	set(conf, "enable.partition.eof", "true");
	set(conf, "fetch.wait.max.ms", "20");
	rd_kafka_conf_set_error_cb(conf, on_trouble);
	rd_kafka_conf_set_opaque(conf, look);
	look->client = make_client(RD_KAFKA_CONSUMER, conf, look->words);
	if (look->client != NULL) {
		rd_kafka_poll_set_consumer(look->client);
		error =
		    rd_kafka_metadata(look->client, 0, NULL, &found, ASK_MS);
	}
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
		if (found->broker_cnt > 0)
			look->a_broker = found->brokers[0].id;
		rd_kafka_metadata_destroy(found);
		return true;
	}
	if (look->client != NULL)
		(void)hear(look, POLL_MS);
	look_broker_unseen(look->at,
	    look->trouble == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
		look->trouble == RD_KAFKA_RESP_ERR__SSL,
	    look->words[0] ? look->words : rd_kafka_err2str(error));
	return false;
}

/* --- rights: asked by trying, where a broker judges them first --- */

/* The right to an act, and what kafka-acls.sh is told for it; takes both. */
static void
lacks(struct look_kafka *look, char *right, char *rule)
{
	look_broker_add(look->at,
	    look->source != NULL ? FINDING_source_rights : FINDING_relay_rights,
	    right,
	    mem_printf(
		"kafka-acls.sh --add --allow-principal User:NAME %s", rule));
	free(rule);
}

static void
lacks_topic(struct look_kafka *look, const char *what, const char *name)
{
	lacks(look, mem_printf("%s the topic %s", what, name),
	    mem_printf("--operation Read --operation Write "
		       "--operation Describe --topic %s",
		name));
}

/* By reading from the end of its first partition. */
static bool
is_reading_denied(struct look_kafka *look, const char *topic)
{
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
	int64_t until_us = clock_us() + (int64_t)TRY_MS * 1000;
	rd_kafka_topic_partition_list_t *list =
	    kafka_call_list(topic, 0, RD_KAFKA_OFFSET_END);
	rd_kafka_assign(look->client, list);
	rd_kafka_topic_partition_list_destroy(list);
	/* What a group may not is nothing to us. */
	while (error != RD_KAFKA_RESP_ERR_NO_ERROR &&
	       error != RD_KAFKA_RESP_ERR__PARTITION_EOF &&
	       error != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED &&
	       clock_us() < until_us)
		error = hear(look, POLL_MS);
	rd_kafka_assign(look->client, NULL);
	return error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

static void
on_delivered(
    rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	rd_kafka_resp_err_t *error = opaque;
	(void)client;
	*error = message->err;
}

/*
 * By a request that is carried out never, as there are no such acknowledgements
 * (acks 2).
 */
static bool
is_writing_denied(struct look_kafka *look, const char *topic)
{
	char words[KAFKA_WORDS_BYTES];
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
	rd_kafka_conf_t *conf =
	    kafka_conf_asker(look->at->broker, CLIENT, look->group);
	set(conf, "enable.idempotence", "false");
	set(conf, "request.required.acks", "2");
	set(conf, "retries", "0");
	set(conf, "message.timeout.ms", "5000");
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivered);
	rd_kafka_conf_set_opaque(conf, &error);
	rd_kafka_t *client = make_client(RD_KAFKA_PRODUCER, conf, words);
	if (client == NULL)
		return false;
	if (rd_kafka_producev(client, RD_KAFKA_V_TOPIC(topic),
		RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_flush(client, TRY_MS);
	rd_kafka_purge(client, RD_KAFKA_PURGE_F_QUEUE |
				   RD_KAFKA_PURGE_F_INFLIGHT |
				   RD_KAFKA_PURGE_F_NON_BLOCKING);
	rd_kafka_destroy(client);
	return error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

/*
 * By a timeout of 24 days, which is more than brokers allow
 * (transaction.max.timeout.ms): so who has the id is not fenced, but by one
 * that was set to allow just that.  begins: the names of all gateways.
 */
static void
look_at_id(struct look_kafka *look, const char *id, const char *begins)
{
	char words[KAFKA_WORDS_BYTES];
	rd_kafka_conf_t *conf =
	    kafka_conf_asker(look->at->broker, CLIENT, look->group);
	set(conf, "transactional.id", id);
	set(conf, "transaction.timeout.ms", "2147483647");
	rd_kafka_t *client = make_client(RD_KAFKA_PRODUCER, conf, words);
	if (client == NULL)
		return;
	rd_kafka_error_t *error = rd_kafka_init_transactions(client, TRY_MS);
	rd_kafka_resp_err_t code = rd_kafka_error_code(error);
	if (code == RD_KAFKA_RESP_ERR__FATAL)
		code = rd_kafka_fatal_error(client, words, sizeof words);
	rd_kafka_error_destroy(error);
	rd_kafka_destroy(client);
	if (code == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
		lacks(look, mem_printf("use the transactional id %s", id),
		    mem_printf("--operation Write --operation Describe "
			       "--resource-pattern-type prefixed "
			       "--transactional-id %s",
			begins));
}

/* By committing an offset of a topic that cannot be, once it may be seen. */
static void
try_group(struct look_kafka *look, char *rule)
{
	int64_t until_us = clock_us() + (int64_t)TRY_MS * 1000;
	rd_kafka_resp_err_t error;
	bool waits;
	rd_kafka_topic_partition_list_t *list = kafka_call_list(NO_TOPIC, 0, 0);
	/* A coordinator that may not be asked for is waited for in vain. */
	do {
		error = rd_kafka_committed(look->client, list, POLL_MS * 5);
		(void)hear(look, 0);
		if (look->trouble ==
		    RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
			error = look->trouble;
		waits = error == RD_KAFKA_RESP_ERR__TIMED_OUT ||
			error == RD_KAFKA_RESP_ERR__WAIT_COORD;
	} while (waits && clock_us() < until_us);
	list->elems[0].offset = 0; /* which was asked for */
	if (!waits && error != RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		error = rd_kafka_commit(look->client, list, 0);
	rd_kafka_topic_partition_list_destroy(list);
	if (error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		lacks(look, mem_printf("read as the group %s", look->group),
		    rule);
	else
		free(rule);
}

/* --- settings of brokers and topics --- */

/* For free(); NULL: a broker does not tell it. */
static char *
setting_of(struct look_kafka *look, rd_kafka_ResourceType_t type,
    const char *name, const char *setting)
{
	char words[KAFKA_WORDS_BYTES];
	return kafka_call_setting(
	    look->client, type, name, setting, ASK_MS, words, sizeof words);
}

/* -1: it is not told. */
static int64_t
number_of(struct look_kafka *look, rd_kafka_ResourceType_t type,
    const char *name, const char *setting)
{
	int64_t number;
	char *text = setting_of(look, type, name, setting);
	if (text == NULL || !digits_read(span_str(text), INT32_MAX, &number))
		number = -1;
	free(text);
	return number;
}

static void
look_at_broker(struct look_kafka *look)
{
	int64_t need = look->source->max_age_ms > 0
			   ? look->source->max_age_ms / MINUTE_MS
			   : WEEK_MINUTES;
	char name[16];
	snprintf(name, sizeof name, "%" PRId32, look->a_broker);
	int64_t minutes = number_of(
	    look, RD_KAFKA_RESOURCE_BROKER, name, "offsets.retention.minutes");
	if (minutes >= 0 && minutes < need)
		look_broker_add(look->at, FINDING_source_offsets,
		    mem_printf("offsets.retention.minutes is %" PRId64
			       ", and should be at least %" PRId64,
			minutes, need),
		    NULL);
	char *makes = setting_of(
	    look, RD_KAFKA_RESOURCE_BROKER, name, "auto.create.topics.enable");
	look->makes_topics = makes == NULL || strcmp(makes, "false") != 0;
	free(makes);
}

/* --- topics --- */

/* How many partitions, and how often each is there; 0: there is none. */
static rd_kafka_resp_err_t
describe_topic(struct look_kafka *look, const char *name, int *ret_parts,
    int *ret_replicas)
{
	const struct rd_kafka_metadata *found;
	*ret_parts = *ret_replicas = 0;
	rd_kafka_resp_err_t error =
	    kafka_call_topic(look->client, name, ASK_MS, &found);
	if (found == NULL)
		return error;
	const struct rd_kafka_metadata_topic *at = found->topics;
	*ret_parts = at->partition_cnt;
	for (int i = 0; i < at->partition_cnt; i++)
		if (i == 0 || at->partitions[i].replica_cnt < *ret_replicas)
			*ret_replicas = at->partitions[i].replica_cnt;
	rd_kafka_metadata_destroy(found);
	return error;
}

/*
 * A topic that results or dead letters are put to; those are read, too.  The
 * longest message that it takes; -1: that is not told.
 */
static int64_t
look_at_put_topic(struct look_kafka *look, const char *name, bool reads)
{
	int parts, replicas;
	rd_kafka_resp_err_t error =
	    describe_topic(look, name, &parts, &replicas);
	bool denied = error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
	if (denied)
		lacks_topic(look, "write to", name);
	else if (parts == 0 && !look->makes_topics)
		look_broker_add(
		    look->at, FINDING_source_places, mem_text(name), NULL);
	if (denied || parts == 0)
		return -1;
	if (is_writing_denied(look, name))
		lacks_topic(look, "write to", name);
	if (reads && is_reading_denied(look, name))
		lacks_topic(look, "read", name);
	if (replicas < 2)
		look_broker_add(look->at, FINDING_source_copies,
		    mem_printf("%s has one replica", name), NULL);
	else if (number_of(look, RD_KAFKA_RESOURCE_TOPIC, name,
		     "min.insync.replicas") == 1)
		look_broker_add(look->at, FINDING_source_copies,
		    mem_printf("%s has min.insync.replicas 1", name), NULL);
	int64_t takes = number_of(
	    look, RD_KAFKA_RESOURCE_TOPIC, name, "max.message.bytes");
	if (takes >= 0 && takes < TOGETHER_BYTES)
		look_broker_add(look->at, FINDING_source_sizes,
		    mem_printf("max.message.bytes of %s is %" PRId64
			       ", and should be at least %d",
			name, takes, TOGETHER_BYTES),
		    NULL);
	return takes;
}

/* The longest answer that any route keeps has to fit. */
static void
look_at_results(struct look_kafka *look, const char *name)
{
	const struct conf *conf = look->at->doctor->conf;
	int64_t longest = 0, takes = look_at_put_topic(look, name, false);
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->max_response_body > longest)
			longest = policy->max_response_body;
	}
	if (takes > 0 && takes < longest)
		look_broker_add(look->at, FINDING_source_sizes,
		    mem_printf("max.message.bytes of %s is %" PRId64
			       ", and max_response_body %" PRId64,
			name, takes, longest),
		    NULL);
}

/* Where dead letters go; they are a message with fields more. */
static void
look_at_dead_letters(struct look_kafka *look)
{
	const struct conf_source *source = look->source;
	struct arena *arena = arena_new();
	int64_t takes = -1;
	for (size_t i = 0; i < source->topics.count; i++) {
		const char *topic = source->topics.list[i];
		const char *dead =
		    kafka_conf_dead(source, span_str(topic), arena);
		/* One for all topics, or each has its own. */
		if (i == 0 || source->dead_letters == NULL)
			takes = look_at_put_topic(look, dead, true);
		int64_t has = number_of(look, RD_KAFKA_RESOURCE_TOPIC, topic,
		    "max.message.bytes");
		if (has > 0 && takes > 0 && takes < has)
			look_broker_add(look->at, FINDING_source_sizes,
			    mem_printf("max.message.bytes of %s is %" PRId64
				       ", and that of %s %" PRId64,
				dead, takes, topic, has),
			    NULL);
	}
	arena_free(&arena);
}

/* --- how far the group is --- */

/* Of a partition without a commit it is behind by all that there is. */
static void
count_behind(struct look_kafka *look, rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_topic_partition_list_t *first, *next;
	first = rd_kafka_topic_partition_list_copy(list);
	next = rd_kafka_topic_partition_list_copy(list);
	(void)kafka_call_side(
	    look->client, first, RD_KAFKA_OFFSET_BEGINNING, ASK_MS);
	(void)kafka_call_side(look->client, next, RD_KAFKA_OFFSET_END, ASK_MS);
	for (int i = 0; i < list->cnt; i++) {
		int64_t at = list->elems[i].offset;
		int64_t begin = first->elems[i].offset;
		int64_t end = next->elems[i].offset;
		if (begin < 0 || end < 0)
			continue;
		if (at < begin)
			at = at < 0 && look->source->start_latest ? end : begin;
		if (look->lag < 0)
			look->lag = 0;
		if (at < end)
			look->lag += end - at;
	}
	rd_kafka_topic_partition_list_destroy(first);
	rd_kafka_topic_partition_list_destroy(next);
}

static void
look_at_topics(struct look_kafka *look)
{
	const struct strings *topics = &look->source->topics;
	for (size_t i = 0; i < topics->count; i++) {
		const char *name = topics->list[i];
		int parts, replicas;
		rd_kafka_resp_err_t error =
		    describe_topic(look, name, &parts, &replicas);
		if (error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
			lacks_topic(look, "read", name);
			continue;
		}
		if (parts == 0) {
			look_broker_add(look->at, FINDING_source_missing,
			    mem_printf("there is no topic %s", name), NULL);
			continue;
		}
		rd_kafka_topic_partition_list_t *list =
		    rd_kafka_topic_partition_list_new(parts);
		rd_kafka_topic_partition_list_add_range(
		    list, name, 0, parts - 1);
		error = rd_kafka_committed(look->client, list, ASK_MS);
		(void)hear(look, 0);
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
			count_behind(look, list);
		rd_kafka_topic_partition_list_destroy(list);
		if (is_reading_denied(look, name))
			lacks_topic(look, "read", name);
	}
}

/*
 * Who is in the group: all gateways share by one protocol, and name themselves
 * alike, unless the file says how.  True: nobody is.
 */
static bool
look_at_group(struct look_kafka *look)
{
	const struct rd_kafka_group_list *groups;
	const struct conf_settings *settings = &look->at->broker->settings;
	const char *begins = "onceproxy-";
	char *others = NULL;
	if (rd_kafka_list_groups(look->client, look->group, &groups, ASK_MS) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	for (size_t i = 0; i < settings->count; i++)
		if (!strcmp(settings->list[i].name, "client.id"))
			begins = settings->list[i].value;
	const struct rd_kafka_group_info *group = groups->groups;
	int count = groups->group_cnt > 0 ? group->member_cnt : 0;
	if (count > 0 && group->protocol[0] != '\0' &&
	    strcmp(group->protocol, KAFKA_CONF_PROTOCOL) != 0)
		others = mem_printf("%s, by %s", look->group, group->protocol);
	for (int i = 0; i < count && others == NULL; i++)
		if (strncmp(group->members[i].client_id, begins,
			strlen(begins)) != 0)
			others = mem_printf("%s, \"%s\" of %s", look->group,
			    group->members[i].client_id,
			    group->members[i].client_host);
	if (others != NULL)
		look_broker_add(look->at, FINDING_source_others, others, NULL);
	rd_kafka_group_list_destroy(groups);
	return count == 0;
}

/* --- a source --- */

static void
look_at_source(struct look_kafka *look)
{
	char *id =
	    kafka_conf_id(look->source, look->at->doctor->conf->instance);
	char *begins = mem_printf("onceproxy-%s-", look->source->name);
	look_at_broker(look);
	look_at_topics(look);
	if (look->source->results != NULL)
		look_at_results(look, look->source->results);
	look_at_dead_letters(look);
	if (look_at_group(look) && look->lag > 0)
		look_broker_add(look->at, FINDING_source_waits,
		    mem_printf("%" PRId64 ", and nobody is in the group %s",
			look->lag, look->group),
		    NULL);
	else
		look_broker_waits(look->at, look->lag, 0);
	try_group(
	    look, mem_printf("--operation Read --operation Describe --group %s",
		      look->group));
	look_at_id(look, id, begins);
	free(begins);
	free(id);
}

/* --- a relay --- */

/* To read, too: a place is committed with what is written. */
static void
look_at_ledger(struct look_kafka *look)
{
	const struct conf_relay *relay = look->at->relay;
	char *begins = kafka_conf_relay_id(relay->name, SPAN(""));
	int parts, replicas;
	rd_kafka_resp_err_t error =
	    describe_topic(look, relay->topic, &parts, &replicas);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR &&
	    error != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
		look_broker_add(look->at, FINDING_relay_topic,
		    mem_printf("%s: %s", relay->topic, rd_kafka_err2str(error)),
		    NULL);
	else if (is_writing_denied(look, relay->topic))
		lacks_topic(look, "write to", relay->topic);
	look_at_id(look, look->group, begins);
	try_group(look,
	    mem_printf("--operation Read --resource-pattern-type prefixed "
		       "--group %s",
		begins));
	free(begins);
}

/* --- all of it --- */

void
look_kafka(const struct look_broker *at)
{
	uint8_t id[DIGEST_BYTES];
	char *relay = NULL, store[DIGEST_HEX + 1] = "";
	const char *store_id = at->doctor->store_id;
	/* Of a store without an id, there is only how a relay's name begins. */
	if (at->relay != NULL && store_id != NULL) {
		origin_id(at->doctor->conf, span_str(store_id), id);
		hex_encode(id, sizeof id, store);
	}
	if (at->relay != NULL)
		relay = kafka_conf_relay_id(at->relay->name, span_str(store));
	struct look_kafka look = {.at = at,
	    .source = at->source,
	    .group = relay != NULL ? relay : at->source->group,
	    .lag = -1};
	bool in = dial_brokers(&look);
	if (in && relay != NULL)
		look_at_ledger(&look);
	else if (in)
		look_at_source(&look);
	if (look.client != NULL) {
		rd_kafka_assign(look.client, NULL);
		rd_kafka_destroy_flags(
		    look.client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	}
	free(relay);
}

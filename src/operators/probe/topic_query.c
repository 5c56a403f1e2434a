/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_call.h"
#include "operators/probe/topic_client.h"
#include "operators/probe/topic_query.h"
#include "operators/probe/topic_read.h"
#include "operators/probe/topic_write.h"

enum {
	ASK_MS = 5000,
	MESSAGE_MS = 3000,
	POLL_MS = 100,
	WEEK_MINUTES = 7 * 24 * 60,
	MINUTE_MS = 60 * 1000,
};

struct topic_look {
	const struct conf_source *source;
	struct source_seen *seen;
	rd_kafka_t *client;
	int32_t broker; /* one that is there, by its number */
	int n_brokers;
	/* What the client has said of itself, the last time. */
	rd_kafka_resp_err_t trouble;
	char words[200];
	/* What the broker does with topics that are not there. */
	bool makes_topics;
	rd_kafka_topic_partition_list_t *behind; /* where messages wait */
};

/* --- words --- */

/* One more, behind a comma; takes text over. */
static void
add_words(char **list, char *text)
{
	if (*list != NULL) {
		char *both = mem_printf("%s, %s", *list, text);
		free(*list);
		free(text);
		text = both;
	}
	*list = text;
}

static bool
forbids(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
	    error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
	    error == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
}

/* acts: what Kafka has of that kind; it refuses the rest, and all with it. */
static void
lacks(struct topic_look *look, const char *what, const char *name,
    const char *acts, const char *kind)
{
	add_words(&look->seen->rights, mem_printf("%s %s", what, name));
	if (look->seen->grant == NULL)
		look->seen->grant = mem_printf(
		    "kafka-acls.sh --add --allow-principal User:NAME "
		    "%s --operation Describe --%s %s",
		    acts, kind, name);
}

static void
may_not(struct topic_look *look, const char *what, const char *name)
{
	lacks(look, what, name, "--operation Read --operation Write", "topic");
}

/* --- the client --- */

static void
on_trouble(rd_kafka_t *client, int error, const char *words, void *opaque)
{
	struct topic_look *look = opaque;
	(void)client;
	/* Why a login fails says more than that no broker is left. */
	if (look->trouble == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
	    error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		return;
	look->trouble = (rd_kafka_resp_err_t)error;
	snprintf(look->words, sizeof look->words, "%s", words);
}

static bool
open_client(struct topic_look *look)
{
	rd_kafka_conf_t *conf = topic_client_conf(look->source->broker);
	topic_client_set(conf, "group.id", look->source->group);
	topic_client_set(conf, "enable.auto.commit", "false");
	topic_client_set(conf, "isolation.level", "read_committed");
	rd_kafka_conf_set_error_cb(conf, on_trouble);
	rd_kafka_conf_set_opaque(conf, look);
	look->client = topic_client_new(
	    RD_KAFKA_CONSUMER, conf, look->words, sizeof look->words);
	return look->client != NULL;
}

static void
close_client(struct topic_look *look)
{
	if (look->behind != NULL)
		rd_kafka_topic_partition_list_destroy(look->behind);
	if (look->client == NULL)
		return;
	rd_kafka_assign(look->client, NULL);
	rd_kafka_destroy_flags(
	    look->client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

/* What it has said meanwhile. */
static void
hear(struct topic_look *look, int ms)
{
	rd_kafka_message_t *message =
	    rd_kafka_consumer_poll(look->client, ms);
	if (message == NULL)
		return;
	if (message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		look->trouble = message->err;
	rd_kafka_message_destroy(message);
}

static bool
dial_brokers(struct topic_look *look)
{
	const struct rd_kafka_metadata *found = NULL;
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__FAIL;
	if (open_client(look))
		error = rd_kafka_metadata(
		    look->client, 0, NULL, &found, ASK_MS);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
		look->n_brokers = found->broker_cnt;
		if (found->broker_cnt > 0)
			look->broker = found->brokers[0].id;
		rd_kafka_metadata_destroy(found);
		return true;
	}
	if (look->client != NULL)
		hear(look, POLL_MS);
	look->seen->how =
	    look->trouble == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
		look->trouble == RD_KAFKA_RESP_ERR__SSL
	    ? BROKER_REFUSED
	    : BROKER_SILENT;
	look->seen->message = mem_text(look->words[0] != '\0'
		? look->words
		: rd_kafka_err2str(error));
	return false;
}

/* --- settings of brokers and topics --- */

/* The value of that setting; NULL: it is not told.  For free(). */
static char *
value_in(const rd_kafka_ConfigResource_t *resource, const char *name)
{
	size_t count;
	const rd_kafka_ConfigEntry_t **entries =
	    rd_kafka_ConfigResource_configs(resource, &count);
	for (size_t i = 0; i < count; i++) {
		const char *value = rd_kafka_ConfigEntry_value(entries[i]);
		if (value != NULL &&
		    !strcmp(rd_kafka_ConfigEntry_name(entries[i]), name))
			return mem_text(value);
	}
	return NULL;
}

static rd_kafka_event_t *
ask_settings(
    struct topic_look *look, rd_kafka_ResourceType_t type, const char *name)
{
	char words[200];
	rd_kafka_queue_t *queue = rd_kafka_queue_new(look->client);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
	    look->client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	rd_kafka_ConfigResource_t *resource =
	    rd_kafka_ConfigResource_new(type, name);
	rd_kafka_AdminOptions_set_request_timeout(
	    options, ASK_MS, words, sizeof words);
	rd_kafka_DescribeConfigs(look->client, &resource, 1, options, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 2 * ASK_MS);
	rd_kafka_ConfigResource_destroy(resource);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
	return event;
}

/* The same, of a setting; a broker may not tell it. */
static char *
setting_of(struct topic_look *look, rd_kafka_ResourceType_t type,
    const char *name, const char *setting)
{
	rd_kafka_event_t *event = ask_settings(look, type, name);
	const rd_kafka_DescribeConfigs_result_t *result = event != NULL
	    ? rd_kafka_event_DescribeConfigs_result(event)
	    : NULL;
	size_t count = 0;
	char *value = NULL;
	const rd_kafka_ConfigResource_t **resources = result != NULL
	    ? rd_kafka_DescribeConfigs_result_resources(result, &count)
	    : NULL;
	if (count > 0 &&
	    rd_kafka_ConfigResource_error(resources[0]) ==
		RD_KAFKA_RESP_ERR_NO_ERROR)
		value = value_in(resources[0], setting);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	return value;
}

static int64_t
setting_number(struct topic_look *look, rd_kafka_ResourceType_t type,
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
look_at_broker(struct topic_look *look)
{
	int64_t need = look->source->max_age_ms > 0
	    ? look->source->max_age_ms / MINUTE_MS
	    : WEEK_MINUTES;
	char name[16];
	snprintf(name, sizeof name, "%" PRId32, look->broker);
	int64_t minutes = setting_number(look, RD_KAFKA_RESOURCE_BROKER, name,
	    "offsets.retention.minutes");
	if (minutes >= 0 && minutes < need)
		look->seen->offsets = mem_printf(
		    "offsets.retention.minutes is %" PRId64
		    ", and should be at least %" PRId64,
		    minutes, need);
	char *makes = setting_of(look, RD_KAFKA_RESOURCE_BROKER, name,
	    "auto.create.topics.enable");
	look->makes_topics = makes == NULL || strcmp(makes, "false") != 0;
	free(makes);
}

/* --- topics --- */

/* How many partitions, and how often each is there; 0: there is none. */
static rd_kafka_resp_err_t
describe_topic(struct topic_look *look, const char *name, int *ret_parts,
    int *ret_replicas)
{
	const struct rd_kafka_metadata *found;
	rd_kafka_topic_t *topic = rd_kafka_topic_new(look->client, name, NULL);
	*ret_parts = *ret_replicas = 0;
	if (topic == NULL)
		return rd_kafka_last_error();
	rd_kafka_resp_err_t error =
	    rd_kafka_metadata(look->client, 0, topic, &found, ASK_MS);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
		const struct rd_kafka_metadata_topic *at = found->topics;
		if (found->topic_cnt > 0)
			error = at->err;
		for (int i = 0; found->topic_cnt > 0 && i < at->partition_cnt;
		     i++)
			if (i == 0 ||
			    at->partitions[i].replica_cnt < *ret_replicas)
				*ret_replicas = at->partitions[i].replica_cnt;
		if (found->topic_cnt > 0)
			*ret_parts = at->partition_cnt;
		rd_kafka_metadata_destroy(found);
	}
	rd_kafka_topic_destroy(topic);
	return error;
}

/* A topic that results or dead letters are put to; those are read, too. */
static void
look_at_put_topic(struct topic_look *look, const char *name, bool reads)
{
	int parts, replicas;
	struct source_seen *seen = look->seen;
	rd_kafka_resp_err_t error =
	    describe_topic(look, name, &parts, &replicas);
	if (forbids(error)) {
		may_not(look, "write to the topic", name);
		return;
	}
	if (parts == 0) {
		if (!look->makes_topics)
			add_words(&seen->no_place, mem_text(name));
		return;
	}
	if (topic_write_forbidden(look->source->broker, name))
		may_not(look, "write to the topic", name);
	if (reads && topic_read_forbidden(look->source->broker, name))
		may_not(look, "read the topic", name);
	if (replicas < 2)
		add_words(&seen->few_copies,
		    mem_printf("%s has one replica", name));
	else if (setting_number(look, RD_KAFKA_RESOURCE_TOPIC, name,
		     "min.insync.replicas") == 1)
		add_words(&seen->few_copies,
		    mem_printf("%s has min.insync.replicas 1", name));
}

static int64_t
most_bytes(struct topic_look *look, const char *name)
{
	return setting_number(
	    look, RD_KAFKA_RESOURCE_TOPIC, name, "max.message.bytes");
}

/* A dead letter is its message, with some fields more. */
static void
compare_sizes(struct topic_look *look, const char *topic, const char *dead)
{
	int64_t has = most_bytes(look, topic), takes = most_bytes(look, dead);
	if (has > 0 && takes > 0 && takes < has)
		add_words(&look->seen->too_small,
		    mem_printf("max.message.bytes of %s is %" PRId64
			       ", and that of %s %" PRId64,
			dead, takes, topic, has));
}

static void
look_at_places(struct topic_look *look)
{
	const struct conf_source *source = look->source;
	if (source->results != NULL) {
		look_at_put_topic(look, source->results, false);
		look->seen->results_bytes = most_bytes(look, source->results);
	}
	if (source->dead_letters != NULL)
		look_at_put_topic(look, source->dead_letters, true);
	for (size_t i = 0; i < source->topics.count; i++) {
		const char *topic = source->topics.list[i];
		char *name = source->dead_letters != NULL
		    ? mem_text(source->dead_letters)
		    : mem_printf("%s.dead", topic);
		if (source->dead_letters == NULL)
			look_at_put_topic(look, name, true);
		compare_sizes(look, topic, name);
		free(name);
	}
}

/* --- how far the group is --- */

/* Of a partition without a commit it is behind by all that there is. */
static void
count_behind(struct topic_look *look, rd_kafka_topic_partition_t *at)
{
	rd_kafka_topic_partition_list_t *one =
	    kafka_call_list(at->topic, at->partition, -1);
	const rd_kafka_topic_partition_t *log = &one->elems[0];
	kafka_call_side(look->client, one, RD_KAFKA_OFFSET_BEGINNING, ASK_MS);
	int64_t first = log->offset;
	if (first >= 0)
		kafka_call_side(look->client, one, RD_KAFKA_OFFSET_END, ASK_MS);
	int64_t next = log->offset;
	rd_kafka_topic_partition_list_destroy(one);
	if (first < 0 || next < 0)
		return;
	if (at->offset < first)
		at->offset = at->offset < 0 && look->source->start_latest
		    ? next
		    : first;
	if (look->seen->lag < 0)
		look->seen->lag = 0;
	if (at->offset >= next)
		return;
	look->seen->lag += next - at->offset;
	rd_kafka_topic_partition_list_add(
	    look->behind, at->topic, at->partition)
	    ->offset = at->offset;
}

static void
look_at_partitions(struct topic_look *look, const char *name, int parts)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(parts);
	rd_kafka_topic_partition_list_add_range(list, name, 0, parts - 1);
	rd_kafka_resp_err_t error =
	    rd_kafka_committed(look->client, list, ASK_MS);
	hear(look, 0);
	/* A coordinator that may not be asked for is waited for in vain. */
	if (forbids(error) ||
	    look->trouble == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		lacks(look, "read as the group", look->source->group,
		    "--operation Read", "group");
	for (int i = 0; i < list->cnt && error == RD_KAFKA_RESP_ERR_NO_ERROR;
	     i++)
		count_behind(look, &list->elems[i]);
	rd_kafka_topic_partition_list_destroy(list);
}

static void
look_at_topics(struct topic_look *look)
{
	const struct strings *topics = &look->source->topics;
	for (size_t i = 0; i < topics->count; i++) {
		const char *name = topics->list[i];
		int parts, replicas;
		rd_kafka_resp_err_t error =
		    describe_topic(look, name, &parts, &replicas);
		if (forbids(error))
			may_not(look, "read the topic", name);
		else if (parts == 0)
			add_words(&look->seen->missing,
			    mem_printf("there is no topic %s", name));
		else
			look_at_partitions(look, name, parts);
		if (parts > 0 &&
		    topic_read_forbidden(look->source->broker, name))
			may_not(look, "read the topic", name);
	}
}

/* Whether anybody reads as the group; not known: somebody does. */
static bool
group_is_empty(struct topic_look *look)
{
	const struct rd_kafka_group_list *groups;
	bool empty = false;
	if (rd_kafka_list_groups(look->client, look->source->group, &groups,
		ASK_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	empty = groups->group_cnt == 0 ||
	    groups->groups[0].member_cnt == 0;
	rd_kafka_group_list_destroy(groups);
	return empty;
}

/* For how long the oldest of those waits that nobody has taken. */
static void
look_at_oldest(struct topic_look *look)
{
	int64_t now_ms = clock_wall_ms(), until_ms = now_ms + MESSAGE_MS;
	int left = look->behind->cnt;
	if (left == 0 || !group_is_empty(look) ||
	    rd_kafka_assign(look->client, look->behind) !=
		RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	while (left > 0 && clock_wall_ms() < until_ms) {
		rd_kafka_timestamp_type_t type;
		rd_kafka_message_t *message =
		    rd_kafka_consumer_poll(look->client, POLL_MS);
		if (message == NULL)
			continue;
		int64_t made_ms = rd_kafka_message_timestamp(message, &type);
		rd_kafka_topic_partition_t *at = message->err ==
			RD_KAFKA_RESP_ERR_NO_ERROR
		    ? rd_kafka_topic_partition_list_find(look->behind,
			  rd_kafka_topic_name(message->rkt),
			  message->partition)
		    : NULL;
		if (at != NULL && at->offset >= 0) {
			at->offset = -1;
			left--;
			if (type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE &&
			    now_ms - made_ms > look->seen->waits_ms)
				look->seen->waits_ms = now_ms - made_ms;
		}
		rd_kafka_message_destroy(message);
	}
}

void
topic_query(const struct conf_source *source, struct source_seen *seen)
{
	struct topic_look look = {.source = source, .seen = seen};
	if (dial_brokers(&look)) {
		look.behind = rd_kafka_topic_partition_list_new(16);
		look_at_broker(&look);
		look_at_topics(&look);
		look_at_places(&look);
		look_at_oldest(&look);
	}
	close_client(&look);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/mem.h"
#include "messages/broker/kafka/kafka_call.h"

rd_kafka_topic_partition_list_t *
kafka_call_list(const char *topic, int32_t number, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, topic, number)->offset = offset;
	return list;
}

rd_kafka_resp_err_t
kafka_call_topic(rd_kafka_t *client, const char *name, int timeout_ms,
    const struct rd_kafka_metadata **ret_found)
{
	const struct rd_kafka_metadata *found;
	*ret_found = NULL;
	rd_kafka_topic_t *handle = rd_kafka_topic_new(client, name, NULL);
	if (handle == NULL)
		return rd_kafka_last_error();
	rd_kafka_resp_err_t error =
	    rd_kafka_metadata(client, 0, handle, &found, timeout_ms);
	rd_kafka_topic_destroy(handle);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return error;
	const struct rd_kafka_metadata_topic *topic = found->topics;
	if (found->topic_cnt != 1 || topic->partition_cnt == 0)
		error = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	if (found->topic_cnt == 1 && topic->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		error = topic->err;
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		*ret_found = found;
	else
		rd_kafka_metadata_destroy(found);
	return error;
}

/* rd_kafka_query_watermark_offsets() of 2.0.2 may wait for ever. */
rd_kafka_resp_err_t
kafka_call_side(rd_kafka_t *client, rd_kafka_topic_partition_list_t *list,
    int64_t side, int timeout_ms)
{
	for (int i = 0; i < list->cnt; i++)
		list->elems[i].offset = side;
	rd_kafka_resp_err_t error =
	    rd_kafka_offsets_for_times(client, list, timeout_ms);
	bool good = error == RD_KAFKA_RESP_ERR_NO_ERROR;
	for (int i = 0; i < list->cnt; i++) {
		rd_kafka_topic_partition_t *at = &list->elems[i];
		/* What nobody has answered is what was asked for. */
		if (good && at->err == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    at->offset < 0)
			at->err = RD_KAFKA_RESP_ERR__TIMED_OUT;
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
			error = at->err;
		if (!good || at->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			at->offset = -1;
	}
	return error;
}

char *
kafka_call_setting(rd_kafka_t *client, rd_kafka_ResourceType_t type,
    const char *name, const char *setting, int timeout_ms, char *ret_words,
    size_t size)
{
	size_t n_found = 0, n_entries = 0;
	char *value = NULL;
	rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
	    client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	rd_kafka_ConfigResource_t *resource =
	    rd_kafka_ConfigResource_new(type, name);
	rd_kafka_AdminOptions_set_request_timeout(
	    options, timeout_ms, ret_words, size);
	rd_kafka_DescribeConfigs(client, &resource, 1, options, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 2 * timeout_ms);
	const rd_kafka_DescribeConfigs_result_t *result =
	    event != NULL ? rd_kafka_event_DescribeConfigs_result(event) : NULL;
	const rd_kafka_ConfigResource_t **found = result != NULL
	    ? rd_kafka_DescribeConfigs_result_resources(result, &n_found)
	    : NULL;
	const rd_kafka_ConfigEntry_t **entries = NULL;
	const char *why =
	    event != NULL ? rd_kafka_event_error_string(event) : "no answer";
	if (found != NULL && n_found > 0) {
		why = rd_kafka_err2str(rd_kafka_ConfigResource_error(found[0]));
		entries = rd_kafka_ConfigResource_configs(found[0], &n_entries);
	}
	snprintf(ret_words, size, "%s", why);
	for (size_t i = 0; i < n_entries && value == NULL; i++) {
		const char *text = rd_kafka_ConfigEntry_value(entries[i]);
		if (text != NULL &&
		    !strcmp(rd_kafka_ConfigEntry_name(entries[i]), setting))
			value = mem_text(text);
	}
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_ConfigResource_destroy(resource);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
	return value;
}

void
kafka_call_words(const char *words, char *ret_words, size_t size)
{
	const char *end = strstr(words, " (after ");
	snprintf(ret_words, size, "%.*s",
	    (int)(end != NULL ? end - words : (ptrdiff_t)strlen(words)), words);
}

bool
kafka_call_refused(rd_kafka_resp_err_t error,
    const struct kafka_call_names *names, char *ret_words, size_t size)
{
	const char *topic = names->topic != NULL ? names->topic : "";
	const char *group = names->group != NULL ? names->group : "";
	const char *id = names->id != NULL ? names->id : "";
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		snprintf(ret_words, size, "there is no topic \"%s\": make it",
		    topic);
		return true;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		snprintf(ret_words, size, "no right to %s the topic \"%s\": %s",
		    names->writes ? "write to" : "read", topic,
		    names->writes ? "Write" : "Read");
		return true;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		snprintf(ret_words, size,
		    "no right to read as the group \"%s\": Read", group);
		return true;
	case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
		snprintf(ret_words, size,
		    "no right to use the transactional id \"%s\": Write", id);
		return true;
	default:
		snprintf(ret_words, size, "%s%s%s", topic,
		    topic[0] != '\0' ? ": " : "", rd_kafka_err2str(error));
		return false;
	}
}

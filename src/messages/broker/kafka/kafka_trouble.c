/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "messages/broker/kafka/kafka_call.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * The health of a reader: whether brokers answer, and if none does, why; what
 * they refuse while they answer, each until they take it.
 */

/* --- up and down --- */

void
kafka_trouble_is_up(struct kafka *kafka)
{
	if (kafka->core.reachable || kafka->core.leaving)
		return;
	/* It may have lost the end of a log, and have written on since. */
	kafka->anew |= kafka->assigned;
	kafka->broke[0] = '\0';
	reader_trouble_back(&kafka->core);
}

/* What is in a transaction goes on. */
void
kafka_trouble_is_down(struct kafka *kafka, const char *why)
{
	if (why == NULL)
		why = kafka->broke[0] != '\0' ? kafka->broke
					      : "no broker answers";
	reader_finish_unreachable(&kafka->core);
	reader_trouble_away(&kafka->core, why, false);
}

void
kafka_trouble_remake(struct kafka *kafka, const char *why)
{
	kafka_trouble_is_down(kafka, why);
	kafka->remake = true;
	reader_kick(&kafka->core);
}

void
kafka_trouble_unreadable(struct kafka *kafka, const char *topic)
{
	char words[KAFKA_WORDS_BYTES];
	const struct kafka_call_names names = {.topic = topic};
	(void)kafka_call_refused(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
	    &names, words, sizeof words);
	reader_trouble_begin(
	    &kafka->core, KAFKA_OF_READ, topic, span_str(words));
}

/* --- the health --- */

void
kafka_trouble_health(
    const struct broker_reader *core, struct broker_health *ret_health)
{
	const struct kafka *kafka = (const struct kafka *)core;
	const struct strings *topics = &core->source->topics;
	unsigned topics_standing = 0, unproven = 0, odd = 0, count = 0;
	const struct kafka_part *part;
	for (size_t i = 0; i < topics->count; i++)
		topics_standing +=
		    reader_trouble_is(core, KAFKA_OF_TOPIC, topics->list[i]) ||
		    reader_trouble_is(core, KAFKA_OF_READ, topics->list[i]);
	LIST_EACH (part, &kafka->parts, link) {
		count++;
		unproven += part->step == KAFKA_UNPROVEN;
		odd += reader_trouble_is(core, KAFKA_OF_PART, part->name);
	}
	ret_health->up = kafka->core.reachable;
	ret_health->unproven = count > 0 && unproven == count;
	ret_health->stands = ret_health->unproven ||
	    topics_standing == topics->count ||
	    reader_trouble_is(core, KAFKA_OF_GROUP, NULL);
	ret_health->parts_standing = topics_standing + unproven + odd;
	ret_health->lag = kafka->core.reachable ? kafka->lag : -1;
	ret_health->rebalances = kafka->rebalances;
}

/* --- its group --- */

bool
kafka_trouble_of_group(struct kafka *kafka, rd_kafka_resp_err_t error)
{
	const char *group = kafka->core.source->group;
	const struct kafka_call_names names = {.group = group};
	char words[KAFKA_WORDS_BYTES];
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		kafka_trouble_is_up(kafka);
		return true;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		kafka_trouble_is_up(kafka);
		kafka->look_ms = 0;
		return true;
	case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
		snprintf(words, sizeof words,
		    "no member of the group \"%s\": others share its "
		    "partitions by another protocol than "
		    "\"" KAFKA_CONF_PROTOCOL
		    "\"; end them, or set another group",
		    group);
		break;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED:
	case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
		(void)kafka_call_refused(error, &names, words, sizeof words);
		break;
	default:
		return false;
	}
	kafka_trouble_is_up(kafka);
	reader_trouble_begin(&kafka->core, KAFKA_OF_GROUP, "", span_str(words));
	return true;
}

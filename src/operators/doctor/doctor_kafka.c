/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/hex.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_name.h"
#include "operators/doctor/doctor_kafka_private.h"
#include "operators/probe/topic_group.h"
#include "operators/probe/topic_right.h"
#include "operators/probe/topic_there.h"
#include "operators/probe/topic_write.h"
#include "store/record/origin.h"

/* --- what is missing --- */

/* One more, behind a comma; takes text over, and the grant, unless there is
 * one. */
static void
add_right(struct source_seen *seen, char *text, char *grant)
{
	if (seen->rights != NULL) {
		char *both = mem_printf("%s, %s", seen->rights, text);
		free(seen->rights);
		free(text);
		text = both;
	}
	seen->rights = text;
	if (seen->grant == NULL)
		seen->grant = grant;
	else
		free(grant);
}

/* begins: of the names of all gateways. */
static void
look_at_id(const struct conf_broker *broker, const char *id,
    const char *begins, struct source_seen *seen)
{
	if (!topic_right_id_denied(broker, id))
		return;
	add_right(seen, mem_printf("use the transactional id %s", id),
	    mem_printf("kafka-acls.sh --add --allow-principal User:NAME "
		       "--operation Write --operation Describe "
		       "--resource-pattern-type prefixed "
		       "--transactional-id %s",
		begins));
}

/* --- sources --- */

static void
look_at_group(const struct conf_source *source, struct source_seen *seen)
{
	/* One that cannot be seen was told already. */
	if ((seen->rights != NULL &&
		strstr(seen->rights, "as the group") != NULL) ||
	    !topic_right_group_denied(source->broker, source->group))
		return;
	add_right(seen, mem_printf("read as the group %s", source->group),
	    mem_printf("kafka-acls.sh --add --allow-principal User:NAME "
		       "--operation Read --operation Describe --group %s",
		source->group));
}

/* How gateways name themselves to the broker, unless the file says it. */
static const char *
client_of(const struct conf_broker *broker)
{
	const struct conf_settings *settings = &broker->settings;
	for (size_t i = 0; i < settings->count; i++)
		if (!strcmp(settings->list[i].name, "client.id"))
			return settings->list[i].value;
	return "onceproxy-";
}

/* All gateways share by one protocol, and name themselves alike. */
static void
look_at_others(const struct conf_source *source, struct source_seen *seen)
{
	char *others = topic_group_others(source->broker, source->group,
	    KAFKA_NAME_PROTOCOL, client_of(source->broker));
	if (others != NULL)
		seen->others = mem_printf("%s, %s", source->group, others);
	free(others);
}

void
doctor_kafka_source(const struct doctor *doctor,
    const struct conf_source *source, struct source_seen *seen)
{
	if (seen->how != BROKER_SEEN)
		return;
	char *id = kafka_name_transactional(source, doctor->conf->instance);
	char *begins = mem_printf("onceproxy-%s-", source->name);
	look_at_group(source, seen);
	look_at_others(source, seen);
	look_at_id(source->broker, id, begins, seen);
	free(begins);
	free(id);
}

/* --- relays --- */

/* The name that it has, or, while its store has no id, how that begins. */
static char *
relay_name(const struct doctor *doctor, const struct conf_relay *relay)
{
	uint8_t id[DIGEST_BYTES];
	char store[DIGEST_HEX + 1] = "";
	for (size_t i = 0; i < doctor->n_redises; i++)
		if (doctor->redises[i].store_id != NULL) {
			origin_id(doctor->conf,
			    span_str(doctor->redises[i].store_id), id);
			hex_encode(id, sizeof id, store);
		}
	return kafka_name_relay(relay->name, span_str(store));
}

/* To read, too: a place is committed with what is written. */
static void
look_at_writing(const struct conf_relay *relay, struct source_seen *seen)
{
	if (!topic_write_forbidden(relay->broker, relay->topic))
		return;
	add_right(seen, mem_printf("write to the topic %s", relay->topic),
	    mem_printf("kafka-acls.sh --add --allow-principal User:NAME "
		       "--operation Read --operation Write "
		       "--operation Describe --topic %s",
		relay->topic));
}

static void
look_at_names(const struct doctor *doctor, const struct conf_relay *relay,
    struct source_seen *seen)
{
	char *name = relay_name(doctor, relay);
	char *begins = kafka_name_relay(relay->name, SPAN(""));
	look_at_id(relay->broker, name, begins, seen);
	if (topic_right_group_denied(relay->broker, name))
		add_right(seen, mem_printf("read as the group %s", name),
		    mem_printf("kafka-acls.sh --add --allow-principal "
			       "User:NAME --operation Read "
			       "--resource-pattern-type prefixed --group %s",
			begins));
	free(begins);
	free(name);
}

void
doctor_kafka_relay(const struct doctor *doctor, const struct conf_relay *relay,
    struct source_seen *seen)
{
	char words[TOPIC_THERE_WORDS];
	switch (topic_there_look(relay->broker, relay->topic, words)) {
	case TOPIC_THERE_UNKNOWN:
		seen->how = BROKER_SILENT;
		seen->message = mem_str(span_str(words));
		return;
	case TOPIC_THERE_NOT:
		seen->missing = mem_str(span_str(words));
		break;
	case TOPIC_THERE:
		look_at_writing(relay, seen);
		break;
	}
	look_at_names(doctor, relay, seen);
}

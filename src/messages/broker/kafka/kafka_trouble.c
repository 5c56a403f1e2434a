/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "messages/broker/kafka/kafka_name.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * The health of a reader: whether brokers answer, and if none does, why; what
 * they refuse while they answer, each until they take it.
 */

/* --- up and down --- */

void
kafka_trouble_is_up(struct kafka *kafka)
{
	if (kafka->up || kafka->core.leaving)
		return;
	kafka->up = true;
	kafka->wait_s = KAFKA_REMAKE_FIRST_S;
	/* It may have lost the end of a log, and have written on since. */
	kafka->anew |= kafka->assigned;
	/* What was said of connections is still so, but for the login. */
	kafka->away = false;
	for (size_t i = 0; i < kafka->n_tried; i++)
		kafka->tried[i].login = false;
	reader_trouble_back(&kafka->core);
	reader_finish_reachable(&kafka->core, true);
	reader_changed(&kafka->core);
}

/* What is in a transaction goes on. */
void
kafka_trouble_is_down(struct kafka *kafka, const char *why)
{
	kafka->up = false;
	reader_finish_reachable(&kafka->core, false);
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
	snprintf(words, sizeof words,
	    "no right to read the topic \"%s\": Read", topic);
	reader_trouble_begin(
	    &kafka->core, KAFKA_OF_READ, topic, span_str(words));
}

/* --- the health --- */

/* It is not there, not seen or not to be read. */
static bool
topic_stands(const struct broker_reader *core, const char *name)
{
	return reader_trouble_is(core, KAFKA_OF_TOPIC, name) ||
	    reader_trouble_is(core, KAFKA_OF_READ, name);
}

void
kafka_trouble_health(
    const struct broker_reader *core, struct broker_health *ret_health)
{
	const struct kafka *kafka = kafka_of(core);
	const struct strings *topics = &core->source->topics;
	unsigned topics_standing = 0, unproven = 0, odd = 0, count = 0;
	const struct kafka_part *part;
	for (size_t i = 0; i < topics->count; i++)
		topics_standing += topic_stands(core, topics->list[i]);
	LIST_EACH (part, &kafka->parts, link) {
		count++;
		unproven += part->step == KAFKA_UNPROVEN;
		odd +=
		    reader_trouble_is(core, KAFKA_OF_PART, part->name);
	}
	ret_health->up = kafka->up;
	ret_health->unproven = count > 0 && unproven == count;
	ret_health->stands = ret_health->unproven ||
	    topics_standing == topics->count ||
	    reader_trouble_is(core, KAFKA_OF_GROUP, NULL);
	ret_health->parts_standing = topics_standing + unproven + odd;
	ret_health->lag = kafka->up ? kafka->lag : -1;
	ret_health->rebalances = kafka->rebalances;
}

/* --- its group --- */

static void
refuse_group(struct kafka *kafka, const char *before, const char *behind)
{
	char words[KAFKA_WORDS_BYTES];
	snprintf(words, sizeof words, "%s \"%s\"%s", before,
	    kafka->core.source->group, behind);
	kafka_trouble_is_up(kafka);
	reader_trouble_begin(
	    &kafka->core, KAFKA_OF_GROUP, "", span_str(words));
}

/* It is no member of it, and tries again by itself. */
static bool
is_kept_out(struct kafka *kafka, rd_kafka_resp_err_t error)
{
	static const char who[] = "no member of the group";
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
		refuse_group(kafka, who,
		    ": others share its partitions by another protocol than "
		    "\"" KAFKA_NAME_PROTOCOL
		    "\"; end them, or set another group");
		return true;
	case RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED:
		refuse_group(kafka, who,
		    ": it has as many as the brokers' group.max.size allows");
		return true;
	case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
		refuse_group(kafka, who,
		    ": the brokers' group.min and group.max.session.timeout.ms "
		    "do not allow this session.timeout.ms");
		return true;
	default:
		return false;
	}
}

bool
kafka_trouble_of_group(struct kafka *kafka, rd_kafka_resp_err_t error)
{
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		kafka_trouble_is_up(kafka);
		return true;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		refuse_group(kafka, "no right to read as the group", ": Read");
		return true;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		kafka_trouble_is_up(kafka);
		kafka->look_ms = 0;
		return true;
	default:
		return is_kept_out(kafka, error);
	}
}

/* --- why no broker answers --- */

static const char *
skip(const char *words, const char *word)
{
	size_t len = strlen(word);
	return !strncmp(words, word, len) ? words + len : words;
}

/* "PROTOCOL://HOST:PORT/NODE: WORDS (after SO LONG)": the last two alone. */
static void
note_address(struct kafka_tried *tried, const char *words)
{
	const char *slashes = strstr(words, "://");
	const char *host = slashes != NULL ? slashes + 3
					   : skip(words, "GroupCoordinator: ");
	const char *why = strstr(host, ": ");
	if (why == NULL)
		return;
	int host_len = (int)strcspn(host, "/");
	if (host_len > (int)(why - host))
		host_len = (int)(why - host);
	why += 2;
	const char *failed = strstr(why, " failed: ");
	if (failed != NULL && skip(why, "Connect to ") != why)
		why = failed + strlen(" failed: ");
	const char *end = strstr(why, " (after ");
	int len = end != NULL ? (int)(end - why) : (int)strlen(why);
	snprintf(tried->address, sizeof tried->address, "%.*s", host_len, host);
	snprintf(tried->why, sizeof tried->why, "%.*s", len, why);
}

/* Of those that let nobody in, where there is one, the others say less. */
static void
write_tried(const struct kafka *kafka, char words[KAFKA_WORDS_BYTES])
{
	bool login = false;
	size_t at = 0;
	words[0] = '\0';
	for (size_t i = 0; i < kafka->n_tried; i++)
		login |= kafka->tried[i].login;
	for (size_t i = 0; i < kafka->n_tried && at < KAFKA_WORDS_BYTES; i++) {
		const struct kafka_tried *t = &kafka->tried[i];
		if (t->login != login)
			continue;
		at += (size_t)snprintf(words + at, KAFKA_WORDS_BYTES - at,
		    "%s%s: %s", at > 0 ? "; " : "", t->address, t->why);
	}
}

void
kafka_trouble_broke(struct kafka *kafka, bool login, const char *words)
{
	struct kafka_tried tried = {.login = login};
	note_address(&tried, words);
	if (tried.address[0] == '\0')
		return;
	size_t i = 0;
	while (i < kafka->n_tried &&
	    strcmp(kafka->tried[i].address, tried.address) != 0)
		i++;
	if (i == kafka->n_tried && i < KAFKA_TRIED_MAX)
		kafka->n_tried++;
	kafka->tried[i < KAFKA_TRIED_MAX ? i : 0] = tried;
	/* The last words of each say most; that it is down was told. */
	char all[KAFKA_WORDS_BYTES];
	if (!kafka->away)
		return;
	write_tried(kafka, all);
	reader_trouble_away(&kafka->core, all, false);
}

void
kafka_trouble_away(struct kafka *kafka)
{
	char words[KAFKA_WORDS_BYTES];
	const struct strings *servers = &kafka->core.source->broker->kafka;
	for (size_t i = 0; i < servers->count && kafka->n_tried == 0; i++) {
		char *tried = mem_printf("%s: no answer", servers->list[i]);
		kafka_trouble_broke(kafka, false, tried);
		free(tried);
	}
	if (kafka->away)
		return;
	write_tried(kafka, words);
	kafka_trouble_is_down(kafka, words);
	kafka->away = !kafka->up;
}

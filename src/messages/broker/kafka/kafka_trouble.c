/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "messages/broker/kafka/kafka_name.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * The health of a reader: whether brokers answer, and if none does, why; what
 * they refuse while they answer, each until they take it.  Each is told once,
 * however often librdkafka says it.
 */
enum { AGAIN_MS = 60000 };

struct kafka_trouble {
	struct kafka_trouble *next;
	enum kafka_subject subject;
	char *name;
	int64_t said_ms;
	char words[KAFKA_WORDS_BYTES];
};

/* --- up and down --- */

void
kafka_trouble_kick(struct kafka *kafka)
{
	task_ready(kafka->loop, &kafka->work);
}

void
kafka_trouble_changed(struct kafka *kafka)
{
	kafka->changed = true;
	kafka_trouble_kick(kafka);
}

static struct logline
log_of(const struct kafka *kafka, enum event event)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", kafka->source->name);
	log_str(&line, "broker", kafka->source->broker->name);
	return line;
}

void
kafka_trouble_is_up(struct kafka *kafka)
{
	if (kafka->up || kafka->leaving)
		return;
	kafka->up = true;
	kafka->wait_s = KAFKA_REMAKE_FIRST_S;
	kafka->message[0] = '\0';
	/* It may have lost the end of a log, and have written on since. */
	kafka->anew |= kafka->assigned;
	/* What was said of connections is still so, but for the login. */
	kafka->away = false;
	for (size_t i = 0; i < kafka->n_tried; i++)
		kafka->tried[i].login = false;
	struct logline line = log_of(kafka, EV_source_broker_up);
	log_end(&line);
	kafka_trouble_changed(kafka);
}

/* The same trouble again is not said again. */
void
kafka_trouble_is_down(struct kafka *kafka, const char *why)
{
	char text[KAFKA_WORDS_BYTES];
	bool was_up = kafka->up;
	snprintf(text, sizeof text, "%s", why);
	bool news = !kafka->leaving && strcmp(text, kafka->message) != 0;
	kafka->up = false;
	/* What is in a transaction goes on, and nobody waits for it. */
	kafka->drops |= was_up;
	if (news)
		memcpy(kafka->message, text, sizeof text);
	if (!news && !was_up)
		return;
	struct logline line = log_of(kafka, EV_source_broker_down);
	log_str(&line, "error", why);
	log_end(&line);
	kafka_trouble_changed(kafka);
}

void
kafka_trouble_remake(struct kafka *kafka, const char *why)
{
	kafka_trouble_is_down(kafka, why);
	kafka->remake = true;
	kafka_trouble_kick(kafka);
}

/* --- what is refused --- */

static void
log_trouble(const struct kafka *kafka, enum event event,
    const struct kafka_trouble *trouble)
{
	struct logline line = log_of(kafka, event);
	log_str(&line, "error", trouble->words);
	log_end(&line);
}

static bool
is_about(const struct kafka_trouble *trouble, enum kafka_subject subject,
    const char *name)
{
	return trouble->subject == subject &&
	    (name == NULL || !strcmp(trouble->name, name));
}

bool
kafka_trouble_is(
    const struct kafka *kafka, enum kafka_subject subject, const char *name)
{
	const struct kafka_trouble *t = kafka->troubles;
	while (t != NULL && !is_about(t, subject, name))
		t = t->next;
	return t != NULL;
}

void
kafka_trouble_begin(struct kafka *kafka, enum kafka_subject subject,
    const char *name, const char *words)
{
	char text[KAFKA_WORDS_BYTES];
	if (kafka->leaving)
		return;
	struct kafka_trouble **at = &kafka->troubles, *trouble;
	while (*at != NULL && !is_about(*at, subject, name))
		at = &(*at)->next;
	trouble = *at;
	if (trouble == NULL) {
		trouble = *at = mem_zero(sizeof *trouble);
		trouble->subject = subject;
		trouble->name = mem_text(name);
	}
	trouble->said_ms = loop_now_ms(kafka->loop);
	snprintf(text, sizeof text, "%s", words);
	if (!strcmp(text, trouble->words))
		return;
	memcpy(trouble->words, text, sizeof text);
	log_trouble(kafka,
	    subject == KAFKA_OF_PROOF ? EV_source_unproven : EV_source_refused,
	    trouble);
	kafka_trouble_changed(kafka);
}

void
kafka_trouble_unreadable(struct kafka *kafka, const char *topic)
{
	char words[KAFKA_WORDS_BYTES];
	snprintf(words, sizeof words,
	    "no right to read the topic \"%s\": Read", topic);
	kafka_trouble_begin(kafka, KAFKA_OF_READ, topic, words);
}

static void
free_trouble(struct kafka_trouble **at)
{
	struct kafka_trouble *trouble = *at;
	*at = trouble->next;
	free(trouble->name);
	free(trouble);
}

void
kafka_trouble_end(
    struct kafka *kafka, enum kafka_subject subject, const char *name)
{
	struct kafka_trouble **at = &kafka->troubles;
	while (*at != NULL) {
		if (!is_about(*at, subject, name)) {
			at = &(*at)->next;
			continue;
		}
		/* What an operator has decided was nobody's refusal. */
		if (!kafka->leaving && subject != KAFKA_OF_PROOF)
			log_trouble(kafka, EV_source_accepted, *at);
		kafka_trouble_changed(kafka);
		/* There is one of each; name may be its own. */
		free_trouble(at);
		if (name != NULL)
			return;
	}
}

/* Nobody tells the end of these. */
void
kafka_trouble_look(struct kafka *kafka)
{
	int64_t now = loop_now_ms(kafka->loop);
	for (struct kafka_trouble *t = kafka->troubles; t != NULL; t = t->next)
		if (t->subject == KAFKA_OF_ELSE &&
		    now - t->said_ms > AGAIN_MS) {
			kafka_trouble_end(kafka, KAFKA_OF_ELSE, t->name);
			return;
		}
}

void
kafka_trouble_clear(struct kafka *kafka)
{
	while (kafka->troubles != NULL)
		free_trouble(&kafka->troubles);
}

/* Whether none of its partitions is read, as what was read is unproven. */
static bool
all_are_unproven(const struct kafka *kafka)
{
	struct kafka_part *part;
	LIST_EACH (part, &kafka->parts, link)
		if (part->step != KAFKA_UNPROVEN)
			return false;
	return !list_empty(&kafka->parts);
}

/* Whether nothing at all can be read. */
static bool
stands(const struct kafka *kafka)
{
	const struct strings *topics = &kafka->source->topics;
	if (kafka_trouble_is(kafka, KAFKA_OF_GROUP, NULL) ||
	    all_are_unproven(kafka))
		return true;
	for (size_t i = 0; i < topics->count; i++)
		if (!kafka_trouble_is(
			kafka, KAFKA_OF_TOPIC, topics->list[i]) &&
		    !kafka_trouble_is(kafka, KAFKA_OF_READ, topics->list[i]))
			return false;
	return true;
}

struct broker_health
kafka_trouble_health(const struct kafka *kafka)
{
	const struct kafka_trouble *pressing = NULL;
	unsigned parts_standing = 0;
	for (const struct kafka_trouble *t = kafka->troubles; t != NULL;
	     t = t->next) {
		/* A topic that is neither seen nor may be read is one. */
		parts_standing += t->subject == KAFKA_OF_TOPIC ||
		    t->subject == KAFKA_OF_PROOF ||
		    t->subject == KAFKA_OF_PART ||
		    (t->subject == KAFKA_OF_READ &&
			!kafka_trouble_is(kafka, KAFKA_OF_TOPIC, t->name));
		if (pressing == NULL || t->subject < pressing->subject)
			pressing = t;
	}
	return (struct broker_health){.up = kafka->up,
	    .stands = stands(kafka),
	    .unproven = all_are_unproven(kafka),
	    .parts_standing = parts_standing,
	    .message = !kafka->up     ? kafka->message
		: pressing != NULL ? pressing->words
				   : "",
	    .lag = kafka->up ? kafka->lag : -1,
	    .rebalances = kafka->rebalances};
}

/* --- its group --- */

static void
refuse_group(struct kafka *kafka, const char *before, const char *behind)
{
	char words[KAFKA_WORDS_BYTES];
	snprintf(words, sizeof words, "%s \"%s\"%s", before,
	    kafka->source->group, behind);
	kafka_trouble_is_up(kafka);
	kafka_trouble_begin(kafka, KAFKA_OF_GROUP, "", words);
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
	if (!kafka->away)
		return;
	write_tried(kafka, kafka->message);
	kafka_trouble_changed(kafka);
}

void
kafka_trouble_away(struct kafka *kafka)
{
	char words[KAFKA_WORDS_BYTES];
	const struct strings *servers = &kafka->source->broker->kafka;
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

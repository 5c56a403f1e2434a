/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * What a broker refuses while it answers, each until it takes it, and why no
 * broker answers.  Each is told once, however often librdkafka says it.
 */
enum { AGAIN_MS = 60000 };

struct kafka_trouble {
	struct kafka_trouble *next;
	enum kafka_subject subject;
	char *name;
	int64_t said_ms;
	char words[KAFKA_WORDS_BYTES];
};

/* --- what is refused --- */

static void
log_trouble(const struct kafka *kafka, enum event event,
    const struct kafka_trouble *trouble)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", kafka->source->name);
	log_str(&line, "broker", kafka->source->broker->name);
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

static struct kafka_trouble *
trouble_about(
    struct kafka *kafka, enum kafka_subject subject, const char *name)
{
	struct kafka_trouble **at = &kafka->troubles;
	while (*at != NULL && !is_about(*at, subject, name))
		at = &(*at)->next;
	if (*at == NULL) {
		*at = mem_zero(sizeof **at);
		(*at)->subject = subject;
		(*at)->name = mem_text(name);
	}
	return *at;
}

void
kafka_trouble_begin(struct kafka *kafka, enum kafka_subject subject,
    const char *name, const char *words)
{
	char text[KAFKA_WORDS_BYTES];
	if (kafka->leaving)
		return;
	struct kafka_trouble *trouble = trouble_about(kafka, subject, name);
	trouble->said_ms = loop_now_ms(kafka->loop);
	snprintf(text, sizeof text, "%s", words);
	if (!strcmp(text, trouble->words))
		return;
	memcpy(trouble->words, text, sizeof text);
	log_trouble(kafka,
	    subject == KAFKA_OF_PROOF ? EV_source_unproven : EV_source_refused,
	    trouble);
	kafka_changed(kafka);
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
		kafka_changed(kafka);
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

static bool
all_are_unproven(const struct kafka *kafka)
{
	const struct kafka_part *part = kafka->parts;
	while (part != NULL &&
	    kafka_trouble_is(kafka, KAFKA_OF_PROOF, part->name))
		part = part->next;
	return kafka->parts != NULL && part == NULL;
}

bool
kafka_trouble_stands(const struct kafka *kafka)
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

/* A topic that is neither seen nor may be read is one. */
static bool
is_of_part(const struct kafka *kafka, const struct kafka_trouble *trouble)
{
	enum kafka_subject subject = trouble->subject;
	if (subject == KAFKA_OF_READ)
		return !kafka_trouble_is(kafka, KAFKA_OF_TOPIC, trouble->name);
	return subject == KAFKA_OF_TOPIC || subject == KAFKA_OF_PROOF ||
	    subject == KAFKA_OF_PART;
}

unsigned
kafka_trouble_parts(const struct kafka *kafka)
{
	unsigned count = 0;
	for (const struct kafka_trouble *t = kafka->troubles; t != NULL;
	     t = t->next)
		count += is_of_part(kafka, t);
	return count;
}

/* The most pressing one. */
const char *
kafka_trouble_words(const struct kafka *kafka)
{
	const struct kafka_trouble *found = NULL;
	for (const struct kafka_trouble *t = kafka->troubles; t != NULL;
	     t = t->next)
		if (found == NULL || t->subject < found->subject)
			found = t;
	return found != NULL ? found->words : "";
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

static struct kafka_tried *
tried_at(struct kafka *kafka, const char *address)
{
	size_t i = 0;
	while (i < kafka->n_tried &&
	    strcmp(kafka->tried[i].address, address) != 0)
		i++;
	if (i == kafka->n_tried && i < KAFKA_TRIED_MAX)
		kafka->n_tried++;
	return &kafka->tried[i < KAFKA_TRIED_MAX ? i : 0];
}

void
kafka_trouble_broke(struct kafka *kafka, bool login, const char *words)
{
	struct kafka_tried tried = {.login = login};
	note_address(&tried, words);
	if (tried.address[0] == '\0')
		return;
	*tried_at(kafka, tried.address) = tried;
	/* The last words of each say most; that it is down was told. */
	if (!kafka->away)
		return;
	write_tried(kafka, kafka->message);
	kafka_changed(kafka);
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
	kafka_is_down(kafka, words);
	kafka->away = !kafka->up;
}

/* What was said of connections that failed is still so, but for the login. */
void
kafka_trouble_back(struct kafka *kafka)
{
	kafka->away = false;
	for (size_t i = 0; i < kafka->n_tried; i++)
		kafka->tried[i].login = false;
}

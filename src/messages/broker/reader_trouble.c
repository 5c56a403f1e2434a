/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/reader.h"

/* What the log has heard already is not said again. */
struct trouble {
	struct list of_reader;
	enum event event;
	int what;
	char *name, *words;
};

static void
log_words(
    const struct broker_reader *reader, enum event event, const char *words)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", reader->source->name);
	log_str(&line, "broker", reader->source->broker->name);
	if (words != NULL)
		log_str(&line, "error", words);
	log_end(&line);
}

/* --- what a broker that answers refuses --- */

static struct trouble *
find(const struct broker_reader *reader, int what, const char *name)
{
	struct trouble *t;
	LIST_EACH(t, (struct list *)(uintptr_t)&reader->troubles, of_reader)
		if (t->what == what &&
		    (name == NULL || strcmp(t->name, name) == 0))
			return t;
	return NULL;
}

bool
reader_trouble_is(
    const struct broker_reader *reader, int what, const char *name)
{
	return find(reader, what, name) != NULL;
}

static void
drop(struct trouble *t)
{
	list_remove(&t->of_reader);
	free(t->name);
	free(t->words);
	free(t);
}

/* The list is in the order of how pressing they are. */
static struct trouble *
add(struct broker_reader *reader, int what, const char *name)
{
	struct trouble *t = mem_zero(sizeof *t), *other;
	struct list *at = &reader->troubles;
	LIST_EACH(other, &reader->troubles, of_reader)
		if (other->what > what) {
			at = &other->of_reader;
			break;
		}
	t->what = what;
	t->name = mem_text(name);
	list_add_before(at, &t->of_reader);
	return t;
}

void
reader_trouble_say(struct broker_reader *reader, enum event event, int what,
    const char *name, struct span words)
{
	struct trouble *t = find(reader, what, name);
	if (reader->leaving ||
	    (t != NULL && span_eq(words, span_str(t->words))))
		return;
	if (t == NULL)
		t = add(reader, what, name);
	free(t->words);
	t->words = mem_str(words);
	t->event = event;
	reader_changed(reader);
	log_words(reader, event, t->words);
}

void
reader_trouble_begin(struct broker_reader *reader, int what,
    const char *name, struct span words)
{
	reader_trouble_say(reader, EV_source_refused, what, name, words);
}

void
reader_trouble_end(struct broker_reader *reader, int what, const char *name)
{
	struct trouble *t;
	while ((t = find(reader, what, name)) != NULL) {
		if (t->event == EV_source_refused && !reader->leaving)
			log_words(reader, EV_source_accepted, t->words);
		drop(t);
		reader_changed(reader);
	}
}

const char *
reader_trouble_words(const struct broker_reader *reader)
{
	const struct trouble *first =
	    LIST_FIRST(&reader->troubles, struct trouble, of_reader);
	if (reader->away != NULL)
		return reader->away;
	return first != NULL ? first->words : "";
}

/* --- whether it answers --- */

void
reader_trouble_back(struct broker_reader *reader)
{
	if (reader->away == NULL || reader->leaving)
		return;
	free(reader->away);
	reader->away = NULL;
	reader->refuses = false;
	log_words(reader, EV_source_broker_up, NULL);
	reader_changed(reader);
}

/* A broker that is away and comes back without our user is other news. */
void
reader_trouble_away(struct broker_reader *reader, const char *why, bool refuses)
{
	bool news = reader->away == NULL || (refuses && !reader->refuses);
	if (reader->leaving)
		return;
	char *words = mem_text(why);
	free(reader->away);
	reader->away = words;
	reader->refuses |= refuses;
	reader_changed(reader);
	if (news)
		log_words(reader,
		    refuses ? EV_source_refused : EV_source_broker_down,
		    words);
}

void
reader_trouble_clear(struct broker_reader *reader)
{
	struct trouble *t;
	LIST_EACH(t, &reader->troubles, of_reader)
		drop(t);
	free(reader->away);
	reader->away = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_letters_private.h"

/*
 * Pages of dead letters.  One that was asked for lives until its job is done,
 * even where its owner has given it up; what it has passed is known then.
 */
enum { LOOK_AGAIN_MS = 60000 };

struct kafka_page {
	struct kafka_letters *all;
	struct broker_letters *letters; /* NULL: given up, or nobody's */
	struct kafka_scan_job *job;
	struct kafka_page *next, **place;
};

/* --- a job --- */

static void
set_topics(const struct kafka_letters *all, struct kafka_scan_job *job)
{
	const struct strings *topics = &all->kafka->source->topics;
	struct arena *arena = job->arena;
	job->n_topics = all->n_topics;
	job->topics = arena_alloc(arena, all->n_topics * sizeof *job->topics);
	for (size_t i = 0; i < all->n_topics; i++)
		job->topics[i].name =
		    arena_dup(arena, span_str(all->topics[i].name)).ptr;
	job->n_sources = topics->count;
	job->sources =
	    arena_alloc(arena, topics->count * sizeof *job->sources);
	job->letters_of =
	    arena_alloc(arena, topics->count * sizeof *job->letters_of);
	for (size_t i = 0; i < topics->count; i++) {
		job->sources[i].name =
		    arena_dup(arena, span_str(topics->list[i])).ptr;
		job->letters_of[i] = all->of[i];
	}
}

/* As the commit would have it now. */
static void
add_shelf(struct kafka_scan_job *job, const struct kafka_part *part,
    struct span name, const struct kafka_shelf *shelf)
{
	char text[KAFKA_METADATA_MAX + 1];
	struct kafka_known *known = arena_alloc(job->arena, sizeof *known);
	size_t len = kafka_ring_text_write(
	    &shelf->ring, false, KAFKA_METADATA_MAX, text);
	known->part = name;
	known->topic = kafka_letters_topic(part);
	known->number = shelf->number;
	kafka_ring_text_read(kafka_ring_low(&shelf->ring, false),
	    span_of(text, len), &known->stand);
	known->next = job->known;
	job->known = known;
}

static void
set_ours(const struct kafka *kafka, struct kafka_scan_job *job)
{
	size_t count = 0;
	for (struct kafka_part *p = kafka->parts; p != NULL; p = p->next)
		count++;
	job->ours = arena_alloc(job->arena, count * sizeof *job->ours);
	for (struct kafka_part *p = kafka->parts; p != NULL; p = p->next) {
		struct span name = arena_dup(job->arena, span_str(p->name));
		if (!p->has_commit || !p->has_letters)
			continue;
		job->ours[job->n_ours++] = name;
		for (struct kafka_shelf *s = p->shelves; s != NULL;
		     s = s->next)
			add_shelf(job, p, name, s);
	}
}

static struct kafka_scan_job *
new_job(struct kafka_letters *all)
{
	struct kafka *kafka = all->kafka;
	struct arena *arena = arena_new();
	struct kafka_scan_job *job = arena_alloc(arena, sizeof *job);
	job->arena = arena;
	job->last = &job->messages;
	job->last_seen = &job->seen;
	job->source = arena_dup(arena, span_str(kafka->source->name));
	job->most_bytes = kafka->most_bytes;
	set_topics(all, job);
	set_ours(kafka, job);
	if (all->scan == NULL)
		all->scan =
		    kafka_scan_new(kafka->loop, kafka_conf_scan(kafka));
	return job;
}

/* --- what was found --- */

static bool
was_swept(const struct kafka_seen *seen, const struct kafka_swept *swept)
{
	return seen->place.topic == swept->topic &&
	    seen->place.number == swept->number &&
	    seen->place.offset < swept->to;
}

/* Only what goes on where the ring ends: between, there may be others. */
static void
learn_sweep(struct kafka_part *part, const struct kafka_scan_job *job,
    const struct kafka_swept *swept)
{
	struct kafka_shelf *shelf =
	    kafka_shelf_at(&part->shelves, swept->number);
	struct kafka_ring *ring = &shelf->ring;
	if (swept->from > ring->next)
		return;
	for (const struct kafka_seen *seen = job->seen; seen != NULL;
	     seen = seen->next)
		if (was_swept(seen, swept) &&
		    seen->place.offset >= ring->next &&
		    span_eq(seen->part, span_str(part->name)))
			kafka_ring_add(ring, seen->place.offset, seen->mark);
	kafka_ring_reach(ring, swept->to);
}

/* The topic was made again: none of its letters is finished. */
static void
forget_wrong(struct kafka_letters *all, const struct kafka_scan_job *job)
{
	for (const struct kafka_known *k = job->known; k != NULL;
	     k = k->next) {
		struct kafka_part *part = all->kafka->parts;
		while (part != NULL &&
		    !span_eq(span_str(part->name), k->part))
			part = part->next;
		if (!k->wrong || part == NULL)
			continue;
		kafka_shelf_reset(kafka_shelf_at(&part->shelves, k->number));
		part->shelved.again = true;
	}
}

/* Of others nothing was noted. */
static bool
was_ours(const struct kafka_scan_job *job, const struct kafka_part *part)
{
	for (size_t i = 0; i < job->n_ours; i++)
		if (span_eq(job->ours[i], span_str(part->name)))
			return part->has_commit && part->has_letters;
	return false;
}

static void
learn_job(struct kafka_letters *all, const struct kafka_scan_job *job)
{
	for (size_t i = 0; i < all->n_topics; i++)
		if (job->topics[i].count > 0)
			all->topics[i].count = job->topics[i].count;
	forget_wrong(all, job);
	for (struct kafka_part *p = all->kafka->parts; p != NULL; p = p->next)
		for (struct kafka_swept *swept = job->swept;
		     swept != NULL && was_ours(job, p); swept = swept->next)
			if (swept->topic == kafka_letters_topic(p))
				learn_sweep(p, job, swept);
}

/* Whether the message itself is still to be finished, as far as we know. */
static bool
is_pending(const struct kafka *kafka, struct span position)
{
	struct kafka_part *part = kafka_letters_owner(kafka, position);
	if (part == NULL || part->step != KAFKA_READING)
		return true;
	int64_t offset = kafka_message_offset(part, position);
	const struct kafka_given *given =
	    kafka_ring_find(&part->ring, offset);
	return offset >= part->ring.next ||
	    (given != NULL && given->state != KAFKA_FINISHED);
}

/* It cannot be finished now; the first unfinished one always can. */
static bool
has_no_room(const struct kafka_part *part, const struct broker_message *m)
{
	struct kafka_place place;
	if (!kafka_scan_place(m->letter, &place))
		return false;
	const struct kafka_shelf *shelf = part->shelves;
	while (shelf != NULL && shelf->number != place.number)
		shelf = shelf->next;
	return shelf != NULL &&
	    kafka_ring_low(&shelf->ring, true) < place.offset &&
	    kafka_letters_full(part);
}

static void
take_job(struct kafka *kafka, struct broker_letters *letters,
    struct kafka_scan_job *job)
{
	letters->messages = job->messages;
	job->messages = NULL;
	snprintf(letters->next, sizeof letters->next, "%s", job->next);
	for (struct broker_message *m = letters->messages; m != NULL;
	     m = m->next) {
		struct kafka_part *part =
		    kafka_letters_owner(kafka, m->position);
		m->foreign = part == NULL;
		if (part != NULL && !letters->brief)
			letters->full |= has_no_room(part, m);
	}
	if (letters->look)
		letters->pending = job->open ||
		    is_pending(kafka, letters->position);
}

/* --- a page --- */

static void
end_page(struct kafka_page *page, int error)
{
	struct broker_letters *letters = page->letters;
	*page->place = page->next;
	if (page->next != NULL)
		page->next->place = page->place;
	free(page);
	if (letters != NULL)
		op_done(&letters->op, error);
}

static void
write_denied(const char *topic, char ret_words[KAFKA_WORDS_BYTES])
{
	snprintf(ret_words, KAFKA_WORDS_BYTES,
	    "no right to read the topic \"%s\": Describe, Read", topic);
}

/* An order that comes back waits for them, and says nothing itself. */
static void
tell_denied(struct kafka *kafka, const struct kafka_scan_job *job)
{
	char words[KAFKA_WORDS_BYTES];
	for (const struct kafka_swept *s = job->swept; s != NULL; s = s->next) {
		write_denied(job->topics[s->topic].name, words);
		kafka_trouble_end(kafka, KAFKA_OF_ELSE, words);
	}
	if (job->denied == NULL)
		return;
	write_denied(job->denied, words);
	kafka_trouble_begin(kafka, KAFKA_OF_ELSE, words, words);
}

static void
on_scanned(void *arg, struct kafka_scan_job *job)
{
	struct kafka_page *page = arg;
	struct broker_letters *letters = page->letters;
	bool failed = job->words[0] != '\0';
	tell_denied(page->all->kafka, job);
	if (!failed)
		learn_job(page->all, job);
	if (letters != NULL && !failed)
		take_job(page->all->kafka, letters, job);
	else if (letters != NULL)
		snprintf(letters->refused, sizeof letters->refused, "%s",
		    job->words);
	kafka_scan_job_free(&job);
	end_page(page, failed ? E_BROKER_REFUSED : 0);
}

static void
begin_page(struct kafka_letters *all, struct broker_letters *letters,
    struct kafka_scan_job *job)
{
	struct kafka_page *page = mem_zero(sizeof *page);
	page->all = all;
	page->letters = letters;
	page->job = job;
	page->next = all->pages;
	page->place = &all->pages;
	if (page->next != NULL)
		page->next->place = &page->next;
	all->pages = page;
	if (letters != NULL)
		letters->token = page;
	job->done = on_scanned;
	job->arg = page;
	kafka_scan_begin(all->scan, job);
}

/* Its owner gives it up; the job goes on. */
static void
leave_scan(struct op *op, int error)
{
	(void)error;
	struct broker_letters *letters =
	    CONTAINER_OF(op, struct broker_letters, op);
	((struct kafka_page *)letters->token)->letters = NULL;
}

void
kafka_letters_page(struct kafka *kafka, struct broker_letters *letters)
{
	letters->messages = NULL;
	letters->pending = letters->full = false;
	letters->next[0] = letters->refused[0] = '\0';
	op_start(&letters->op, 0, leave_scan);
	/* Whose it is is not known before the group has said so. */
	if (letters->position.len > 0 && !kafka->assigned) {
		op_done(&letters->op, E_BROKER_DOWN);
		return;
	}
	struct kafka_scan_job *job = new_job(kafka->letters);
	job->position = letters->position.len > 0
	    ? arena_dup(job->arena, letters->position)
	    : SPAN("");
	job->goes_on =
	    kafka_scan_place(span_str(letters->after), &job->after);
	job->brief = letters->brief;
	job->limit = letters->limit;
	begin_page(kafka->letters, letters, job);
}

void
kafka_letters_page_read(struct kafka_letters *all, struct span position)
{
	for (const struct kafka_page *p = all->pages; p != NULL; p = p->next)
		if (p->letters == NULL)
			return;
	struct kafka_scan_job *job = new_job(all);
	job->position = arena_dup(job->arena, position);
	job->brief = true;
	begin_page(all, NULL, job);
}

/* --- whether there is such a topic --- */

static void
on_topics(void *arg, struct kafka_scan_job *job)
{
	struct kafka_letters *all = arg;
	all->look = NULL;
	for (size_t i = 0; i < job->n_topics; i++) {
		all->topics[i].count = job->topics[i].count;
		if (job->words[0] == '\0' && job->topics[i].count == 0)
			kafka_topics_miss(all->kafka, all->topics[i].name);
	}
	kafka_scan_job_free(&job);
}

static bool
topics_are_known(const struct kafka_letters *all)
{
	for (size_t i = 0; i < all->n_topics; i++)
		if (all->topics[i].count == 0)
			return false;
	return true;
}

void
kafka_letters_page_look(struct kafka *kafka)
{
	struct kafka_letters *all = kafka->letters;
	int64_t now = loop_now_ms(kafka->loop);
	if (all->look != NULL || !kafka->up || now < all->look_ms ||
	    topics_are_known(all))
		return;
	all->look_ms = now + LOOK_AGAIN_MS;
	struct kafka_scan_job *job = all->look = new_job(all);
	job->look = true;
	job->done = on_topics;
	job->arg = all;
	kafka_scan_begin(all->scan, job);
}

/* --- its end --- */

void
kafka_letters_page_end(struct kafka_letters *all)
{
	if (all->look != NULL)
		all->look->done = NULL;
	all->look = NULL;
	while (all->pages != NULL) {
		all->pages->job->done = NULL;
		end_page(all->pages, E_CANCELLED);
	}
	kafka_scan_end(&all->scan);
}

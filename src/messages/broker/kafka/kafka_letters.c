/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_letters_private.h"

/*
 * Dead letters are messages of a topic, from which nothing can be deleted.  So
 * what is finished of them is remembered, with the partition of the source that
 * they are from (kafka_shelf.h), and only who has that finishes them.  A letter
 * goes to the partition of the same number, as far as there are so many, so
 * that it takes little to remember; but it is found in any.
 */

/* --- topics --- */

static unsigned
topic_index(struct kafka_letters *letters, char *name)
{
	unsigned i = 0;
	while (i < letters->n_topics &&
	    strcmp(letters->topics[i].name, name) != 0)
		i++;
	if (i < letters->n_topics)
		free(name);
	else
		letters->topics[letters->n_topics++].name = name;
	return i;
}

void
kafka_letters_init(struct kafka *kafka)
{
	const struct conf_source *source = kafka->source;
	struct kafka_letters *letters = mem_zero(sizeof *letters);
	size_t count = source->topics.count;
	letters->kafka = kafka;
	letters->topics = mem_zero(count * sizeof *letters->topics);
	letters->of = mem_zero(count * sizeof *letters->of);
	for (size_t i = 0; i < count; i++)
		letters->of[i] = topic_index(letters,
		    source->dead_letters != NULL
			? mem_text(source->dead_letters)
			: mem_printf("%s.dead", source->topics.list[i]));
	kafka_letters_end_init(letters);
	kafka->letters = letters;
}

void
kafka_letters_free(struct kafka *kafka)
{
	struct kafka_letters *letters = kafka->letters;
	kafka_letters_page_end(letters);
	kafka_letters_end_forget(kafka);
	for (size_t i = 0; i < letters->n_topics; i++)
		free(letters->topics[i].name);
	free(letters->topics);
	free(letters->of);
	free(letters);
	kafka->letters = NULL;
}

unsigned
kafka_letters_topic(const struct kafka_part *part)
{
	const struct strings *topics = &part->kafka->source->topics;
	size_t i = 0;
	while (i + 1 < topics->count &&
	    strcmp(topics->list[i], part->topic) != 0)
		i++;
	return part->kafka->letters->of[i];
}

int32_t
kafka_letters_number(const struct kafka_part *part)
{
	unsigned topic = kafka_letters_topic(part);
	int32_t count = part->kafka->letters->topics[topic].count;
	return count > 0 ? part->number % count : RD_KAFKA_PARTITION_UA;
}

struct kafka_part *
kafka_letters_owner(const struct kafka *kafka, struct span position)
{
	struct span name = kafka_scan_part(position);
	struct kafka_part *part = kafka->parts;
	while (part != NULL && !span_eq(span_str(part->name), name))
		part = part->next;
	return part;
}

/* --- in commits --- */

const char *
kafka_letters_topic_name(const struct kafka_part *part)
{
	return part->kafka->letters->topics[kafka_letters_topic(part)].name;
}

struct span
kafka_letters_learn(struct kafka_part *part, struct span metadata)
{
	struct span ring, text;
	kafka_shelf_part(metadata, &ring, &text);
	kafka_shelf_read(&part->shelves, kafka_letters_topic_name(part), text);
	return ring;
}

struct span
kafka_letters_tell(struct kafka_part *part, bool putting,
    char ret_text[KAFKA_METADATA_MAX + 1])
{
	size_t len = kafka_shelf_tell(
	    part->shelves, kafka_letters_topic_name(part), putting, ret_text);
	kafka_letters_floor_note(part, len > 0 ? ret_text : "");
	return span_of(ret_text, len);
}

bool
kafka_letters_fit(const struct kafka_part *part)
{
	char text[KAFKA_SHELF_MAX + 1];
	return kafka_shelf_write(part->shelves,
		   kafka_letters_topic_name(part), true, text) >= 0;
}

bool
kafka_letters_full(const struct kafka_part *part)
{
	char text[KAFKA_SHELF_MAX + 1];
	int len = kafka_shelf_write(
	    part->shelves, kafka_letters_topic_name(part), true, text);
	return len < 0 || len > KAFKA_SHELF_FULL;
}

/* --- beside commits --- */

/*
 * What is finished of a partition's dead letters is in its commit, which
 * whoever sets the group back takes away.  So it is kept with the floors too,
 * beside the partition's own: "COUNT TEXT CLUSTER", where TEXT is that of the
 * commit (kafka_shelf.h).  Each owner knows what those before it have finished,
 * so COUNT only grows, unless the topic of dead letters is another one.
 */

/* A commit of ours is never older than that. */
void
kafka_letters_floor_recall(struct kafka_part *part)
{
	struct kafka_shelved *shelved = &part->shelved;
	bool is_ours = part->commit.low >= 0 && !part->commit.foreign;
	if (!part->has_commit || is_ours || shelved->kept == NULL)
		return;
	kafka_shelf_read(&part->shelves, kafka_letters_topic_name(part),
	    span_str(shelved->kept));
	shelved->news = part->shelves != NULL;
}

static void
keep_text(struct kafka_shelved *shelved, char *text)
{
	free(shelved->kept);
	shelved->kept = text;
}

void
kafka_letters_floor_set(struct kafka_part *part, struct span floor)
{
	struct kafka_shelved *shelved = &part->shelved;
	struct span number, text;
	int64_t count;
	part->has_letters = true;
	if (!span_next(&floor, ' ', &number) ||
	    !digits_read(number, INT64_MAX, &count) ||
	    !span_next(&floor, ' ', &text))
		return;
	/* Even what is of no use is in the way of what is less. */
	shelved->count = count;
	if (kafka_part_is_of_cluster(part, floor) &&
	    kafka_shelf_count(kafka_letters_topic_name(part), text) > 0)
		keep_text(shelved, mem_str(text));
	kafka_letters_floor_recall(part);
}

void
kafka_letters_floor_note(struct kafka_part *part, const char *text)
{
	struct kafka_shelved *shelved = &part->shelved;
	const char *kept = shelved->kept != NULL ? shelved->kept : "";
	free(shelved->committed);
	shelved->committed =
	    strcmp(kept, text) != 0 ? mem_text(text) : NULL;
	shelved->news = false;
}

void
kafka_letters_floor_told(struct kafka_part *part, bool good)
{
	struct kafka_shelved *shelved = &part->shelved;
	char *text = shelved->committed;
	shelved->committed = NULL;
	if (!good || text == NULL) {
		free(text);
		return;
	}
	int64_t count = kafka_shelf_count(
	    kafka_letters_topic_name(part), span_str(text));
	bool lower = shelved->again || count < shelved->count;
	char *floor = mem_printf("%" PRId64 " %s", count, text);
	if (kafka_part_keep(part, shelved->name, floor, lower)) {
		keep_text(shelved, mem_text(text));
		shelved->count = count;
		shelved->again = false;
	}
	free(floor);
	free(text);
}

void
kafka_letters_floor_forget(struct kafka_part *part)
{
	kafka_shelf_clear(&part->shelves);
	free(part->shelved.name);
	free(part->shelved.kept);
	free(part->shelved.committed);
}

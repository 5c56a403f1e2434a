/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "broker/kafka/kafka_letters_private.h"

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

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/kafka/kafka_private.h"
#include "messages/broker/kafka/kafka_scan.h"
#include "messages/broker/kafka/kafka_shelf.h"

/*
 * What the files of dead letters share: kafka_letters.c (what is known of
 * them, and kept beside commits), kafka_letters_page.c (they are looked for)
 * and kafka_letters_end.c (they are finished).
 */
struct kafka_letters {
	struct kafka *kafka;
	/* Topics of dead letters, each once, and which is whose. */
	struct kafka_letters_topic {
		char *name;
		int32_t count; /* of partitions; 0: not known */
	} *topics;
	size_t n_topics;
	unsigned *of; /* by the source's topics */

	struct kafka_scan *scan; /* NULL: nothing was looked for yet */
	struct kafka_page *pages;
	struct kafka_scan_job *look; /* under way; NULL: none */
	int64_t look_ms; /* the next one, by the loop's clock */

	struct kafka_letter_ends {
		struct kafka_letter_end *first, **last;
	} ends, sent; /* that wait, and those of the batch */
};

/* The source's partition of a position, where we have it; or NULL. */
struct kafka_part *kafka_letters_owner(
    const struct kafka *kafka, struct span position);
/* The topic of its dead letters. */
unsigned kafka_letters_topic(const struct kafka_part *part);
const char *kafka_letters_topic_name(const struct kafka_part *part);
/* Whether so much is finished between others that no more may begin. */
bool kafka_letters_full(const struct kafka_part *part);

/* What is about to be committed of them, with a NUL. */
void kafka_letters_floor_note(struct kafka_part *part, const char *text);

/* --- kafka_letters_page.c --- */

/* All that was found of partitions that are ours is known from now on. */
void kafka_letters_page_end(struct kafka_letters *letters);
/* Reads what is not known yet of that position's partition. */
void kafka_letters_page_read(
    struct kafka_letters *letters, struct span position);

/* --- kafka_letters_end.c --- */

void kafka_letters_end_init(struct kafka_letters *letters);

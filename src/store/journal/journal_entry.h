/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <sys/types.h>

#include "base/body.h"
#include "base/must.h"
#include "store/record/key_id.h"
#include "store/record/origin.h"
#include "store/record/owner.h"
#include "store/record/reason.h"
#include "store/record/release.h"

/*
 * The format of a journal's file: records one after another, each a head and a
 * payload, numbers little endian.  Head and payload have a checksum each, so
 * that a record with a damaged payload can be skipped, and a wrong length is
 * never believed.  It knows nothing of who writes where.  Any thread; the
 * caller owns file and memory.
 *
 *   head  magic 4, letter of the kind 1, zeros 3, bytes of the payload 4,
 *         id 8, mask 16, checksum of the payload 16, checksum of all that 16
 *   payload  key id 16, owner 16, attempt 4, release 1
 *         (record/release.h), letter of the reason 1, status 2, retention 8,
 *         unknown retention 8, bytes of the provenance 4;
 *         fingerprint 16, tries 4, created 8, deadline 8, id 16 and place 16
 *         of the store, bytes of the entity's name, of its version, and of that
 *         as JSON, 2 each; the provenance, these three, the answer
 *
 * The payload's bytes are combined (exclusive or) with the mask, over and over,
 * which is random for each record.  An answer is what an upstream says, and so
 * might have a whole record in it that somebody made up; but nobody can choose
 * what stands in the file, since the mask is drawn after the answer was given.
 * So where a head is damaged, the next one is found again by its magic and its
 * checksum, and it is one of ours.
 *
 * The format before (JOURNAL_1) has no mask, and its payload nothing behind the
 * bytes of the provenance but that, which is the route, and the answer:
 * whatever is behind a damaged head might be made up.
 *
 * The checksum is BLAKE2b (RFC 7693) of 16 bytes, a hash that we have anyway:
 * an answer may have hundreds of megabytes, and must never be taken for another
 * one.
 */
enum journal_format { JOURNAL_1 = 1, JOURNAL_2 };

/* An entry is an operation that a store is to do, with its arguments. */
enum journal_kind { JOURNAL_COMPLETE, JOURNAL_RELEASE, JOURNAL_UNKNOWN };

struct journal_entry {
	enum journal_kind kind;
	struct key_id key_id;
	struct owner owner;
	uint32_t attempt;
	enum release release; /* RELEASE */
	enum reason reason;   /* UNKNOWN */
	int64_t retention_ms;
	int64_t unknown_retention_ms;
	/*
	 * RELEASE of a claim whose reply was lost (attempt 0): until then Redis
	 * may still execute it, by its own clock.
	 */
	int64_t deadline_ms;
	struct origin origin; /* the store that it is for */
	/* All that it takes to make a record again that is gone: */
	uint8_t fingerprint[DIGEST_BYTES];
	uint32_t tries;
	int64_t created_ms; /* 0: not known, and it cannot be made again */
	struct span provenance; /* record/provenance.h */
	/* The entity that the request changes (store_entity), or empty: */
	struct span entity; /* its name */
	struct span version, shown;
	int status; /* COMPLETE: of the answer; 0: not known */
	struct span answer; /* COMPLETE: as it is stored in Redis */
};

/* All that is known of an open entry without reading it. */
struct journal_about {
	enum journal_kind kind;
	bool versioned; /* an answer that raises its entity's version */
	struct key_id key_id;
	uint8_t entity[DIGEST_BYTES];
	struct origin origin;
	size_t answer_bytes;
};

struct journal_about journal_entry_about(const struct journal_entry *entry);

enum {
	JOURNAL_SUM_BYTES = 16,
	JOURNAL_MASK_BYTES = 16,
	JOURNAL_HEAD_BYTES = 36 + JOURNAL_MASK_BYTES + JOURNAL_SUM_BYTES,
	/* The part of the payload in front of the provenance. */
	JOURNAL_FIXED_BYTES = 134,
	JOURNAL_PARTS = 6, /* of a payload */
};

/* The letter of a record without payload: the entry of its id is done. */
#define JOURNAL_FINISHED 'S'

struct journal_head {
	enum journal_format format;
	char kind; /* a letter; one that we do not know is damage */
	uint32_t payload_bytes;
	uint64_t id;
	uint8_t mask[JOURNAL_MASK_BYTES];
	uint8_t sum[JOURNAL_SUM_BYTES]; /* of the payload, without mask */
};

/* The bytes of a head, of each format; JOURNAL_HEAD_BYTES at most. */
extern const size_t journal_entry_head_bytes[];

/*
 * Makes the head of a record whose payload is these parts, one after another,
 * up to UINT32_MAX bytes; and writes its bytes.
 */
struct journal_head journal_entry_put_head(enum journal_format format,
    char letter, uint64_t id, const struct span *payload, unsigned n_payload,
    uint8_t ret_bytes[JOURNAL_HEAD_BYTES]);
/*
 * Writes the payload up to its provenance, in the format JOURNAL_2; *ret_parts
 * are those bytes, and the parts of the payload behind them, in their order.
 * Returns the letter of its kind.
 */
char journal_entry_put(const struct journal_entry *entry,
    uint8_t ret_fixed[JOURNAL_FIXED_BYTES],
    struct span ret_parts[JOURNAL_PARTS]);
/*
 * Puts the mask on, or takes it off, where these bytes stand at that offset of
 * the payload.
 */
void journal_entry_mask(const struct journal_head *head, size_t at,
    char *bytes, size_t len);

/*
 * Reads the head at an offset: 0; E_MALFORMED where the file ends before, or
 * there is no head of that format; an errno (positive) where the file cannot be
 * read.
 */
MUST_USE int journal_entry_read_head(enum journal_format format, int file,
    off_t at, struct journal_head *ret_head);
/*
 * Finds the first head at that offset or behind it, whose payload ends within
 * the file's size: 0, E_MALFORMED where there is none, or an errno.  Of format
 * JOURNAL_2 alone.
 */
MUST_USE int journal_entry_find_head(int file, off_t from, off_t size,
    off_t *ret_at);
/*
 * Reads the payload of the head at that offset into *bytes, whose content is
 * replaced; the entry's spans point into it.  0; E_MALFORMED or an errno as
 * above; or E_NO_MEMORY where the budget does not allow it.
 */
MUST_USE int journal_entry_read(int file, off_t at,
    const struct journal_head *head, struct body *bytes,
    struct journal_entry *ret_entry);

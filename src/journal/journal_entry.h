/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <sys/types.h>

#include "base/body.h"
#include "base/must.h"
#include "record/key_id.h"
#include "record/owner.h"
#include "record/reason.h"

/*
 * The format of a journal's file: records one after another, each a head and a
 * payload, numbers little endian.  Head and payload have a checksum each, so
 * that a record with a damaged payload can be skipped, and a wrong length is
 * never believed.  It knows nothing of who writes where.  Any thread; the
 * caller owns file and memory.
 *
 *   head  magic 4, letter of the kind 1, zeros 3, bytes of the payload 4,
 *         id 8, checksum of the payload 16, checksum of all that 16
 *   payload  key id 16, owner 16, attempt 4, sent 1, letter of the reason 1,
 *         status 2, retention 8, unknown retention 8, bytes of the route 4,
 *         the route, the answer
 *
 * The checksum is BLAKE2b (RFC 7693) of 16 bytes, a hash that we have anyway:
 * an answer may have hundreds of megabytes, and must never be taken for another
 * one.
 */

/* What an entry is to do, and the arguments of that operation of a store. */
enum journal_kind { JOURNAL_COMPLETE, JOURNAL_RELEASE, JOURNAL_UNKNOWN };

struct journal_entry {
	enum journal_kind kind;
	struct key_id key_id;
	struct owner owner;
	uint32_t attempt;
	bool sent;          /* RELEASE: it counts as an attempt */
	enum reason reason; /* UNKNOWN */
	int64_t retention_ms;
	int64_t unknown_retention_ms;
	struct span route;
	int status; /* COMPLETE: of the answer; 0: not known */
	struct span answer; /* COMPLETE: as it is stored in Redis */
};

enum {
	JOURNAL_SUM_BYTES = 16,
	JOURNAL_HEAD_BYTES = 36 + JOURNAL_SUM_BYTES,
	JOURNAL_FIXED_BYTES = 60, /* of the payload, in front of the route */
};

/* The letter of a record without payload: the entry of its id is done. */
#define JOURNAL_FINISHED 'S'

struct journal_head {
	char kind; /* a letter; one that we do not know is damage */
	uint32_t payload_bytes;
	uint64_t id;
	uint8_t sum[JOURNAL_SUM_BYTES]; /* of the payload */
};

/* The letter of a kind. */
char journal_entry_letter(enum journal_kind kind);

/*
 * Writes the head of a record whose payload is these parts, one after another;
 * up to UINT32_MAX bytes.
 */
void journal_entry_put_head(char letter, uint64_t id,
    const struct span *payload, unsigned n_payload,
    uint8_t ret_bytes[JOURNAL_HEAD_BYTES]);
/* Writes the payload up to its route. */
void journal_entry_put_fixed(const struct journal_entry *entry,
    uint8_t ret_bytes[JOURNAL_FIXED_BYTES]);

/*
 * Reads the head at an offset: 0; E_MALFORMED where the file ends before, or
 * there is no head; an errno (positive) where the file cannot be read.
 */
MUST_USE int journal_entry_read_head(
    int file, off_t at, struct journal_head *ret_head);
/*
 * Reads the payload of the head at that offset into *bytes, whose content is
 * replaced; the entry's spans point into it.  0; E_MALFORMED or an errno as
 * above; or E_NO_MEMORY where the budget does not allow it.
 */
MUST_USE int journal_entry_read(int file, off_t at,
    const struct journal_head *head, struct body *bytes,
    struct journal_entry *ret_entry);

/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/test_build.h"
#include "store/journal/journal_entry.h"
#include "store/record/reason.h"

enum {
	MAGIC_BYTES = 4,
	WINDOW_BYTES = 64 * 1024, /* of the file, in the search for a head */
};

/* A head in front of its mask; numbers are little endian. */
struct head_start {
	char magic[MAGIC_BYTES];
	char kind;
	uint8_t zeros[3];
	uint32_t payload_bytes;
	uint64_t id;
} __attribute__((packed));

/* A payload in front of its provenance, likewise. */
struct fixed {
	struct key_id key_id;
	struct owner owner;
	uint32_t attempt;
	uint8_t release;
	char reason;
	uint16_t status;
	uint64_t retention_ms;
	uint64_t unknown_retention_ms;
	uint32_t provenance_bytes;
	/* Here one of JOURNAL_1 ends. */
	uint8_t fingerprint[DIGEST_BYTES];
	uint32_t tries;
	uint64_t created_ms;
	uint64_t deadline_ms;
	struct origin origin;
	uint16_t entity_bytes;
	uint16_t version_bytes;
	uint16_t shown_bytes;
} __attribute__((packed));

enum { FIXED_1_BYTES = offsetof(struct fixed, fingerprint) };
_Static_assert(sizeof(struct head_start) == 20 && FIXED_1_BYTES == 60 &&
	sizeof(struct fixed) == JOURNAL_FIXED_BYTES,
    "another format than that of written files");

static const struct {
	char magic[MAGIC_BYTES + 1];
	size_t mask_bytes;
} formats[] = {
    [JOURNAL_1] = {"oj1\n", 0},
    [JOURNAL_2] = {"oj2\n", JOURNAL_MASK_BYTES},
};

/* In the order of enum journal_kind. */
static const char letters[] = {'C', 'R', 'U'};

struct journal_about
journal_entry_about(const struct journal_entry *entry)
{
	struct journal_about about = {
	    .kind = entry->kind,
	    .key_id = entry->key_id,
	    .origin = entry->origin,
	    .answer_bytes = entry->answer.len,
	    .versioned = entry->kind == JOURNAL_COMPLETE &&
		entry->entity.len == DIGEST_BYTES && entry->version.len > 0,
	};
	if (about.versioned)
		memcpy(about.entity, entry->entity.ptr, DIGEST_BYTES);
	return about;
}

const size_t journal_entry_head_bytes[] = {
    [JOURNAL_1] = JOURNAL_HEAD_BYTES - JOURNAL_MASK_BYTES,
    [JOURNAL_2] = JOURNAL_HEAD_BYTES,
};

void
journal_entry_mask(
    const struct journal_head *head, size_t at, char *bytes, size_t len)
{
	if (formats[head->format].mask_bytes == 0)
		return;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(bytes[i] ^
		    head->mask[(at + i) % JOURNAL_MASK_BYTES]);
}

/* --- writing --- */

static void
checksum(const struct span *parts, unsigned n_parts,
    uint8_t ret_sum[JOURNAL_SUM_BYTES])
{
	crypto_generichash_state state;
	crypto_generichash_init(&state, NULL, 0, JOURNAL_SUM_BYTES);
	for (unsigned i = 0; i < n_parts; i++)
		crypto_generichash_update(&state,
		    (const unsigned char *)parts[i].ptr, parts[i].len);
	crypto_generichash_final(&state, ret_sum, JOURNAL_SUM_BYTES);
}

struct journal_head
journal_entry_put_head(enum journal_format format, char letter, uint64_t id,
    const struct span *payload, unsigned n_payload,
    uint8_t ret_bytes[JOURNAL_HEAD_BYTES])
{
	struct journal_head head = {.format = format, .kind = letter, .id = id};
	size_t len = 0;
	for (unsigned i = 0; i < n_payload; i++)
		len += payload[i].len;
	must(len <= UINT32_MAX);
	head.payload_bytes = (uint32_t)len;
	if (INVARIANT(journal_masked))
		random_bytes(head.mask, sizeof head.mask);
	checksum(payload, n_payload, head.sum);

	struct head_start start = {.kind = letter,
	    .payload_bytes = htole32(head.payload_bytes),
	    .id = htole64(id)};
	memcpy(start.magic, formats[format].magic, MAGIC_BYTES);
	size_t mask_bytes = formats[format].mask_bytes;
	uint8_t *at = ret_bytes + sizeof start;
	memcpy(ret_bytes, &start, sizeof start);
	memcpy(at, head.mask, mask_bytes);
	at += mask_bytes;
	memcpy(at, head.sum, JOURNAL_SUM_BYTES);
	at += JOURNAL_SUM_BYTES;
	struct span summed = span_of(ret_bytes, (size_t)(at - ret_bytes));
	checksum(&summed, 1, at);
	return head;
}

char
journal_entry_put(const struct journal_entry *entry,
    uint8_t ret_fixed[JOURNAL_FIXED_BYTES],
    struct span ret_parts[JOURNAL_PARTS])
{
	struct fixed f = {
	    .key_id = entry->key_id,
	    .owner = entry->owner,
	    .attempt = htole32(entry->attempt),
	    .release = (uint8_t)entry->release,
	    .reason = reason_letters[entry->reason],
	    .status = htole16((uint16_t)entry->status),
	    .retention_ms = htole64((uint64_t)entry->retention_ms),
	    .unknown_retention_ms =
		htole64((uint64_t)entry->unknown_retention_ms),
	    .provenance_bytes = htole32((uint32_t)entry->provenance.len),
	    .tries = htole32(entry->tries),
	    .created_ms = htole64((uint64_t)entry->created_ms),
	    .deadline_ms = htole64((uint64_t)entry->deadline_ms),
	    .origin = entry->origin,
	    .entity_bytes = htole16((uint16_t)entry->entity.len),
	    .version_bytes = htole16((uint16_t)entry->version.len),
	    .shown_bytes = htole16((uint16_t)entry->shown.len),
	};
	memcpy(f.fingerprint, entry->fingerprint, sizeof f.fingerprint);
	memcpy(ret_fixed, &f, sizeof f);
	ret_parts[0] = span_of(ret_fixed, JOURNAL_FIXED_BYTES);
	ret_parts[1] = entry->provenance;
	ret_parts[2] = entry->entity;
	ret_parts[3] = entry->version;
	ret_parts[4] = entry->shown;
	ret_parts[5] = entry->answer;
	return letters[entry->kind];
}

/* --- reading --- */

/* 0; E_MALFORMED where the file ends before; or an errno. */
static int
read_at(int file, void *bytes, size_t len, off_t at)
{
	char *to = bytes;
	while (len > 0) {
		ssize_t got = pread(file, to, len, at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno;
		if (got == 0)
			return E_MALFORMED;
		to += got;
		at += got;
		len -= (size_t)got;
	}
	return 0;
}

/* Reads a head from its bytes; false: it is none. */
static bool
get_head(enum journal_format format, const uint8_t *bytes,
    struct journal_head *ret_head)
{
	uint8_t sum[JOURNAL_SUM_BYTES];
	size_t summed_bytes =
	    journal_entry_head_bytes[format] - JOURNAL_SUM_BYTES;
	struct span summed = span_of(bytes, summed_bytes);
	if (memcmp(bytes, formats[format].magic, MAGIC_BYTES) != 0)
		return false;
	checksum(&summed, 1, sum);
	if (memcmp(bytes + summed_bytes, sum, sizeof sum) != 0)
		return false;
	struct head_start start;
	memcpy(&start, bytes, sizeof start);
	*ret_head = (struct journal_head){.format = format,
	    .kind = start.kind,
	    .payload_bytes = le32toh(start.payload_bytes),
	    .id = le64toh(start.id)};
	bytes += sizeof start;
	memcpy(ret_head->mask, bytes, formats[format].mask_bytes);
	memcpy(ret_head->sum, bytes + formats[format].mask_bytes,
	    JOURNAL_SUM_BYTES);
	return true;
}

int
journal_entry_read_head(enum journal_format format, int file, off_t at,
    struct journal_head *ret_head)
{
	uint8_t bytes[JOURNAL_HEAD_BYTES];
	int error = read_at(file, bytes, journal_entry_head_bytes[format], at);
	if (error != 0)
		return error;
	return get_head(format, bytes, ret_head) ? 0 : E_MALFORMED;
}

int
journal_entry_find_head(int file, off_t from, off_t size, off_t *ret_at)
{
	uint8_t *bytes = mem_grow(NULL, WINDOW_BYTES);
	struct journal_head head;
	bool found = false;
	int error = 0;
	while (error == 0 && !found && size - from >= JOURNAL_HEAD_BYTES) {
		off_t left = size - from;
		size_t len = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
		const uint8_t *at = bytes;
		error = read_at(file, bytes, len, from);
		while (error == 0 && !found &&
		    (at = memmem(at, len - (size_t)(at - bytes),
			 formats[JOURNAL_2].magic, MAGIC_BYTES)) != NULL) {
			size_t offset = (size_t)(at - bytes);
			if (len - offset < JOURNAL_HEAD_BYTES)
				break;
			found = get_head(JOURNAL_2, at, &head) &&
			    (off_t)(offset + JOURNAL_HEAD_BYTES) +
				    (off_t)head.payload_bytes <= left;
			if (found)
				*ret_at = from + (off_t)offset;
			at++;
		}
		/* A head may begin in this piece and end in the next. */
		from += (off_t)len - (JOURNAL_HEAD_BYTES - 1);
	}
	free(bytes);
	return error == 0 && !found ? E_MALFORMED : error;
}

/* Takes that many bytes off the front; false: there are not so many. */
static bool
take(struct span *rest, uint64_t len, struct span *ret_part)
{
	if (len > rest->len)
		return false;
	*ret_part = span_of(rest->ptr, (size_t)len);
	*rest = span_from(*rest, (size_t)len);
	return true;
}

static bool
get_entry(const struct journal_head *head, struct span payload,
    struct journal_entry *ret_entry)
{
	struct fixed f = {.entity_bytes = 0}; /* as JOURNAL_1 has none */
	size_t fixed_bytes =
	    head->format == JOURNAL_1 ? FIXED_1_BYTES : sizeof f;
	const char *kind = memchr(letters, head->kind, sizeof letters);
	if (kind == NULL || payload.len < fixed_bytes)
		return false;
	memcpy(&f, payload.ptr, fixed_bytes);
	struct journal_entry entry = {
	    .kind = (enum journal_kind)(kind - letters),
	    .key_id = f.key_id,
	    .owner = f.owner,
	    .attempt = le32toh(f.attempt),
	    /* A later release may know others; it was sent. */
	    .release = f.release < RELEASE_COUNT_
		? (enum release)f.release
		: RELEASE_COUNTED,
	    .status = le16toh(f.status),
	    .retention_ms = (int64_t)le64toh(f.retention_ms),
	    .unknown_retention_ms = (int64_t)le64toh(f.unknown_retention_ms),
	    .tries = le32toh(f.tries),
	    .created_ms = (int64_t)le64toh(f.created_ms),
	    .deadline_ms = (int64_t)le64toh(f.deadline_ms),
	    .origin = f.origin,
	};
	memcpy(entry.fingerprint, f.fingerprint, sizeof f.fingerprint);
	struct span rest = span_from(payload, fixed_bytes);
	if (!reason_of(f.reason, &entry.reason) ||
	    !take(&rest, le32toh(f.provenance_bytes), &entry.provenance) ||
	    !take(&rest, le16toh(f.entity_bytes), &entry.entity) ||
	    !take(&rest, le16toh(f.version_bytes), &entry.version) ||
	    !take(&rest, le16toh(f.shown_bytes), &entry.shown))
		return false;
	entry.answer = rest;
	*ret_entry = entry;
	return true;
}

int
journal_entry_read(int file, off_t at, const struct journal_head *head,
    struct body *bytes, struct journal_entry *ret_entry)
{
	uint8_t sum[JOURNAL_SUM_BYTES];
	body_clear(bytes);
	int error = body_reserve(bytes, head->payload_bytes, BUDGET_COMMON);
	if (error == 0)
		error = read_at(file, bytes->ptr, head->payload_bytes,
		    at + (off_t)journal_entry_head_bytes[head->format]);
	if (error != 0)
		return error;
	bytes->len = head->payload_bytes;
	journal_entry_mask(head, 0, bytes->ptr, bytes->len);
	struct span payload = body_span(bytes);
	checksum(&payload, 1, sum);
	if ((memcmp(sum, head->sum, sizeof sum) != 0 &&
		INVARIANT(journal_sum)) ||
	    !get_entry(head, payload, ret_entry))
		return E_MALFORMED;
	return 0;
}

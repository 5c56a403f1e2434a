/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/test_build.h"
#include "journal/journal_entry.h"
#include "record/reason.h"

#define MAGIC "oj1\n"

enum { SUMMED_BYTES = JOURNAL_HEAD_BYTES - JOURNAL_SUM_BYTES };

/* In the order of enum journal_kind. */
static const char letters[] = {'C', 'R', 'U'};

char
journal_entry_letter(enum journal_kind kind)
{
	return letters[kind];
}

/* --- writing --- */

static void
put_number(uint8_t *at, unsigned bytes, uint64_t number)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(number >> (8 * i));
}

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

void
journal_entry_put_head(char letter, uint64_t id, const struct span *payload,
    unsigned n_payload, uint8_t ret_bytes[JOURNAL_HEAD_BYTES])
{
	size_t len = 0;
	for (unsigned i = 0; i < n_payload; i++)
		len += payload[i].len;
	must(len <= UINT32_MAX);
	memset(ret_bytes, 0, JOURNAL_HEAD_BYTES);
	memcpy(ret_bytes, MAGIC, 4);
	ret_bytes[4] = (uint8_t)letter;
	put_number(ret_bytes + 8, 4, len);
	put_number(ret_bytes + 12, 8, id);
	checksum(payload, n_payload, ret_bytes + 20);
	struct span summed = span_of(ret_bytes, SUMMED_BYTES);
	checksum(&summed, 1, ret_bytes + SUMMED_BYTES);
}

void
journal_entry_put_fixed(const struct journal_entry *entry,
    uint8_t ret_bytes[JOURNAL_FIXED_BYTES])
{
	memset(ret_bytes, 0, JOURNAL_FIXED_BYTES);
	memcpy(ret_bytes, entry->key_id.bytes, 16);
	memcpy(ret_bytes + 16, entry->owner.bytes, 16);
	put_number(ret_bytes + 32, 4, entry->attempt);
	ret_bytes[36] = entry->sent;
	ret_bytes[37] = (uint8_t)reason_letter(entry->reason);
	put_number(ret_bytes + 38, 2, (uint64_t)entry->status);
	put_number(ret_bytes + 40, 8, (uint64_t)entry->retention_ms);
	put_number(ret_bytes + 48, 8, (uint64_t)entry->unknown_retention_ms);
	put_number(ret_bytes + 56, 4, entry->route.len);
}

/* --- reading --- */

static uint64_t
get_number(const uint8_t *at, unsigned bytes)
{
	uint64_t number = 0;
	for (unsigned i = 0; i < bytes; i++)
		number |= (uint64_t)at[i] << (8 * i);
	return number;
}

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

int
journal_entry_read_head(int file, off_t at, struct journal_head *ret_head)
{
	uint8_t bytes[JOURNAL_HEAD_BYTES], sum[JOURNAL_SUM_BYTES];
	int error = read_at(file, bytes, sizeof bytes, at);
	if (error != 0)
		return error;
	struct span summed = span_of(bytes, SUMMED_BYTES);
	checksum(&summed, 1, sum);
	if (memcmp(bytes, MAGIC, 4) != 0 ||
	    memcmp(bytes + SUMMED_BYTES, sum, sizeof sum) != 0)
		return E_MALFORMED;
	ret_head->kind = (char)bytes[4];
	ret_head->payload_bytes = (uint32_t)get_number(bytes + 8, 4);
	ret_head->id = get_number(bytes + 12, 8);
	memcpy(ret_head->sum, bytes + 20, JOURNAL_SUM_BYTES);
	return 0;
}

static bool
get_entry(char letter, struct span payload, struct journal_entry *ret_entry)
{
	struct journal_entry entry;
	const char *kind = memchr(letters, letter, sizeof letters);
	if (kind == NULL || payload.len < JOURNAL_FIXED_BYTES)
		return false;
	const uint8_t *bytes = (const uint8_t *)payload.ptr;
	struct span rest = span_from(payload, JOURNAL_FIXED_BYTES);
	uint64_t route_bytes = get_number(bytes + 56, 4);
	if (!reason_of((char)bytes[37], &entry.reason) ||
	    route_bytes > rest.len)
		return false;
	entry.kind = (enum journal_kind)(kind - letters);
	memcpy(entry.key_id.bytes, bytes, 16);
	memcpy(entry.owner.bytes, bytes + 16, 16);
	entry.attempt = (uint32_t)get_number(bytes + 32, 4);
	entry.sent = bytes[36] != 0;
	entry.status = (int)get_number(bytes + 38, 2);
	entry.retention_ms = (int64_t)get_number(bytes + 40, 8);
	entry.unknown_retention_ms = (int64_t)get_number(bytes + 48, 8);
	entry.route = span_of(rest.ptr, (size_t)route_bytes);
	entry.answer = span_from(rest, (size_t)route_bytes);
	*ret_entry = entry;
	return true;
}

int
journal_entry_read(int file, off_t at, const struct journal_head *head,
    struct body *bytes, struct journal_entry *ret_entry)
{
	uint8_t sum[JOURNAL_SUM_BYTES];
	body_clear(bytes);
	int error = body_reserve(bytes, head->payload_bytes);
	if (error == 0)
		error = read_at(file, bytes->ptr, head->payload_bytes,
		    at + JOURNAL_HEAD_BYTES);
	if (error != 0)
		return error;
	bytes->len = head->payload_bytes;
	struct span payload = body_span(bytes);
	checksum(&payload, 1, sum);
	if ((memcmp(sum, head->sum, sizeof sum) != 0 &&
		INVARIANT(journal_sum)) ||
	    !get_entry(head->kind, payload, ret_entry))
		return E_MALFORMED;
	return 0;
}

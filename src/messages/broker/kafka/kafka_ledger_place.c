/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "messages/broker/kafka/kafka_ledger_place.h"

enum { HEX_DIGITS = 16 };

static size_t
put_place(char *out, size_t size, const struct kafka_ledger_place *place)
{
	int len;
	if (!place->known)
		len = snprintf(out, size, " -");
	else if (place->count < 0)
		len = snprintf(out, size, " %llx-%llx",
		    (unsigned long long)place->ms,
		    (unsigned long long)place->seq);
	else
		len = snprintf(out, size, " %llx-%llx-%llx",
		    (unsigned long long)place->ms,
		    (unsigned long long)place->seq,
		    (unsigned long long)place->count);
	must(len > 0 && (size_t)len < size);
	return (size_t)len;
}

size_t
kafka_ledger_place_write(int64_t turn, const struct kafka_ledger_place *places,
    size_t n, char ret_text[KAFKA_LEDGER_TEXT_MAX])
{
	must(n <= KAFKA_LEDGER_SHARDS);
	int head = snprintf(ret_text, KAFKA_LEDGER_TEXT_MAX, "1 %llx",
	    (unsigned long long)turn);
	size_t len = (size_t)head;
	for (size_t i = 0; i < n; i++)
		len += put_place(
		    ret_text + len, KAFKA_LEDGER_TEXT_MAX - len, &places[i]);
	return len;
}

/* --- reading --- */

static int
digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
				      : -1;
}

/* A number of hex digits at the front, which it takes away. */
static bool
take_hex(struct span *text, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t n = 0;
	for (; n < text->len && digit_of(text->ptr[n]) >= 0; n++)
		number = number << 4 | (uint64_t)digit_of(text->ptr[n]);
	*text = span_from(*text, n);
	*ret_number = number;
	return n > 0 && n <= HEX_DIGITS;
}

static bool
take_count(struct span *text, int64_t *ret_number)
{
	uint64_t number;
	if (!take_hex(text, &number) || number > INT64_MAX)
		return false;
	*ret_number = (int64_t)number;
	return true;
}

static bool
take_dash(struct span *text)
{
	if (text->len == 0 || *text->ptr != '-')
		return false;
	*text = span_from(*text, 1);
	return true;
}

static bool
read_place(struct span word, struct kafka_ledger_place *place)
{
	if (span_eq(word, SPAN("-")))
		return true;
	place->count = -1;
	if (!take_hex(&word, &place->ms) || !take_dash(&word) ||
	    !take_hex(&word, &place->seq))
		return false;
	if (word.len > 0 &&
	    (!take_dash(&word) || !take_count(&word, &place->count)))
		return false;
	place->known = true;
	return word.len == 0;
}

static bool
read_turn_and_places(struct span text, int64_t *ret_turn,
    struct kafka_ledger_place *places, size_t n)
{
	struct span word;
	if (!span_next(&text, ' ', &word) || !span_eq(word, SPAN("1")) ||
	    !span_next(&text, ' ', &word) || !take_count(&word, ret_turn) ||
	    word.len > 0)
		return false;
	for (size_t i = 0; span_next(&text, ' ', &word); i++)
		if (i >= n || !read_place(word, &places[i]))
			return false;
	return true;
}

bool
kafka_ledger_place_read(struct span text, int64_t *ret_turn,
    struct kafka_ledger_place *ret_places, size_t n)
{
	memset(ret_places, 0, n * sizeof *ret_places);
	*ret_turn = 0;
	if (read_turn_and_places(text, ret_turn, ret_places, n))
		return true;
	memset(ret_places, 0, n * sizeof *ret_places);
	*ret_turn = 0;
	return false;
}

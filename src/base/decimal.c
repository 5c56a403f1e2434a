/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/digits.h"

/* A number taken apart; the spans point into its text. */
struct number {
	bool negative;
	struct span whole;
	struct span fraction; /* the digits behind the point, or empty */
	bool down;            /* the exponent is negative */
	struct span exponent; /* its digits, or empty */
};

/* Exponents of so many digits are int64_t with room for any shift. */
enum { EASY_DIGITS = 18, INT64_CHARS = 20, PLAIN_DIGITS = 64 };

/* Takes digits, one at least, off the front of *text. */
static bool
take_digits(struct span *text, struct span *ret_digits)
{
	size_t n = 0;
	while (n < text->len && ascii_is_digit(text->ptr[n]))
		n++;
	*ret_digits = span_of(text->ptr, n);
	*text = span_from(*text, n);
	return n > 0;
}

/* False where *text does not begin with a number. */
static bool
take_apart(struct span *text, struct number *ret_number)
{
	struct number n = {.negative = span_skip(text, SPAN("-"))};
	/* Behind a first zero there are no more digits. */
	if (span_skip(text, SPAN("0")))
		n.whole = span_of(text->ptr - 1, 1);
	else if (!take_digits(text, &n.whole))
		return false;
	if (span_skip(text, SPAN(".")) && !take_digits(text, &n.fraction))
		return false;
	if (span_skip(text, SPAN("e")) || span_skip(text, SPAN("E"))) {
		n.down = span_skip(text, SPAN("-"));
		if (!n.down)
			span_skip(text, SPAN("+"));
		if (!take_digits(text, &n.exponent))
			return false;
	}
	*ret_number = n;
	return true;
}

static struct span
without_leading_zeros(struct span digits)
{
	while (digits.len && digits.ptr[0] == '0')
		digits = span_from(digits, 1);
	return digits;
}

/* Writes "e" and the exponent plus shift; nothing where that is 0. */
static size_t
put_exponent(char *out, const struct number *n, int64_t shift)
{
	struct span digits = without_leading_zeros(n->exponent);
	if (digits.len <= EASY_DIGITS) {
		int64_t value;
		(void)digits_take(&digits, INT64_MAX, &value);
		value = (n->down ? -value : value) + shift;
		return value == 0 ? 0
				  : (size_t)snprintf(out, INT64_CHARS + 2,
					"e%" PRId64, value);
	}
	/*
	 * The shift is no more than the text is long, far below an exponent
	 * of so many digits, so the exponent keeps its sign.
	 */
	char *p = out;
	*p++ = 'e';
	if (n->down)
		*p++ = '-';
	p[0] = '0'; /* room for a carry */
	size_t len = (size_t)(span_put(p + 1, digits) - p);
	int64_t carry = n->down ? -shift : shift;
	for (size_t i = len; i-- > 0 && carry != 0;) {
		int64_t sum = p[i] - '0' + carry;
		int64_t digit = ((sum % 10) + 10) % 10;
		p[i] = (char)('0' + digit);
		carry = (sum - digit) / 10;
	}
	must(carry == 0);
	digits = without_leading_zeros(span_of(p, len));
	memmove(p, digits.ptr, digits.len);
	return (size_t)(p - out) + digits.len;
}

bool
decimal_take(
    struct arena *arena, struct span *text, struct span *ret_spelling)
{
	struct number n;
	struct span left = *text;
	if (!take_apart(&left, &n))
		return false;
	struct span number = span_of(text->ptr, text->len - left.len);
	*text = left;
	*ret_spelling = number;
	/* Most numbers are whole ones that have that spelling already. */
	if (!n.negative && n.fraction.len == 0 && n.exponent.len == 0 &&
	    (number.len == 1 || number.ptr[number.len - 1] != '0'))
		return true;

	char *out = arena_alloc(arena, number.len + INT64_CHARS + 3);
	char *start = out + n.negative;
	out[0] = '-';
	/* Leading zeros go: of "0.05", those of the fraction too. */
	struct span whole = without_leading_zeros(n.whole);
	char *end = span_put(start, whole);
	end = span_put(
	    end, whole.len ? n.fraction : without_leading_zeros(n.fraction));
	if (end == start) {
		*ret_spelling = SPAN("0");
		return true;
	}
	const char *all = end;
	while (end[-1] == '0')
		end--;
	int64_t shift = (int64_t)(all - end) - (int64_t)n.fraction.len;
	end += put_exponent(end, &n, shift);
	*ret_spelling = span_of(out, (size_t)(end - out));
	return true;
}

struct span
decimal_plain(struct arena *arena, struct span spelling)
{
	struct number n;
	struct span left = spelling, exponent;
	int64_t shift = 0;
	must(take_apart(&left, &n) && left.len == 0);
	exponent = n.exponent;
	if (n.fraction.len > 0 || exponent.len > EASY_DIGITS)
		return spelling;
	(void)digits_take(&exponent, INT64_MAX, &shift);
	if (shift == 0 || shift + (int64_t)n.whole.len > PLAIN_DIGITS)
		return spelling;
	char *out = arena_alloc(arena, PLAIN_DIGITS + 4), *at = out;
	if (n.negative)
		*at++ = '-';
	if (!n.down) {
		at = span_put(at, n.whole);
		memset(at, '0', (size_t)shift);
		return span_of(out, (size_t)(at - out) + (size_t)shift);
	}
	/* As many digits as the shift says go behind the point. */
	size_t behind = (size_t)shift;
	size_t whole = n.whole.len > behind ? n.whole.len - behind : 0;
	at = span_put(at, whole > 0 ? span_of(n.whole.ptr, whole) : SPAN("0"));
	*at++ = '.';
	size_t zeros = behind - (n.whole.len - whole);
	memset(at, '0', zeros);
	at = span_put(at + zeros, span_from(n.whole, whole));
	return span_of(out, (size_t)(at - out));
}

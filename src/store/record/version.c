/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/record/version.h"

#include "base/decimal.h"
#include "base/digits.h"
#include "base/rfc3339.h"

/* The most bytes of a version as JSON. */
enum { SHOWN_MAX = 64 };
/* Added to exponents, so that none is below 0. */
static const int64_t BIAS = INT64_C(5000000000);
/* Added to times, so that none is below 0: from 1 March of the year -400. */
static const int64_t BEFORE_1970_S = INT64_C(865565) * 24 * 3600;

/* spelling: of base/decimal.h, such as "-125e-2". */
static bool
read_number(struct arena *arena, struct span spelling,
    struct span *ret_version, struct span *ret_shown)
{
	/* A copy: the value may not live as long as the arena. */
	struct span plain = decimal_plain(arena, spelling);
	*ret_shown = arena_printf(arena, "%.*s", SPAN_FMT(plain));
	if (ret_shown->len > SHOWN_MAX)
		return false;
	if (span_eq(spelling, SPAN("0"))) {
		*ret_version = SPAN("11");
		return true;
	}
	bool negative = spelling.ptr[0] == '-';
	struct span left = span_from(spelling, negative), digits = left;
	int64_t any, power = 0;
	digits.len = digits_take(&left, INT64_MAX, &any);
	if (left.len > 0) {
		bool down = left.len > 1 && left.ptr[1] == '-';
		if (!digits_read(span_from(left, 1 + down), BIAS / 2, &power))
			return false;
		power = down ? -power : power;
	}
	/* The exponent is that of the first digit. */
	power += (int64_t)digits.len - 1;
	digits = arena_printf(arena, "%010lld%.*s", (long long)(BIAS + power),
	    SPAN_FMT(digits));
	if (negative) {
		/* Counted down from 9, a 0 before each, so longer is less. */
		char *out = arena_alloc(arena, 2 * digits.len + 1);
		for (size_t i = 0; i < digits.len; i++) {
			out[2 * i] = '0';
			out[2 * i + 1] = (char)('0' + '9' - digits.ptr[i]);
		}
		out[2 * digits.len] = '1';
		digits = span_of(out, 2 * digits.len + 1);
	}
	*ret_version = arena_printf(
	    arena, "1%c%.*s", negative ? '0' : '2', SPAN_FMT(digits));
	return true;
}

bool
version_read(struct arena *arena, const struct json *json,
    struct span *ret_version, struct span *ret_shown)
{
	struct span text, fraction;
	int64_t seconds;
	if (json_spelling(json, &text))
		return read_number(arena, text, ret_version, ret_shown);
	if (!json_text(json, &text) || text.len > SHOWN_MAX - 2 ||
	    !rfc3339_parse(text, &seconds, &fraction))
		return false;
	while (fraction.len > 0 && fraction.ptr[fraction.len - 1] == '0')
		fraction.len--;
	*ret_version = arena_printf(arena, "2%012lld%.*s",
	    (long long)(seconds + BEFORE_1970_S), SPAN_FMT(fraction));
	*ret_shown = arena_printf(arena, "\"%.*s\"", SPAN_FMT(text));
	return true;
}

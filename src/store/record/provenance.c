/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/base64.h"
#include "base/digits.h"
#include "base/swar.h"
#include "base/utf8.h"
#include "store/record/provenance.h"

enum { STAMP_DIGITS = 13 };
#define ELLIPSIS SPAN("\xe2\x80\xa6")

struct span
provenance_cut(struct arena *arena, struct span s, size_t max)
{
	size_t end = 0;
	if (s.len <= max)
		return s;
	while (end < s.len) {
		size_t length = utf8_length(span_from(s, end));
		length = length > 0 ? length : 1;
		if (end + length + ELLIPSIS.len > max)
			break;
		end += length;
	}
	return arena_printf(arena, "%.*s%s", (int)end, s.ptr, ELLIPSIS.ptr);
}

struct span
provenance_write(struct arena *arena, const struct provenance *provenance)
{
	const struct span parts[] = {
	    provenance->route,
	    provenance->method,
	    provenance_cut(arena, provenance->path, PROVENANCE_PATH_BYTES),
	    provenance->instance,
	    provenance->label,
	    provenance->request_id,
	};
	enum { COUNT = sizeof parts / sizeof *parts };
	size_t len = COUNT - 1;
	for (size_t i = 0; i < COUNT; i++)
		len += parts[i].len;
	char *line = arena_alloc(arena, len + 1);
	char *at = line;
	for (size_t i = 0; i < COUNT; i++) {
		if (i > 0)
			*at++ = '\t';
		/* Controls would end the line, or a part of it. */
		struct span left = parts[i];
		for (; left.len >= 8 &&
		     swar_printable_bytes(swar_at(left.ptr)) == 8;
		     left = span_from(left, 8), at += 8)
			memcpy(at, left.ptr, 8);
		for (; left.len > 0; left = span_from(left, 1)) {
			unsigned char c = (unsigned char)left.ptr[0];
			*at++ = c < ' ' || c == 0x7f ? ' ' : (char)c;
		}
	}
	return span_of(line, len);
}

struct provenance
provenance_read(struct span line)
{
	struct provenance p;
	struct span *const parts[] = {&p.route, &p.method, &p.path,
	    &p.instance, &p.label, &p.request_id, &p.history};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!span_cut(&line, '\t', parts[i])) {
			*parts[i] = line;
			line = span_from(line, line.len);
		}
	return p;
}

/* --- what operators did, and who asked --- */

/* Of a malformed one nothing is left. */
static struct span
decode(struct arena *arena, struct span base64)
{
	struct span text;
	return base64.len > 0 && base64_decode(arena, base64, BASE64_URL, &text)
	    ? text : SPAN("");
}

struct span
provenance_act_text(struct arena *arena, struct span note, struct span who)
{
	struct span text = base64_url_text(arena, note);
	if (who.len == 0)
		return text;
	who = base64_url_text(arena, who);
	return arena_printf(arena, "%.*s.%.*s", SPAN_FMT(text), SPAN_FMT(who));
}

bool
provenance_next_act(struct arena *arena, struct span *history,
    struct provenance_act *ret_act)
{
	struct span piece, note;
	while (history->len > 0 && span_next(history, ' ', &piece)) {
		if (piece.len <= STAMP_DIGITS ||
		    !digits_read(span_of(piece.ptr, STAMP_DIGITS), INT64_MAX,
			&ret_act->time_ms))
			continue;
		ret_act->letter = piece.ptr[STAMP_DIGITS];
		struct span who = span_from(piece, STAMP_DIGITS + 1);
		if (!span_cut(&who, '.', &note)) {
			note = who;
			who = SPAN("");
		}
		ret_act->note = decode(arena, note);
		ret_act->who = decode(arena, who);
		return true;
	}
	return false;
}

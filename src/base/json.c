/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/digits.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/percent.h"
#include "base/utf8.h"

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
	JSON_FORM, /* an object, too */
	JSON_MANY, /* the values of a form's field that comes twice */
};

struct json {
	enum json_type type;
	union {
		/* A string unescaped, a number in its one spelling. */
		struct span text;
		/* Elements as they stand, members in order of names. */
		struct {
			struct json *first;
			size_t count;
		};
	};
	struct json *next; /* in the array or object that holds it */
	struct span name;  /* of a member; unescaped */
	const char *name_at; /* NULL: of an array's element */
	const char *at;
};

struct reader {
	struct arena *arena;
	struct span left;
	bool written; /* members may be there twice, and no \u0000 */
	struct json_fault fault; /* what is to come next, and where */
};

/* --- strings --- */

/* Skips blanks, up to what is to come next. */
static void
expect(struct reader *r, enum json_want want)
{
	struct span left = r->left;
	while (left.len > 0 && (*left.ptr == ' ' || *left.ptr == '\t' ||
				   *left.ptr == '\n' || *left.ptr == '\r'))
		left = span_from(left, 1);
	r->left = left;
	r->fault = (struct json_fault){want, left.ptr};
}

/* Takes a backslash, u and four hex digits; -1 where they are not. */
static int32_t
take_unit(struct span *in)
{
	int32_t unit = 0;
	if (in->len < 6 || in->ptr[0] != '\\' || in->ptr[1] != 'u')
		return -1;
	for (size_t i = 2; i < 6; i++) {
		int digit = ascii_hex_value(in->ptr[i]);
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	*in = span_from(*in, 6);
	return unit;
}

/* No escape is shorter than what it stands for. */
static bool
unescape(const struct reader *r, struct span raw, struct span *ret_text)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	char *text = arena_alloc(r->arena, raw.len), *at = text;
	while (raw.len > 0) {
		if (raw.ptr[0] != '\\') {
			*at++ = raw.ptr[0];
			raw = span_from(raw, 1);
			continue;
		}
		if (raw.ptr[1] != 'u') {
			const char *known =
			    memchr(from, raw.ptr[1], sizeof(from) - 1);
			if (known == NULL)
				return false;
			*at++ = to[known - from];
			raw = span_from(raw, 2);
			continue;
		}
		/* One unit, or the two of a surrogate pair. */
		int32_t c = take_unit(&raw);
		if (c < r->written || (c >= 0xdc00 && c <= 0xdfff))
			return false;
		if (c >= 0xd800 && c <= 0xdbff) {
			int32_t low = take_unit(&raw);
			if (low < 0xdc00 || low > 0xdfff)
				return false;
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		}
		at += utf8_put((uint32_t)c, at);
	}
	*ret_text = span_of(text, (size_t)(at - text));
	return true;
}

static bool
read_string(struct reader *r, struct span *ret_text)
{
	bool escaped = false;
	size_t len = 0;
	if (!span_skip(&r->left, SPAN("\"")))
		return false;
	struct span raw = r->left;
	while (len < raw.len && raw.ptr[len] != '"') {
		if ((unsigned char)raw.ptr[len] < 0x20)
			return false;
		if (raw.ptr[len++] == '\\') {
			escaped = true;
			len += len < raw.len; /* it may be a quote */
		}
	}
	r->left = span_from(raw, len);
	raw.len = len;
	if (!span_skip(&r->left, SPAN("\"")) || !utf8_is_valid(raw))
		return false;
	if (escaped)
		return unescape(r, raw, ret_text);
	*ret_text = raw;
	return true;
}

/* Those of one name stay as they came. */
static int
compare_names(const void *a, const void *b)
{
	const struct json *x = *(struct json *const *)a;
	const struct json *y = *(struct json *const *)b;
	struct span one = x->name, other = y->name;
	size_t least = one.len < other.len ? one.len : other.len;
	int order = least ? memcmp(one.ptr, other.ptr, least) : 0;
	if (order == 0)
		order = (one.len > other.len) - (one.len < other.len);
	if (order == 0)
		order = (x->name_at > y->name_at) - (x->name_at < y->name_at);
	return order;
}

/* Sorts the members by their names; false where a name is there twice. */
static bool
sort_members(struct arena *arena, struct json *object)
{
	bool unique = true;
	if (object->count < 2)
		return true;
	struct json **order =
	    arena_alloc(arena, object->count * sizeof(struct json *));
	size_t n = 0;
	for (struct json *m = object->first; m; m = m->next)
		order[n++] = m;
	qsort(order, n, sizeof(struct json *), compare_names);

	object->first = order[0];
	for (size_t i = 0; i < n; i++) {
		order[i]->next = i + 1 < n ? order[i + 1] : NULL;
		if (i > 0 && span_eq(order[i - 1]->name, order[i]->name))
			unique = false;
	}
	return unique;
}

/* --- values --- */

static bool read_value(struct reader *r, unsigned depth, struct json *json);

/* The elements of an array or the members of an object, and its brackets. */
static bool
read_items(struct reader *r, unsigned depth, struct json *json)
{
	bool named = json->type == JSON_OBJECT;
	struct span closing = named ? SPAN("}") : SPAN("]");
	enum json_want want = named ? JSON_WANTS_NAME : JSON_WANTS_VALUE;
	struct json **link = &json->first;
	if (depth > JSON_DEPTH) {
		r->fault.want = JSON_WANTS_NO_MORE_DEPTH;
		return false;
	}
	r->left = span_from(r->left, 1);
	expect(r, want);
	if (span_skip(&r->left, closing))
		return true;
	do {
		struct json *item = arena_alloc(r->arena, sizeof(*item));
		*link = item;
		link = &item->next;
		json->count++;
		expect(r, want);
		if (named) {
			item->name_at = r->left.ptr;
			if (!read_string(r, &item->name))
				return false;
			expect(r, JSON_WANTS_COLON);
			if (!span_skip(&r->left, SPAN(":")))
				return false;
			expect(r, JSON_WANTS_VALUE);
		}
		if (!read_value(r, depth, item))
			return false;
		expect(r, JSON_WANTS_COMMA);
	} while (span_skip(&r->left, SPAN(",")));
	return span_skip(&r->left, closing);
}

static bool
read_value(struct reader *r, unsigned depth, struct json *json)
{
	json->at = r->left.ptr;
	if (r->left.len == 0)
		return false;
	switch (*json->at) {
	case 'n':
		json->type = JSON_NULL;
		return span_skip(&r->left, SPAN("null"));
	case 'f':
		json->type = JSON_FALSE;
		return span_skip(&r->left, SPAN("false"));
	case 't':
		json->type = JSON_TRUE;
		return span_skip(&r->left, SPAN("true"));
	case '"':
		json->type = JSON_STRING;
		if (!read_string(r, &json->text))
			return false;
		/* It may be a secret, and has no copy then. */
		if (r->written && json->text.ptr != json->at + 1)
			explicit_bzero((char *)(uintptr_t)json->text.ptr,
			    json->text.len);
		if (r->written)
			json->text = span_of(json->at + 1,
			    (size_t)(r->left.ptr - json->at) - 2);
		return true;
	case '[':
		json->type = JSON_ARRAY;
		return read_items(r, depth + 1, json);
	case '{':
		json->type = JSON_OBJECT;
		return read_items(r, depth + 1, json) &&
		    (r->written || sort_members(r->arena, json));
	default:
		json->type = JSON_NUMBER;
		return decimal_take(r->arena, &r->left, &json->text);
	}
}

static const struct json *
read_whole(struct arena *arena, struct span text, bool written,
    struct json_fault *ret_fault)
{
	struct reader r = {
	    .arena = arena, .left = text, .written = written};
	struct json *json = arena_alloc(arena, sizeof(*json));
	expect(&r, JSON_WANTS_VALUE);
	if (read_value(&r, 0, json)) {
		expect(&r, JSON_WANTS_END);
		if (r.left.len == 0)
			return json;
	}
	*ret_fault = r.fault;
	return NULL;
}

const struct json *
json_read(struct arena *arena, struct span text)
{
	struct json_fault any;
	return text.len > 0 ? read_whole(arena, text, false, &any) : NULL;
}

const struct json *
json_read_written(
    struct arena *arena, struct span text, struct json_fault *ret_fault)
{
	return read_whole(arena, text, true, ret_fault);
}

/* --- places --- */

static void
walk(const struct json *json, const char *up, const char *pointer,
    void (*each)(void *arg, const struct json_seen *place), void *arg)
{
	struct json_seen place = {
	    pointer, up, json->name_at, json->at, {NULL, 0}};
	size_t index = 0;
	if (json->type == JSON_STRING)
		place.text = json->text;
	each(arg, &place);
	if (json->type != JSON_ARRAY && json->type != JSON_OBJECT)
		return;
	for (const struct json *i = json->first; i != NULL; i = i->next) {
		struct span name = i->name;
		char *last = i->name_at == NULL
		    ? mem_printf("/%zu", index)
		    : json_pointer_text(&(struct json_pointer){&name, 1});
		char *inner = mem_printf("%s%s", pointer, last);
		walk(i, json->at, inner, each, arg);
		free(inner);
		free(last);
		index++;
	}
}

void
json_each(const struct json *json,
    void (*each)(void *arg, const struct json_seen *place), void *arg)
{
	walk(json, NULL, "", each, arg);
}

/* --- a form --- */

/* The fields as they came, each with its value. */
static struct json *
read_fields(struct arena *arena, struct span text)
{
	struct json *object = arena_alloc(arena, sizeof *object);
	struct json **link = &object->first;
	object->type = JSON_FORM;
	while (text.len > 0) {
		struct span value = text, name;
		if (span_cut(&text, '&', &name))
			value = name;
		else
			text = SPAN("");
		if (value.len == 0)
			continue;
		if (!span_cut(&value, '=', &name)) {
			name = value;
			value = SPAN("");
		}
		struct json *field = arena_alloc(arena, sizeof *field);
		field->type = JSON_STRING;
		field->name_at = name.ptr;
		field->name = percent_decode(arena, name, true);
		field->text = percent_decode(arena, value, true);
		*link = field;
		link = &field->next;
		object->count++;
	}
	return object;
}

const struct json *
json_form(struct arena *arena, struct span text)
{
	struct json *object = read_fields(arena, text);
	if (sort_members(arena, object))
		return object;
	for (struct json *m = object->first; m != NULL; m = m->next) {
		struct json *last = m;
		size_t count = 1;
		for (; last->next != NULL &&
			span_eq(last->next->name, m->name); count++)
			last = last->next;
		if (count == 1)
			continue;
		/* The member becomes the list of its values. */
		struct json *first = arena_alloc(arena, sizeof *first);
		*first = *m;
		m->type = JSON_MANY;
		m->first = first;
		m->count = count;
		m->next = last->next;
		last->next = NULL;
		object->count -= count - 1;
	}
	return object;
}

/* --- what was read --- */

bool
json_is_form(const struct json *json)
{
	return json->type == JSON_FORM;
}

bool
json_is_nil(const struct json *json)
{
	return json->type == JSON_NULL;
}

bool
json_text(const struct json *json, struct span *ret_text)
{
	if (json->type != JSON_STRING)
		return false;
	*ret_text = json->text;
	return true;
}

bool
json_spelling(const struct json *json, struct span *ret_text)
{
	if (json->type != JSON_NUMBER)
		return false;
	*ret_text = json->text;
	return true;
}

bool
json_written(const struct json *json, struct span *ret_text)
{
	const char *end = json->at;
	if (end == NULL || json->type >= JSON_ARRAY)
		return false;
	if (json->type == JSON_STRING) {
		for (end++; *end != '"'; end++)
			end += *end == '\\';
		end++;
	} else {
		/* What holds it ends behind it. */
		while (strchr(",]} \t\r\n", *end) == NULL)
			end++;
	}
	*ret_text = span_of(json->at, (size_t)(end - json->at));
	return true;
}

bool
json_scalar(
    struct arena *arena, const struct json *json, struct span *ret_text)
{
	if (json->type == JSON_STRING)
		*ret_text = json->text;
	else if (json->type == JSON_NUMBER)
		*ret_text = decimal_plain(arena, json->text);
	else if (json->type == JSON_TRUE)
		*ret_text = SPAN("true");
	else if (json->type == JSON_FALSE)
		*ret_text = SPAN("false");
	else
		return false;
	return true;
}

const struct json *
json_at(const struct json *json, const struct json_pointer *pointer)
{
	json = json_at_all(json, pointer);
	return json != NULL && json->type == JSON_MANY ? NULL : json;
}

const struct json *
json_at_all(const struct json *json, const struct json_pointer *pointer)
{
	for (size_t i = 0; json && i < pointer->count; i++) {
		struct span segment = pointer->segments[i];
		int64_t index;
		if (json->type == JSON_OBJECT ||
		    json->type == JSON_FORM) {
			json = json->first;
			while (json && !span_eq(json->name, segment))
				json = json->next;
			continue;
		}
		if (json->type != JSON_ARRAY ||
		    !digits_read_exact(segment, INT64_MAX, &index) ||
		    index >= (int64_t)json->count)
			return NULL;
		for (json = json->first; index > 0; index--)
			json = json->next;
	}
	return json;
}

/* --- writing --- */

char *
json_put(char *to, struct span text)
{
	*to++ = '"';
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (c < 0x20) {
			to += sprintf(to, "\\u%04x", c);
			continue;
		}
		if (c == '"' || c == '\\')
			*to++ = '\\';
		*to++ = (char)c;
	}
	*to++ = '"';
	return to;
}

/* --- digest --- */

/* The values that are left out. */
struct holes {
	const struct json **list;
	size_t count;
};

static bool
is_hole(const struct holes *holes, const struct json *json)
{
	for (size_t i = 0; i < holes->count; i++) {
		if (holes->list[i] == json)
			return true;
	}
	return false;
}

/*
 * Each value begins with a part that says what it is, each member with "k",
 * and lists have an end: a sequence of parts can be read in one way only.
 */
static void
digest_value(const struct json *json, const struct holes *holes,
    struct digest *digest)
{
	static const char tags[] = "nft#s[{{2";
	if (is_hole(holes, json)) {
		digest_part(digest, SPAN("-"));
		return;
	}
	digest_part(digest, span_of(&tags[json->type], 1));
	if (json->type == JSON_NUMBER || json->type == JSON_STRING)
		digest_part(digest, json->text);
	if (json->type < JSON_ARRAY)
		return;
	for (const struct json *item = json->first; item; item = item->next) {
		if (json->type != JSON_ARRAY &&
		    json->type != JSON_MANY) {
			if (is_hole(holes, item))
				continue;
			digest_part(digest, SPAN("k"));
			digest_part(digest, item->name);
		}
		digest_value(item, holes, digest);
	}
	digest_part(digest, SPAN("."));
}

void
json_digest(const struct json *json, const struct json_pointers *ignore,
    struct digest *digest)
{
	struct holes holes = {NULL, 0};
	if (ignore && ignore->count > 0)
		holes.list = mem_zero(ignore->count * sizeof(struct json *));
	for (size_t i = 0; ignore && i < ignore->count; i++) {
		const struct json *hole = json_at(json, &ignore->list[i]);
		if (hole)
			holes.list[holes.count++] = hole;
	}
	digest_value(json, &holes, digest);
	free(holes.list);
}

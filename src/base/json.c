/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
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
	const char *name_at; /* NULL: of an element */
	const char *at;
};

struct reader {
	struct arena *arena;
	const char *at;
	const char *end;
	bool written; /* members may be there twice, and no \u0000 */
	struct json_fault fault; /* what is to come next, and where */
};

/* --- words, numbers and strings --- */

/* Skips blanks, up to what is to come next. */
static void
expect(struct reader *r, enum json_want want)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' ||
				     *r->at == '\n' || *r->at == '\r'))
		r->at++;
	r->fault = (struct json_fault){want, r->at};
}

/* Takes that byte where it is next. */
static bool
read_char(struct reader *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

/* Takes these bytes where they are next. */
static bool
read_word(struct reader *r, struct span word)
{
	if (!span_starts(span_of(r->at, (size_t)(r->end - r->at)), word))
		return false;
	r->at += word.len;
	return true;
}

/* Takes one digit at least. */
static bool
skip_digits(struct reader *r)
{
	const char *begin = r->at;
	while (r->at < r->end && ascii_is_digit(*r->at))
		r->at++;
	return r->at > begin;
}

static bool
read_number(struct reader *r, struct span *ret_text)
{
	const char *begin = r->at;
	read_char(r, '-');
	if (!read_char(r, '0') && !skip_digits(r))
		return false;
	if (read_char(r, '.') && !skip_digits(r))
		return false;
	if (read_char(r, 'e') || read_char(r, 'E')) {
		if (!read_char(r, '-'))
			read_char(r, '+');
		if (!skip_digits(r))
			return false;
	}
	*ret_text = decimal_spelling(
	    r->arena, span_of(begin, (size_t)(r->at - begin)));
	return true;
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
	if (!read_char(r, '"'))
		return false;
	const char *begin = r->at;
	while (r->at < r->end && *r->at != '"') {
		if ((unsigned char)*r->at < 0x20)
			return false;
		if (*r->at++ == '\\') {
			escaped = true;
			if (r->at < r->end)
				r->at++; /* it may be a quote */
		}
	}
	struct span raw = span_of(begin, (size_t)(r->at - begin));
	if (!read_char(r, '"') || !utf8_is_valid(raw))
		return false;
	if (escaped)
		return unescape(r, raw, ret_text);
	*ret_text = raw;
	return true;
}

static int
compare_names(const void *a, const void *b)
{
	struct span x = (*(struct json *const *)a)->name;
	struct span y = (*(struct json *const *)b)->name;
	size_t least = x.len < y.len ? x.len : y.len;
	int order = least ? memcmp(x.ptr, y.ptr, least) : 0;
	return order ? order : (x.len > y.len) - (x.len < y.len);
}

/* Sorts the members by their names; false where a name is there twice. */
static bool
sort_members(struct arena *arena, struct json *object)
{
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
			return false;
	}
	return true;
}

/* --- values --- */

static bool read_value(struct reader *r, unsigned depth, struct json *json);

/* The elements of an array or the members of an object, and its brackets. */
static bool
read_items(struct reader *r, unsigned depth, struct json *json)
{
	bool named = json->type == JSON_OBJECT;
	char closing = named ? '}' : ']';
	enum json_want want = named ? JSON_WANTS_NAME : JSON_WANTS_VALUE;
	struct json **link = &json->first;
	if (depth > JSON_DEPTH) {
		r->fault.want = JSON_WANTS_NO_MORE_DEPTH;
		return false;
	}
	r->at++;
	expect(r, want);
	if (read_char(r, closing))
		return true;
	do {
		struct json *item = arena_alloc(r->arena, sizeof(*item));
		*link = item;
		link = &item->next;
		json->count++;
		expect(r, want);
		if (named) {
			item->name_at = r->at;
			if (!read_string(r, &item->name))
				return false;
			expect(r, JSON_WANTS_COLON);
			if (!read_char(r, ':'))
				return false;
			expect(r, JSON_WANTS_VALUE);
		}
		if (!read_value(r, depth, item))
			return false;
		expect(r, JSON_WANTS_COMMA);
	} while (read_char(r, ','));
	return read_char(r, closing);
}

static bool
read_value(struct reader *r, unsigned depth, struct json *json)
{
	json->at = r->at;
	if (r->at == r->end)
		return false;
	switch (*r->at) {
	case 'n':
		json->type = JSON_NULL;
		return read_word(r, SPAN("null"));
	case 'f':
		json->type = JSON_FALSE;
		return read_word(r, SPAN("false"));
	case 't':
		json->type = JSON_TRUE;
		return read_word(r, SPAN("true"));
	case '"':
		json->type = JSON_STRING;
		if (!read_string(r, &json->text))
			return false;
		/* It may be a secret, and has no copy then. */
		if (r->written && json->text.ptr != json->at + 1)
			explicit_bzero((char *)(uintptr_t)json->text.ptr,
			    json->text.len);
		if (r->written)
			json->text = span_of(
			    json->at + 1, (size_t)(r->at - json->at) - 2);
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
		return read_number(r, &json->text);
	}
}

static const struct json *
read_whole(struct reader *r)
{
	struct json *json = arena_alloc(r->arena, sizeof(*json));
	expect(r, JSON_WANTS_VALUE);
	if (!read_value(r, 0, json))
		return NULL;
	expect(r, JSON_WANTS_END);
	return r->at == r->end ? json : NULL;
}

const struct json *
json_read(struct arena *arena, struct span text)
{
	if (text.len == 0)
		return NULL;
	struct reader r = {
	    .arena = arena, .at = text.ptr, .end = text.ptr + text.len};
	return read_whole(&r);
}

const struct json *
json_read_written(
    struct arena *arena, struct span text, struct json_fault *ret_fault)
{
	struct reader r = {.arena = arena,
	    .at = text.ptr,
	    .end = text.ptr + text.len,
	    .written = true};
	const struct json *json = read_whole(&r);
	if (json == NULL)
		*ret_fault = r.fault;
	return json;
}

/* --- places --- */

/* The caller frees it. */
static char *
pointer_to(const char *up, const struct json *item, size_t index)
{
	char *pointer = NULL;
	size_t len;
	FILE *out = open_memstream(&pointer, &len);
	must(out != NULL);
	fputs(up, out);
	if (item->name_at != NULL)
		json_pointer_write(out, item->name);
	else
		fprintf(out, "/%zu", index);
	must(fclose(out) == 0);
	return pointer;
}

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
		char *inner = pointer_to(pointer, i, index++);
		walk(i, json->at, inner, each, arg);
		free(inner);
	}
}

void
json_each(const struct json *json,
    void (*each)(void *arg, const struct json_seen *place), void *arg)
{
	walk(json, NULL, "", each, arg);
}

/* --- a form --- */

struct pair {
	struct span name, value;
	size_t number; /* in the form */
};

static int
compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	size_t least =
	    x->name.len < y->name.len ? x->name.len : y->name.len;
	int order = least ? memcmp(x->name.ptr, y->name.ptr, least) : 0;
	if (order == 0)
		order = (x->name.len > y->name.len) -
		    (x->name.len < y->name.len);
	return order ? order : (x->number > y->number) - 1;
}

/* The pairs in the order of their names, those of one name as they came. */
static struct pair *
form_pairs(struct arena *arena, struct span text, size_t *ret_count)
{
	size_t count = 0;
	for (size_t i = 0; i < text.len; i++)
		count += text.ptr[i] == '&';
	struct pair *pairs = arena_alloc(arena, (count + 1) * sizeof *pairs);
	struct span left = text, name;
	count = 0;
	while (left.len > 0) {
		struct span value = left;
		if (span_cut(&left, '&', &name))
			value = name;
		else
			left = SPAN("");
		if (value.len == 0)
			continue;
		if (!span_cut(&value, '=', &name)) {
			name = value;
			value = SPAN("");
		}
		pairs[count] = (struct pair){percent_decode(arena, name, true),
		    percent_decode(arena, value, true), count};
		count++;
	}
	qsort(pairs, count, sizeof *pairs, compare_pairs);
	*ret_count = count;
	return pairs;
}

const struct json *
json_form(struct arena *arena, struct span text)
{
	size_t count;
	struct pair *pairs = form_pairs(arena, text, &count);
	struct json *object = arena_alloc(arena, sizeof *object);
	struct json **link = &object->first, **more = NULL, *member = NULL;
	object->type = JSON_FORM;
	for (size_t i = 0; i < count; i++) {
		struct json *value = arena_alloc(arena, sizeof *value);
		value->type = JSON_STRING;
		value->text = pairs[i].value;
		value->name = pairs[i].name;
		if (member == NULL || !span_eq(member->name, value->name)) {
			*link = member = value;
			link = &value->next;
			object->count++;
			continue;
		}
		if (member->type == JSON_STRING) {
			struct json *first = arena_alloc(arena, sizeof *first);
			*first = *member;
			member->type = JSON_MANY;
			member->first = first;
			member->count = 1;
			more = &first->next;
		}
		*more = value;
		more = &value->next;
		member->count++;
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
	switch (json->type) {
	case JSON_STRING:
		*ret_text = json->text;
		return true;
	case JSON_NUMBER:
		*ret_text = decimal_plain(arena, json->text);
		return true;
	case JSON_FALSE:
		*ret_text = SPAN("false");
		return true;
	case JSON_TRUE:
		*ret_text = SPAN("true");
		return true;
	case JSON_NULL:
	case JSON_ARRAY:
	case JSON_OBJECT:
	case JSON_FORM:
	case JSON_MANY:
		break;
	}
	return false;
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
		    (segment.len > 1 && segment.ptr[0] == '0') ||
		    !digits_read(segment, INT64_MAX, &index) ||
		    index >= (int64_t)json->count)
			return NULL;
		for (json = json->first; index > 0; index--)
			json = json->next;
	}
	return json;
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

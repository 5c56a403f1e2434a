/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digest.h"
#include "conf/load/conf_load.h"
#include "fuzz/fuzz.h"
#include "http/front/route.h"
#include "http/head/request_target.h"
#include "http/upstream/http1_head.h"

/*
 * A path has one spelling: normalizing it changes nothing, and whatever servers
 * read as the same path is refused or has the same spelling.  However an
 * upstream reads a path - decoding before or after it resolves dots, in which
 * it may resolve them again, with doubled slashes before or after - where that
 * leads to another route than ours, neither is idempotent; or it is refused.
 */
static const char routes[] =
    "{\"listen\":[\"127.0.0.1:1\"],\"upstreams\":{\"u\":\"http://h\"},"
    "\"routes\":["
    "{\"path\":\"/s/*\",\"upstream\":\"u\"},"
    "{\"path\":\"/v1/charges\",\"upstream\":\"u\",\"idempotency\":{}},"
    "{\"path\":\"/v1/{a}/refund\",\"upstream\":\"u\",\"idempotency\":{}},"
    "{\"path\":\"/f/*\",\"upstream\":\"u\",\"idempotency\":{}},"
    "{\"path\":\"/{a}/{b}/d\",\"upstream\":\"u\"},"
    "{\"path\":\"/*\",\"upstream\":\"u\"}]}";

/* NULL: it has two. */
static const struct conf_route *
route_of(const struct request_target *target)
{
	static const struct conf *conf;
	struct complaints complaints = {NULL, 0};
	const struct conf_route *route;

	if (conf == NULL)
		conf = conf_load_text(
		    "fuzz", span_str(routes), false, &complaints);
	must(conf != NULL);
	if (!route_find(conf, SPAN("POST"), target, &route))
		return NULL;
	must(route != NULL);
	return route;
}

/* --- the spelling --- */

/* The other is refused, or has the same spelling. */
static void
cannot_be_another(struct arena *arena, struct span text, struct span spelling)
{
	struct request_target target;

	must(!request_target_parse(arena, text, &target) ||
	    span_eq(target.spelling, spelling));
}

static void
is_plain(struct span spelling)
{
	must(spelling.len > 0 && spelling.ptr[0] == '/');
	must(spelling.len == 1 || spelling.ptr[spelling.len - 1] != '/');
	must(!fuzz_has(spelling, span_of("", 1)));
	struct span rest = span_from(spelling, 1);
	while (rest.len > 0) {
		struct span segment = fuzz_cut(&rest, '/');
		must(segment.len > 0);
		must(!span_eq(segment, SPAN(".")));
		must(!span_eq(segment, SPAN("..")));
	}
}

/* With every byte but slashes percent-encoded. */
static struct span
encoded(struct arena *arena, struct span spelling)
{
	char *text = arena_alloc(arena, 3 * spelling.len + 1);
	size_t len = 0;

	for (size_t i = 0; i < spelling.len; i++) {
		if (spelling.ptr[i] == '/') {
			text[len++] = '/';
			continue;
		}
		text[len++] = '%';
		hex_encode((const uint8_t *)spelling.ptr + i, 1, text + len);
		len += 2;
	}
	return span_of(text, len);
}

static struct span
replaced(struct arena *arena, struct span path, size_t at, size_t bytes,
    const char *by)
{
	return arena_printf(arena, "%.*s%s%.*s", (int)at, path.ptr, by,
	    (int)(path.len - at - bytes), path.ptr + at + bytes);
}

/* A change after which all servers, or some, still see the same path. */
static void
try_changes(struct arena *arena, struct span path, struct span spelling)
{
	static const char *const slashes[] = {
		"//", "/./", "/%2e/", "/.//", "%2f", "/%2F", "/x/../",
		"/x/%2e%2E/", "/x%2F../", "/x/..%2f"};
	struct dice dice = dice_of(path);
	char escape[4] = "%";

	for (int n = 0; n < 8; n++) {
		size_t at = dice_throw(&dice, path.len);
		bool inside = (at > 0 && path.ptr[at - 1] == '%') ||
		    (at > 1 && path.ptr[at - 2] == '%');
		if (path.ptr[at] == '%' || inside)
			continue;
		hex_encode((const uint8_t *)path.ptr + at, 1, escape + 1);
		cannot_be_another(arena, replaced(arena, path, at, 1, escape),
		    spelling);
		if (path.ptr[at] == '/')
			cannot_be_another(arena,
			    replaced(arena, path, at, 1,
				slashes[dice_throw(&dice, 10)]),
			    spelling);
	}
	cannot_be_another(
	    arena, replaced(arena, path, path.len, 0, "/"), spelling);
	cannot_be_another(
	    arena, replaced(arena, path, path.len, 0, "/."), spelling);
}

/* --- how others read a path --- */

enum { DECODE_FIRST = 1, MERGE_FIRST = 2, SLASH_LATE = 4, DOTS_AGAIN = 8 };
enum { READINGS = 16 };

/*
 * Decodes; what is no escape stays.  A decoded slash may become another byte.
 */
static size_t
decode(char *text, size_t len, char slash)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t byte = (uint8_t)text[i];
		if (text[i] == '%' && len - i > 2 &&
		    hex_decode(span_of(text + i + 1, 2), &byte, 1))
			i += 2;
		bool coded = byte == '/' && text[i] != '/';
		text[out++] = coded ? slash : (char)byte;
	}
	return out;
}

static size_t
merge(char *text, size_t len)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] != '/' || out == 0 || text[out - 1] != '/')
			text[out++] = text[i];
	}
	return out;
}

/* "%2e" is a dot (RFC 3986, section 6.2.2.2), but not when decoded twice. */
static bool
is_dots(struct span segment, size_t dots, bool decoded)
{
	char text[8];

	if (segment.len > 6)
		return false;
	memcpy(text, segment.ptr, segment.len);
	size_t len = decoded ? segment.len : decode(text, segment.len, '\0');
	return span_eq(span_of(text, len), span_of("..", dots));
}

/* RFC 3986, section 5.2.4. */
static size_t
resolve(char *text, size_t len, bool decoded)
{
	struct span left = span_from(span_of(text, len), 1);
	size_t out = 0;

	for (bool more = true; more;) {
		more = left.len && memchr(left.ptr, '/', left.len);
		struct span segment = fuzz_cut(&left, '/');
		bool up = is_dots(segment, 2, decoded);
		if (up) {
			while (out > 0 && text[--out] != '/')
				;
		}
		if (up || is_dots(segment, 1, decoded)) {
			if (!more)
				text[out++] = '/';
			continue;
		}
		text[out++] = '/';
		memmove(text + out, segment.ptr, segment.len);
		out += segment.len;
	}
	return out;
}

/*
 * A server that decodes first takes "%2F" for a slash; another does not, or
 * finds it when it has resolved dots, and may resolve them again.
 */
static struct span
reading(struct arena *arena, struct span path, int first)
{
	char *text = arena_alloc(arena, path.len + 2);
	size_t len = path.len;

	memcpy(text, path.ptr, len);
	if (first & DECODE_FIRST)
		len = decode(text, len, '/');
	if (first & MERGE_FIRST)
		len = merge(text, len);
	len = resolve(text, len, first & DECODE_FIRST);
	if (!(first & DECODE_FIRST))
		len = decode(text, len, first & SLASH_LATE ? '/' : '\0');
	if (first & MERGE_FIRST)
		len = merge(text, len);
	if (first & DOTS_AGAIN)
		len = resolve(text, len, true);
	len = merge(text, len);
	if (len > 1 && text[len - 1] == '/')
		len--;
	return span_of(text, len);
}

static void
all_readings_have_its_route(
    struct arena *arena, const struct request_target *target)
{
	const struct conf_route *ours = route_of(target);

	for (int first = 0; first < READINGS && ours; first++) {
		struct span other = reading(arena, target->path, first);
		const struct request_target as_theirs = {.spelling = other};
		const struct conf_route *theirs = route_of(&as_theirs);
		must(theirs == ours ||
		    (!theirs->idempotency && !ours->idempotency));
	}
}

/* --- */

static void
goes_upstream(const struct request_target *target)
{
	struct body out = {0};
	const struct fields none = {NULL, 0};
	const struct http1_request request = {
		.method = SPAN("POST"),
		.base_path = SPAN(""),
		.target = target->origin_form,
		.host = target->authority.len ? target->authority : SPAN("h"),
		.fields = &none,
	};

	must(http1_head_write(&request, &out) == 0);
	body_clear(&out);
}

void
fuzz_request_target(struct span input)
{
	struct arena *arena = arena_new();
	struct request_target target, again;

	if (request_target_parse(arena, input, &target)) {
		struct span spelling = target.spelling;
		for (size_t i = 0; i < input.len; i++)
			must(input.ptr[i] > 0x20 && input.ptr[i] < 0x7f &&
			    input.ptr[i] != '#');
		is_plain(spelling);
		must(!memmem(target.path.ptr, target.path.len, "%00", 3));
		must(request_target_parse(arena, target.origin_form, &again));
		must(span_eq(again.origin_form, target.origin_form));
		must(span_eq(again.spelling, spelling));
		must(again.authority.len == 0);
		must(request_target_parse(
		    arena, encoded(arena, spelling), &again));
		must(span_eq(again.spelling, spelling));
		must(target.authority.len == 0 ||
		    request_target_authority_is_valid(target.authority));
		try_changes(arena, target.path, spelling);
		all_readings_have_its_route(arena, &target);
		goes_upstream(&target);
	}
	arena_free(&arena);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz/fuzz.h"
#include "http/head/wire.h"
#include "http/upstream/http1_head.h"

const struct fuzz_target fuzz_targets[] = {
#define TARGET(name, message) {#name, message, fuzz_##name},
#include "fuzz/targets.h"
#undef TARGET
	{NULL, NULL, NULL},
};

const struct fuzz_target *
fuzz_find(const char *name)
{
	for (const struct fuzz_target *t = fuzz_targets; t->name; t++) {
		if (!strcmp(t->name, name))
			return t;
	}
	return NULL;
}

/* FNV-1a. */
struct dice
dice_of(struct span input)
{
	struct dice dice = {14695981039346656037u};

	for (size_t i = 0; i < input.len; i++) {
		dice.state ^= (unsigned char)input.ptr[i];
		dice.state *= 1099511628211u;
	}
	return dice;
}

size_t
dice_throw(struct dice *dice, size_t below)
{
	dice->state = dice->state * 6364136223846793005u +
	    1442695040888963407u;
	return (size_t)(dice->state >> 33) % below;
}

struct span
fuzz_cut(struct span *left, char byte)
{
	const char *end =
	    left->len ? memchr(left->ptr, byte, left->len) : NULL;
	size_t len = end ? (size_t)(end - left->ptr) : left->len;
	struct span piece = span_of(left->ptr, len);

	*left = span_from(*left, end ? len + 1 : len);
	return piece;
}

size_t
fuzz_wire_take(struct wire *wire, const char *bytes, size_t len)
{
	size_t at = 0;
	while (at < len && wire->verdict == HEAD_CHECK_OK)
		at += wire_step(wire, bytes + at, len - at);
	return at;
}

bool
fuzz_has(struct span text, struct span bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		if (text.len && memchr(text.ptr, bytes.ptr[i], text.len))
			return true;
	}
	return false;
}

size_t
fuzz_count(const struct fields *fields, struct span name)
{
	size_t n = 0, at = 0;

	while (fields_next(fields, name, &at))
		n++;
	return n;
}

void
fuzz_asks(const struct conf_target *target)
{
	const struct fields none = {NULL, 0};
	struct body out = {0};
	const struct http1_request request = {
		.method = SPAN("GET"),
		.base_path = span_str(target->base_path),
		.target = SPAN("/"),
		.host = span_str(target->authority),
		.fields = &none,
	};

	must(target->host[0] != '\0');
	must((target->unix_path != NULL) == (target->port == 0));
	must(http1_head_write(&request, &out) == 0);
	body_clear(&out);
}

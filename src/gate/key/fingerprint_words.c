/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/key/fingerprint_words.h"

#include <stdio.h>

#include "base/mem.h"

/* The parts come one after the other, and only the last knows that it is. */
struct sentence {
	FILE *out;
	size_t parts, left;
};

static void
begin_part(struct sentence *s)
{
	if (s->parts > 0)
		fputs(s->left == 1 ? " and " : ", ", s->out);
	s->parts++;
	s->left--;
}

static void
put_pointers(FILE *out, const struct pointers *pointers)
{
	for (size_t i = 0; i < pointers->count; i++) {
		const struct pointer *pointer = &pointers->list[i];
		fputs(i > 0 ? ", " : "", out);
		for (size_t k = 0; k < pointer->count; k++)
			pointer_write(out, pointer->segments[k]);
	}
	putc(')', out);
}

static void
put_query(struct sentence *s, const struct conf_idempotency *policy)
{
	const struct strings *ignored = &policy->fingerprint_ignore_query;
	begin_part(s);
	fputs("query", s->out);
	for (size_t i = 0; i < ignored->count; i++)
		fprintf(s->out, "%s%s", i == 0 ? " (all but " : ", ",
		    ignored->list[i]);
	fputs(ignored->count > 0 ? ")" : "", s->out);
}

static void
put_body(struct sentence *s, const struct conf_idempotency *policy)
{
	begin_part(s);
	fputs("body", s->out);
	if (policy->fingerprint_only.count > 0) {
		fputs(" (of JSON only ", s->out);
		put_pointers(s->out, &policy->fingerprint_only);
	} else if (policy->fingerprint_ignore.count > 0) {
		fputs(" (of JSON all but ", s->out);
		put_pointers(s->out, &policy->fingerprint_ignore);
	}
}

static size_t
count_parts(const struct conf_idempotency *policy)
{
	size_t count = policy->fingerprint_headers.count;
	for (unsigned left = policy->fingerprint_include; left != 0;
	     left &= left - 1)
		count++;
	return count + (conf_has_entity(policy) ? 1 : 0);
}

char *
fingerprint_words(const struct conf_idempotency *policy)
{
	unsigned include = policy->fingerprint_include;
	char *text = NULL;
	size_t len;
	struct sentence s = {open_memstream(&text, &len), 0, 0};
	must(s.out != NULL);
	s.left = count_parts(policy);
	if (include & FINGERPRINT_METHOD) {
		begin_part(&s);
		fputs("method", s.out);
	}
	if (include & FINGERPRINT_PATH) {
		begin_part(&s);
		fputs("path", s.out);
	}
	if (include & FINGERPRINT_QUERY)
		put_query(&s, policy);
	if (include & FINGERPRINT_BODY)
		put_body(&s, policy);
	for (size_t i = 0; i < policy->fingerprint_headers.count; i++) {
		begin_part(&s);
		fprintf(s.out, "header %s",
		    policy->fingerprint_headers.list[i]);
	}
	if (conf_has_entity(policy)) {
		begin_part(&s);
		fputs("what it changes", s.out);
	}
	must(fclose(s.out) == 0);
	return text;
}

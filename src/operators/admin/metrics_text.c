/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "operators/admin/metrics_text.h"

void
metrics_text(struct metrics_text *t, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	int len = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	must(len >= 0 && (size_t)len < sizeof text);
	must(body_append(t->out, text, (size_t)len) == 0);
}

/* label="value", with the escapes that the format has. */
static void
put_label(struct metrics_text *t, const char *label, const char *value)
{
	metrics_text(t, "%s=\"", label);
	for (; *value != '\0'; value++) {
		if (*value == '\\' || *value == '"')
			metrics_text(t, "\\%c", *value);
		else if (*value == '\n')
			metrics_text(t, "\\n");
		else
			metrics_text(t, "%c", *value);
	}
	metrics_text(t, "\"");
}

void
metrics_text_value(struct metrics_text *t, uint64_t value)
{
	metrics_text(t, "%s %" PRIu64 "\n", t->name, value);
}

void
metrics_text_of(struct metrics_text *t, const char *label, const char *of,
    uint64_t value)
{
	metrics_text(t, "%s{", t->name);
	put_label(t, label, of);
	metrics_text(t, "} %" PRIu64 "\n", value);
}

void
metrics_text_of_two(struct metrics_text *t, const char *label, const char *of,
    const char *label_2, const char *of_2, uint64_t value)
{
	metrics_text(t, "%s{", t->name);
	put_label(t, label, of);
	metrics_text(t, ",");
	put_label(t, label_2, of_2);
	metrics_text(t, "} %" PRIu64 "\n", value);
}

void
metrics_text_seconds(struct metrics_text *t, uint64_t us)
{
	metrics_text(
	    t, " %" PRIu64 ".%06" PRIu64 "\n", us / 1000000, us % 1000000);
}

/* --- histograms --- */

static void
put_bucket(struct metrics_text *t, const char *label, const char *of,
    const char *bound, uint64_t count)
{
	metrics_text(t, "%s_bucket{", t->name);
	put_label(t, label, of);
	metrics_text(t, ",le=\"%s\"} %" PRIu64 "\n", bound, count);
}

void
metrics_text_gather(struct metrics_gathered *to, const struct histogram *from)
{
	for (int i = 0; i <= HISTOGRAM_BOUNDS; i++)
		to->buckets[i] += counter_read(&from->buckets[i]);
	to->sum += counter_read(&from->sum_us);
}

void
metrics_text_histogram(struct metrics_text *t, const char *label,
    const char *of, const struct metrics_gathered *h, uint64_t unit_us)
{
	uint64_t count = 0;
	for (int i = 0; i < HISTOGRAM_BOUNDS; i++) {
		char bound[32];
		snprintf(bound, sizeof bound, "%g",
		    (double)(histogram_bounds_us[i] * unit_us) / 1e6);
		count += h->buckets[i];
		put_bucket(t, label, of, bound, count);
	}
	count += h->buckets[HISTOGRAM_BOUNDS];
	put_bucket(t, label, of, "+Inf", count);
	metrics_text(t, "%s_sum{", t->name);
	put_label(t, label, of);
	metrics_text(t, "}");
	metrics_text_seconds(t, h->sum * unit_us);
	metrics_text(t, "%s_count{", t->name);
	put_label(t, label, of);
	metrics_text(t, "} %" PRIu64 "\n", count);
}

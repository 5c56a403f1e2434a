/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/loop/loop.h"
#include "base/span.h"

/*
 * The log: one JSON object per line on standard error, for the events of
 * tbl/events.h.  It escapes control characters; keys, tokens, queries and
 * bodies must never be given to it.  Each thread gathers its lines in a buffer
 * of its own, which log_flush writes out in one go.  It never waits: a reader
 * that has stopped reading must not stop payments.  A line that finds no room
 * is dropped, and the next one that does find room is preceded by how many
 * were.  Lines of several threads are never mixed.  Any thread.
 */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

enum event {
#define EVENT(name, level, message) EV_##name,
#include "tbl/events.h"
#undef EVENT
};

/*
 * Finds out what standard error is; called once, before other threads start.  A
 * pipe or a terminal is opened a second time, so that the mode of the
 * description that we share with other processes stays as it is.  Each line has
 * the name of the gateway as "instance": 64 letters, digits and . _ - at most.
 */
void log_open(const char *name);
/* The number of lines that found no room, in all threads. */
extern atomic_uint_fast64_t log_dropped;
/* Lines below this level are dropped. */
extern atomic_int log_level;
bool log_wants(enum event event);

/* A line in the making: log_begin, any members, log_end. */
struct logline {
	bool wanted;
};

/*
 * Begins a line, with ts, level, event and, where tbl/events.h has any, its
 * words.  It may be a warning this time, whatever its event usually is.
 */
struct logline log_begin_as(enum event event, bool warning);

static inline struct logline
log_begin(enum event event)
{
	return log_begin_as(event, false);
}

/*
 * A text of at most that many bytes: the rest is shown as "…", as in any text
 * for which a line has no room.
 */
void log_put_text(struct logline *line, struct span name, struct span value,
    size_t most);
void log_put_int(struct logline *line, struct span name, int64_t value);
/* us, microseconds, is written as milliseconds with three decimals. */
void log_put_ms(struct logline *line, struct span name, int64_t us);

/* So much of a path is shown. */
enum { LOG_PATH_BYTES = 1024 };

/* Here a literal is the name, whose length the compiler knows. */
static inline void
log_cut(
    struct logline *line, const char *name, struct span value, size_t most)
{
	log_put_text(line, span_str(name), value, most);
}

static inline void
log_span(struct logline *line, const char *name, struct span value)
{
	log_put_text(line, span_str(name), value, value.len);
}

static inline void
log_str(struct logline *line, const char *name, const char *value)
{
	log_span(line, name, span_str(value));
}

/* An empty text is left out. */
static inline void
log_any(struct logline *line, const char *name, struct span value)
{
	if (value.len > 0)
		log_span(line, name, value);
}

static inline void
log_int(struct logline *line, const char *name, int64_t value)
{
	log_put_int(line, span_str(name), value);
}

/* A word of JSON: true, false or null. */
void log_word(struct logline *line, const char *name, const char *word);
/* A list of strings. */
void log_list(struct logline *line, const char *name, const char *const *list,
    size_t count);
void log_end(struct logline *line);
/* A line with the event alone, or with one text besides. */
void log_event(enum event event);
void log_event_str(enum event event, const char *name, const char *value);

/* Writes out what this thread has gathered, as far as possible at once. */
void log_flush(void);
/* As log_flush, for a thread that ends: waits for room, at most a second. */
void log_flush_last(void);

/*
 * Makes the thread of a loop flush its lines at the end of every turn; a member
 * of the loop's owner, which detaches it before the loop is freed.
 */
struct log_hook {
	struct hook flush;
	struct timer retry;
};
void log_attach(struct log_hook *hook, struct loop *loop);
void log_detach(struct log_hook *hook);

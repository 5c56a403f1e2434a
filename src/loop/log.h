/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "loop/loop.h"

/*
 * The log: one JSON object per line on standard error, of the events in
 * tbl/events.h.  Control characters are escaped by it; keys, tokens, queries
 * and bodies are never given to it.  Each thread gathers its lines in a
 * buffer of its own, and log_flush writes them in one go.  Writing never waits
 * for a reader: a line that finds no room is dropped, and the next one that
 * does says how many were.
 */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

enum event {
#define EVENT(name, level, message) EV_##name,
#include "tbl/events.h"
#undef EVENT
	EV_COUNT_,
};

/* Lines below this level are dropped; set before the threads start. */
void log_set_level(enum log_level level);
bool log_wants(enum event event);

/* A line in the making: begin, any members, end. */
struct logline {
	bool wanted;
};

/* A line with ts, level, event and, where tbl/ has one, its sentence. */
struct logline log_begin(enum event event);
void log_span(struct logline *line, const char *name, struct span value);
void log_str(struct logline *line, const char *name, const char *value);
void log_int(struct logline *line, const char *name, int64_t value);
/* Microseconds, written as milliseconds with three decimals. */
void log_ms(struct logline *line, const char *name, int64_t us);
void log_bool(struct logline *line, const char *name, bool value);
void log_null(struct logline *line, const char *name);
/* A list of strings. */
void log_list(struct logline *line, const char *name, const char *const *list,
    size_t count);
void log_end(struct logline *line);

/* Writes what this thread has gathered, as far as that goes at once. */
void log_flush(void);
/* The same for a thread that ends: it waits for room, a second at most. */
void log_flush_last(void);

/* Has the thread of a loop flush its lines at the end of every turn. */
struct log_hook {
	struct loop *loop;
	struct hook flush;
	struct timer retry;
};
void log_attach(struct log_hook *hook, struct loop *loop);
void log_detach(struct log_hook *hook);

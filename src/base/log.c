/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/must.h"

/* What one thread gathers before it must write. */
enum { BUFFER_BYTES = 64 * 1024, LINE_BYTES = 16 * 1024 };

static const struct {
	const char *name;
	enum log_level level;
	const char *words;
} events[] = {
#define EVENT(name, level, words) {#name, LOG_##level, words},
#include "tbl/events.h"
#undef EVENT
};

static const char *const level_names[] = {"debug", "info", "warn", "error"};

/* The one global of the program: which lines are wanted. */
static atomic_int log_level = LOG_INFO;

static _Thread_local struct {
	char bytes[BUFFER_BYTES];
	size_t len;  /* whole lines and the one in the making */
	size_t line; /* where that one begins */
} buffer;

void
log_set_level(enum log_level level)
{
	atomic_store(&log_level, (int)level);
}

bool
log_wants(enum event event)
{
	return (int)events[event].level >=
	    atomic_load_explicit(&log_level, memory_order_relaxed);
}

/* --- bytes --- */

/* A line that would not fit is cut: its last members are left out. */
static void
put_bytes(const char *bytes, size_t len)
{
	size_t room = LINE_BYTES - (buffer.len - buffer.line);
	if (len > room)
		len = room;
	memcpy(buffer.bytes + buffer.len, bytes, len);
	buffer.len += len;
}

static void PRINTF_LIKE(1, 2)
put_format(const char *fmt, ...)
{
	char text[64];
	va_list args;
	va_start(args, fmt);
	int len = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	must(len >= 0 && (size_t)len < sizeof text);
	put_bytes(text, (size_t)len);
}

static size_t
utf8_length(const unsigned char *s, size_t len)
{
	size_t n = s[0] < 0x80 ? 1 : (s[0] & 0xe0) == 0xc0 ? 2
	    : (s[0] & 0xf0) == 0xe0			   ? 3
	    : (s[0] & 0xf8) == 0xf0			   ? 4
							   : 0;
	if (n == 0 || n > len || s[0] == 0xc0 || s[0] == 0xc1 || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* A JSON string; controls, and bytes that are not UTF-8, are escaped. */
static void
put_string(struct span s)
{
	put_bytes("\"", 1);
	for (size_t i = 0; i < s.len;) {
		unsigned char c = (unsigned char)s.ptr[i];
		size_t n = 1;
		if (c == '"' || c == '\\')
			put_format("\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			put_format("\\u%04x", c);
		else if ((n = utf8_length((const unsigned char *)s.ptr + i,
			      s.len - i)) > 0)
			put_bytes(s.ptr + i, n);
		else
			put_format("\\u%04x", c), n = 1;
		i += n;
	}
	put_bytes("\"", 1);
}

static void
put_name(const char *name)
{
	put_format(",\"%s\":", name);
}

/* --- lines --- */

/* RFC 3339, UTC, milliseconds; the date is worked out once a second. */
static void
put_time(void)
{
	static _Thread_local struct {
		time_t second;
		char text[32];
	} cache = {.second = -1};
	int64_t ms = clock_wall_ms();
	time_t second = (time_t)(ms / 1000);
	if (second != cache.second) {
		struct tm tm;
		gmtime_r(&second, &tm);
		strftime(cache.text, sizeof cache.text, "%Y-%m-%dT%H:%M:%S",
		    &tm);
		cache.second = second;
	}
	put_format("{\"ts\":\"%s.%03dZ\"", cache.text, (int)(ms % 1000));
}

struct logline
log_begin(enum event event)
{
	struct logline line = {log_wants(event)};
	if (!line.wanted)
		return line;
	if (sizeof buffer.bytes - buffer.len < LINE_BYTES + 2)
		log_flush();
	buffer.line = buffer.len;
	put_time();
	log_str(&line, "level", level_names[events[event].level]);
	log_str(&line, "event", events[event].name);
	if (events[event].words[0] != '\0')
		log_str(&line, "words", events[event].words);
	return line;
}

/*
 * Room for a member of len escaped bytes at most (six for each); a member
 * that might be cut in the middle is left out, so a line is always JSON.
 */
static bool
has_room(size_t name_len, size_t len)
{
	size_t used = buffer.len - buffer.line;
	return used + name_len + 6 * len + 8 < LINE_BYTES;
}

void
log_span(struct logline *line, const char *name, struct span value)
{
	if (!line->wanted || !has_room(strlen(name), value.len))
		return;
	put_name(name);
	put_string(value);
}

void
log_str(struct logline *line, const char *name, const char *value)
{
	log_span(line, name, span_str(value));
}

void
log_int(struct logline *line, const char *name, int64_t value)
{
	if (!line->wanted || !has_room(strlen(name), 4))
		return;
	put_name(name);
	put_format("%" PRId64, value);
}

void
log_ms(struct logline *line, const char *name, int64_t us)
{
	if (!line->wanted || !has_room(strlen(name), 4))
		return;
	put_name(name);
	put_format("%" PRId64 ".%03d", us / 1000, (int)(us % 1000));
}

void
log_bool(struct logline *line, const char *name, bool value)
{
	if (!line->wanted || !has_room(strlen(name), 1))
		return;
	put_name(name);
	put_format("%s", value ? "true" : "false");
}

void
log_null(struct logline *line, const char *name)
{
	if (!line->wanted || !has_room(strlen(name), 1))
		return;
	put_name(name);
	put_bytes("null", 4);
}

void
log_list(struct logline *line, const char *name, const char *const *list,
    size_t count)
{
	size_t len = 0;
	for (size_t i = 0; i < count; i++)
		len += strlen(list[i]) + 1;
	if (!line->wanted || !has_room(strlen(name), len))
		return;
	put_name(name);
	put_bytes("[", 1);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			put_bytes(",", 1);
		put_string(span_str(list[i]));
	}
	put_bytes("]", 1);
}

void
log_end(struct logline *line)
{
	if (!line->wanted)
		return;
	memcpy(buffer.bytes + buffer.len, "}\n", 2);
	buffer.len += 2;
	buffer.line = buffer.len;
	line->wanted = false;
}

void
log_flush(void)
{
	size_t done = 0;
	while (done < buffer.len) {
		ssize_t n = write(
		    STDERR_FILENO, buffer.bytes + done, buffer.len - done);
		if (n >= 0) {
			done += (size_t)n;
		} else if (errno == EAGAIN) {
			struct pollfd fd = {STDERR_FILENO, POLLOUT, 0};
			poll(&fd, 1, -1);
		} else if (errno != EINTR) {
			break;
		}
	}
	buffer.len = buffer.line = 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/loop/log.h"
#include "base/must.h"
#include "base/rfc3339.h"
#include "base/swar.h"
#include "base/utf8.h"

/* As much as one thread can gather, and the longest line. */
enum { BUFFER_BYTES = 64 * 1024, LINE_BYTES = 16 * 1024 };
/* When a full reader is tried again, and how long log_flush_last waits. */
enum { RETRY_MS = 20, LAST_MS = 1000 };

#define WORD_DEBUG "debug"
#define WORD_INFO "info"
#define WORD_WARN "warn"
#define WORD_ERROR "error"

#define BEGINNING(literal) {(literal), sizeof(literal) - 1}

static const struct {
	struct span beginning; /* what stands behind the time */
	struct span warning;   /* the same where it is a warning */
	enum log_level level;
	const char *message;
} events[] = {
#define BEGINS(word, name) \
	BEGINNING(",\"level\":\"" word "\",\"event\":\"" #name "\"")
#define EVENT(name, level, message)                                \
	{BEGINS(WORD_##level, name), BEGINS(WORD_WARN, name), LOG_##level, \
	    message},
#include "tbl/events.h"
#undef EVENT
};

/*
 * The globals of the program: which lines are wanted, how many of them found no
 * room, and the member that all of them have.
 */
atomic_int log_level = LOG_INFO;
atomic_uint_fast64_t log_dropped;
static struct {
	char bytes[96];
	size_t len;
} instance;

static _Thread_local struct {
	char bytes[BUFFER_BYTES];
	size_t len;  /* whole lines, and the one in the making */
	size_t line; /* where that one begins */
	int64_t dropped; /* lines that found no room */
} buffer;

bool
log_wants(enum event event)
{
	return (int)events[event].level >=
	    atomic_load_explicit(&log_level, memory_order_relaxed);
}

/* --- bytes --- */

/* Appends bytes, as far as a line may have them (see line_has_room). */
static void
put_span(struct span s)
{
	size_t room = LINE_BYTES - (buffer.len - buffer.line);
	size_t len = s.len < room ? s.len : room;
	memcpy(buffer.bytes + buffer.len, s.ptr, len);
	buffer.len += len;
}

static void
put_byte(char byte)
{
	if (buffer.len - buffer.line < LINE_BYTES)
		buffer.bytes[buffer.len++] = byte;
}

/* Characters that need no escape in a JSON string. */
static const bool is_plain[256] = {
    [' '] = true,
    ['!'] = true,
    ['#' ... '['] = true,
    [']' ... '~'] = true,
};

static bool
are_plain(const char *eight)
{
	uint64_t word = swar_at(eight);
	return swar_printable_bytes(word) == 8 && !swar_may_have(word, '"') &&
	    !swar_may_have(word, '\\');
}

/* How many bytes from the first on need no escape. */
static size_t
count_plain(struct span s)
{
	size_t n = 0;
	while (s.len - n >= 8 && are_plain(s.ptr + n))
		n += 8;
	/* The last ones, together with some that were read before. */
	if (n > 0 && s.len - n < 8 && are_plain(s.ptr + s.len - 8))
		return s.len;
	while (n < s.len && is_plain[(unsigned char)s.ptr[n]])
		n++;
	return n;
}

/*
 * The characters of a JSON string.  Controls (C0, DEL, C1) are escaped, and so
 * is a byte that is no UTF-8, as if it were Latin-1 (RFC 8259, section 7).
 */
static void
put_characters(struct span s)
{
	static const char hex[] = "0123456789abcdef";
	for (size_t n; s.len > 0; s = span_from(s, n)) {
		unsigned char c = (unsigned char)s.ptr[0];
		if ((n = count_plain(s)) > 0) {
			put_span(span_of(s.ptr, n));
		} else if (c == '"' || c == '\\') {
			put_byte('\\');
			put_byte((char)c);
			n = 1;
		} else if ((n = utf8_shown(s)) > 0) {
			put_span(span_of(s.ptr, n));
		} else {
			n = utf8_length(s);
			if (n == 2) /* of C1, whose first is 0xc2 */
				c = (unsigned char)s.ptr[1];
			put_span(span_of((char[]){'\\', 'u', '0', '0',
					     hex[c >> 4], hex[c & 15]},
			    6));
			n = n > 0 ? n : 1;
		}
	}
}

/* --- lines --- */

/* RFC 3339, section 5.6, UTC, milliseconds; formats the date once a second. */
static void
put_time(void)
{
	enum { NAME = sizeof "{\"ts\":\"" - 1,
		DATE = NAME + sizeof "2026-01-02T03:04:05." - 1 };
	static _Thread_local struct {
		int64_t second;
		char text[NAME + RFC3339_MAX];
	} cache = {-1, "{\"ts\":\""};
	int64_t ms = clock_wall_ms(), second = ms / 1000;
	char *at = buffer.bytes + buffer.len;
	if (second != cache.second) {
		rfc3339_write(ms, cache.text + NAME);
		cache.second = second;
	}
	memcpy(at, cache.text, DATE);
	digits_pad(at + DATE, 3, ms % 1000);
	memcpy(at + DATE + 3, "Z\"", 2);
	buffer.len += DATE + 5;
}

struct logline
log_begin_as(enum event event, bool warning)
{
	enum log_level level = warning ? LOG_WARN : events[event].level;
	struct logline line = {(int)level >=
	    atomic_load_explicit(&log_level, memory_order_relaxed)};
	if (!line.wanted)
		return line;
	if (sizeof buffer.bytes - buffer.len < LINE_BYTES + 2)
		log_flush();
	if (sizeof buffer.bytes - buffer.len < LINE_BYTES + 2) {
		buffer.dropped++;
		atomic_fetch_add(&log_dropped, 1);
		line.wanted = false;
		return line;
	}
	if (buffer.dropped > 0) {
		int64_t dropped = buffer.dropped;
		buffer.dropped = 0;
		struct logline gap = log_begin(EV_log_dropped);
		log_int(&gap, "lines", dropped);
		log_end(&gap);
		return log_begin_as(event, warning);
	}
	buffer.line = buffer.len;
	put_time();
	put_span(warning ? events[event].warning : events[event].beginning);
	put_span(span_of(instance.bytes, instance.len));
	log_any(&line, "words", span_str(events[event].message));
	return line;
}

/*
 * True where a member of len bytes has room, each of which may be six once
 * escaped.  A member that might not fit is left out, so a line is always JSON.
 */
static bool
line_has_room(struct span name, size_t len)
{
	size_t used = buffer.len - buffer.line;
	return used + name.len + 6 * len + 8 < LINE_BYTES;
}

/* False, and nothing is written, where the member might not fit. */
static bool
begin_member(struct span name, size_t len)
{
	if (!line_has_room(name, len))
		return false;
	char *at = buffer.bytes + buffer.len;
	memcpy(at, ",\"", 2);
	memcpy(at + 2, name.ptr, name.len);
	memcpy(at + 2 + name.len, "\":", 2);
	buffer.len += name.len + 4;
	return true;
}

void
log_put_text(struct logline *line, struct span name, struct span value,
    size_t most)
{
	if (!line->wanted)
		return;
	/* Most texts need no escape, and have room. */
	if (value.len <= most && count_plain(value) == value.len &&
	    begin_member(name, value.len)) {
		char *at = buffer.bytes + buffer.len;
		*at++ = '"';
		if (value.len > 0)
			memcpy(at, value.ptr, value.len);
		at[value.len] = '"';
		buffer.len += value.len + 2;
		return;
	}
	while (most > 0 && !line_has_room(name, most + 1))
		most /= 2;
	if (value.len > most && most == 0)
		return;
	struct span shown = value;
	if (value.len > most) {
		/* In whole characters, of four bytes at most, if it is any. */
		shown.len = most;
		while (shown.len > 0 && most - shown.len < 4 &&
		       ((unsigned char)value.ptr[shown.len] & 0xc0) == 0x80)
			shown.len--;
		if (most - shown.len >= 4)
			shown.len = most;
	}
	if (!begin_member(name, shown.len))
		return;
	put_byte('"');
	put_characters(shown);
	if (shown.len < value.len)
		put_span(SPAN("\xe2\x80\xa6"));
	put_byte('"');
}

void
log_put_int(struct logline *line, struct span name, int64_t value)
{
	if (!line->wanted || !begin_member(name, 4))
		return;
	buffer.len += digits_put(buffer.bytes + buffer.len, value);
}

void
log_put_ms(struct logline *line, struct span name, int64_t us)
{
	if (!line->wanted || !begin_member(name, 4))
		return;
	buffer.len += digits_put(buffer.bytes + buffer.len, us / 1000);
	buffer.bytes[buffer.len++] = '.';
	digits_pad(buffer.bytes + buffer.len, 3, us % 1000);
	buffer.len += 3;
}

void
log_word(struct logline *line, const char *name, const char *word)
{
	if (line->wanted && begin_member(span_str(name), 1))
		put_span(span_str(word));
}

void
log_list(struct logline *line, const char *name, const char *const *list,
    size_t count)
{
	size_t len = 0;
	for (size_t i = 0; i < count; i++)
		len += strlen(list[i]) + 1;
	if (!line->wanted || !begin_member(span_str(name), len))
		return;
	put_byte('[');
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			put_byte(',');
		put_byte('"');
		put_characters(span_str(list[i]));
		put_byte('"');
	}
	put_byte(']');
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
log_event(enum event event)
{
	struct logline line = log_begin(event);
	log_end(&line);
}

void
log_event_str(enum event event, const char *name, const char *value)
{
	struct logline line = log_begin(event);
	log_str(&line, name, value);
	log_end(&line);
}

/* --- standard error --- */

static struct {
	int fd;
	size_t most; /* per write; a pipe takes PIPE_BUF or nothing */
	bool socket;
} sink = {.fd = STDERR_FILENO, .most = SIZE_MAX};

/*
 * The buffer whose line is half written, so that no other thread may write; or
 * NULL.
 */
static _Atomic(const void *) torn_by;

void
log_open(const char *name)
{
	struct stat is;
	int len = snprintf(instance.bytes, sizeof instance.bytes,
	    ",\"instance\":\"%s\"", name);
	must(len > 0 && (size_t)len < sizeof instance.bytes);
	instance.len = (size_t)len;
	if (fstat(STDERR_FILENO, &is) != 0 || S_ISREG(is.st_mode))
		return;
	sink.most = PIPE_BUF;
	sink.socket = S_ISSOCK(is.st_mode);
	if (sink.socket)
		return;
	int again = open("/proc/self/fd/2",
	    O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (again >= 0)
		sink.fd = again;
}

void
log_flush(void)
{
	const void *torn = atomic_load(&torn_by);
	size_t done = 0;
	if (torn != NULL && torn != &buffer)
		return;
	while (done < buffer.len) {
		const char *lines = buffer.bytes + done;
		size_t len = buffer.len - done;
		/* Whole lines, or a part of one long line. */
		if (len > sink.most) {
			const char *end = memrchr(lines, '\n', sink.most);
			len = end != NULL ? (size_t)(end - lines) + 1
					  : sink.most;
		}
		ssize_t n = sink.socket ? send(sink.fd, lines, len,
					      MSG_DONTWAIT | MSG_NOSIGNAL)
					: write(sink.fd, lines, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		/*
		 * What can never be written (a full disk, a closed pipe) counts
		 * as written: nobody will ever read it.
		 */
		done += n < 0 ? len : (size_t)n;
	}
	if (done == 0)
		return;
	atomic_store(
	    &torn_by, buffer.bytes[done - 1] == '\n' ? NULL : &buffer);
	buffer.len -= done;
	buffer.line = buffer.len;
	memmove(buffer.bytes, buffer.bytes + done, buffer.len);
}

void
log_flush_last(void)
{
	int64_t until = clock_us() + LAST_MS * 1000;
	log_flush();
	while (buffer.len > 0 && clock_us() < until) {
		struct pollfd fd = {sink.fd, POLLOUT, 0};
		(void)poll(&fd, 1, RETRY_MS);
		log_flush();
	}
	buffer.len = buffer.line = 0;
	/* Others may now write after a line that was left half written. */
	const void *torn = &buffer;
	(void)atomic_compare_exchange_strong(&torn_by, &torn, NULL);
}

static bool
flush_of_turn(void *arg)
{
	struct log_hook *hook = arg;
	log_flush();
	if (buffer.len > 0 && !timer_is_set(&hook->retry))
		timer_set(&hook->retry, RETRY_MS);
	return false;
}

void
log_attach(struct log_hook *hook, struct loop *loop)
{
	/* The turn that it begins is all: flush_of_turn tries again then. */
	timer_init(&hook->retry, loop, NULL, NULL);
	loop_hook(loop, HOOK_FLUSH, &hook->flush, flush_of_turn, hook);
}

void
log_detach(struct log_hook *hook)
{
	timer_clear(&hook->retry);
	loop_unhook(&hook->flush);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/head/head_check.h"

/*
 * What a client sends on one connection, byte by byte: heads, bodies, chunks
 * and trailers, one request after another (RFC 9112).  It is as strict as can
 * be about where lines and messages end, so that nobody in front of us or
 * behind us can read the bytes in another way.  libmicrohttpd, which is lenient
 * there and shows none of it, is given nothing that was not right here.
 *
 * It judges the frame; what the head says is for head_check().  It keeps no
 * bytes, and does no input or output.  Pure; any thread.
 */
enum {
	/* Of a chunk's size and its extensions. */
	WIRE_CHUNK_LINE_MAX = 256,
	/* Of all trailers of a request. */
	WIRE_TRAILERS_MAX = 8192, /* as wire.c says to the client */
	/* Empty lines in front of a request (RFC 9112, 2.2). */
	WIRE_EMPTY_LINES_MAX = 4096,
	/* In the Cookie fields of a head, with ";" between them. */
	WIRE_COOKIES_MAX = 500,
	/* As many of a name's letters as matter, and one. */
	WIRE_NAME_MAX = 18,
};

enum wire_state {
	WIRE_BEGIN, /* of a request */
	WIRE_BEGIN_LF,
	WIRE_METHOD,
	WIRE_TARGET,
	WIRE_VERSION,
	WIRE_FIELD, /* the beginning of a line of the head, or of a trailer */
	WIRE_NAME,
	WIRE_BLANKS, /* between the colon and the value */
	WIRE_VALUE,
	WIRE_LINE_LF,
	WIRE_END_LF, /* of the head or the trailers */
	WIRE_BODY,
	WIRE_SIZE, /* of a chunk */
	WIRE_EXTENSION,
	WIRE_SIZE_LF,
	WIRE_DATA,
	WIRE_DATA_CR,
	WIRE_DATA_LF,
};

struct wire {
	enum wire_state state;
	/* HEAD_CHECK_OK, or why nothing more of this connection is taken. */
	enum head_verdict verdict;
	const char *message; /* a sentence for the client; or "" */
	size_t max_bytes;    /* of a head */

	uint64_t requests; /* that have begun, this one included */
	size_t bytes;  /* of the head, or of the trailers */
	size_t fields; /* lines of either */
	unsigned cookies;
	unsigned empty_lines;
	unsigned count; /* of bytes, of what is being read */
	uint64_t left;  /* of the body or the chunk */
	bool version_1_0;
	bool has_length;
	bool chunked;
	bool in_trailers;

	/* The field, and its name as far as it may matter. */
	enum wire_field {
		WIRE_ANY,
		WIRE_LENGTH,
		WIRE_CODING,
		WIRE_COOKIE,
	} field;
	char name[WIRE_NAME_MAX];
};

/*
 * Of a connection whose heads may have so many bytes, each from the first of
 * its method to the last of its empty line.
 */
void wire_init(struct wire *wire, size_t max_bytes);

/*
 * Takes the first of what came, of which there is a byte at least: how many of
 * these bytes are right, all of one line or of one run of a body.  Where the
 * verdict is not HEAD_CHECK_OK then, what follows is wrong, and nothing is
 * taken any more; else the next step goes on, even behind none.
 */
size_t wire_step(struct wire *wire, const char *bytes, size_t len);

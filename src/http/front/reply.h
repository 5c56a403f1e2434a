/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/answer.h"
#include "base/must.h"

struct MHD_Response;

/*
 * An answer as libmicrohttpd's response.  What libmicrohttpd accepts is looser
 * than HTTP in places and stricter in others, so names and values are checked
 * here once more: nothing that could end a line early leaves the gateway.  It
 * knows no requests.  The front's thread.
 */

/*
 * Puts the fields of an answer, with more behind its own, as lines of a head;
 * so many bytes at most.  False where a name or value is none, or one that is
 * not for the answer to say.
 */
size_t reply_lines_bytes(
    const struct answer *answer, const struct fields *more);
MUST_USE bool reply_lines(const struct answer *answer,
    const struct fields *more, char *to, size_t *ret_len);

/*
 * NULL where a name or value is none (a bug of whoever made the answer: the
 * caller answers 500 in its place).  The response holds a reference to the
 * answer.  more: fields behind its own.  head: the request's method was HEAD.
 */
MUST_USE struct MHD_Response *reply_new(struct answer *answer,
    const struct fields *more, bool head, bool close);

/*
 * The same with a body that read(arg) gives piece by piece: length bytes, or
 * -1 where only read() knows the end.  No reference is held.
 */
MUST_USE struct MHD_Response *reply_streamed(const struct answer *answer,
    const struct fields *more, int64_t length,
    ssize_t (*read)(void *arg, uint64_t at, char *buffer, size_t size),
    void *arg, bool close);

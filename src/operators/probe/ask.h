/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/forward.h"

/*
 * Asks upstreams questions that change nothing: GETs without a body, each sent
 * once, all at the same time.  For commands, before there is a loop:
 * it blocks until the last is answered, for ten seconds at most.  Main thread.
 */
struct ask_question {
	const struct conf_upstream *upstream;
	struct span target; /* origin-form, validated bytes */
	struct forward forward; /* its result, at the end */
	struct asks *all; /* our own */
};

/* Asks them all; ask_end frees what is returned. */
struct asks *ask_all(
    const struct conf *conf, struct ask_question *list, size_t count);
/* Nulls the pointer; accepts NULL. */
void ask_end(struct asks **asks);

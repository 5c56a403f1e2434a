/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/timer.h"

struct conf;

/*
 * The present configuration's files with tokens' keys are read again when they
 * change, and its URLs of such are asked from now on; the log says what came of
 * it.  Main thread.
 */
struct token_watch {
	struct timer timer; /* its owner clears it in the end */
	const struct conf *const *conf; /* the present one */
};

/* Looks at them each second from now on; *conf may become another one. */
void token_watch_start(struct token_watch *watch, struct loop *loop,
    const struct conf *const *conf);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * What is asked of a Redis before the gateway serves with it: that it is a
 * master of a known version, runs our scripts, and evicts nothing.  A Redis
 * that forgets a claim lets a payment be made twice.  Of a cluster, all
 * masters.  It blocks, for a few times store.timeout with each at most.  Main
 * thread, before the workers.
 */
enum startup_check_result { /* the worse, the greater */
	STARTUP_CHECK_WELL,
	STARTUP_CHECK_UNREACHABLE, /* nothing is known; it may come later */
	STARTUP_CHECK_REFUSED,     /* it must not be served with */
};

/*
 * Unless STARTUP_CHECK_WELL, *ret_message is a sentence that the caller frees.
 * What is only worth a warning goes to the log.
 */
MUST_USE enum startup_check_result startup_check(
    const struct conf *conf, char **ret_message);

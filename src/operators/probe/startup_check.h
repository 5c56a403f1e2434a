/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Checks a Redis before the gateway serves with it: that it is a master of a
 * known version, runs our scripts, and evicts nothing, for a Redis that forgets
 * a claim lets a payment be made twice.  Of a cluster, it checks all masters.
 * It claims nothing.  It blocks, for a few times store.timeout with each server
 * at most.  Main thread, before the workers.
 */
enum startup_check_result { /* the worse, the greater */
	STARTUP_CHECK_WELL,
	STARTUP_CHECK_UNREACHABLE, /* not now, perhaps later */
	STARTUP_CHECK_REFUSED,     /* the gateway must not serve with it */
};

/*
 * Unless STARTUP_CHECK_WELL, *ret_message is a sentence that the caller frees.
 * Mere warnings go to the log.
 */
MUST_USE enum startup_check_result startup_check(
    const struct conf *conf, char **ret_message);

/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * The names that a Kafka knows us by, and that its administrators give rights
 * to.  Pure; any thread.  The caller frees each.
 */

/* By which all members of a source's group share its partitions. */
#define KAFKA_NAME_PROTOCOL "range"

/* The transactional id of a source. */
char *kafka_name_transactional(
    const struct conf_source *source, const char *instance);
/*
 * The transactional id of a relay of that store (hexadecimal digits), which is
 * its group's name too; longer ones that begin with it are its other groups'.
 */
char *kafka_name_relay(const char *relay, struct span store);

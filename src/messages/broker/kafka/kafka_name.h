/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "conf/conf.h"

/*
 * The names that a Kafka knows us by, and that its administrators give rights
 * to.  Pure; any thread.  The caller frees each, unless an arena has it.
 */

/* By which all members of a source's group share its partitions. */
#define KAFKA_NAME_PROTOCOL "range"

/* Where dead letters of that topic go; in the arena. */
const char *kafka_name_dead(
    const struct conf_source *source, struct span topic, struct arena *arena);
/* The transactional id of a source. */
char *kafka_name_transactional(
    const struct conf_source *source, const char *instance);
/*
 * The transactional id of a relay of that store (hexadecimal digits), which is
 * its group's name too; longer ones that begin with it are its other groups'.
 */
char *kafka_name_relay(const char *relay, struct span store);

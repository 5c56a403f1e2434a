/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Looks at a topic from outside of any gateway, for `doctor`.  It changes
 * nothing and does not judge.  It blocks, up to 5 s; any thread that may.
 */
enum topic_there {
	TOPIC_THERE,
	TOPIC_THERE_NOT, /* no topic, or none for us */
	TOPIC_THERE_UNKNOWN, /* no broker answers, or lets us in */
};

enum { TOPIC_THERE_WORDS = 200 };

/* ret_words: why, unless it is there. */
enum topic_there topic_there_look(const struct conf_broker *broker,
    const char *topic, char ret_words[TOPIC_THERE_WORDS]);

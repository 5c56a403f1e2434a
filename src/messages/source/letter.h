/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/broker.h"

/*
 * What the gateway has written on a dead letter: the fields onceproxy-*.  Pure;
 * any thread.
 */
struct letter {
	struct span reason; /* of these, "" where it has none */
	struct span key_id;
	struct span first; /* when the message was taken, as text */
	struct span detail;
	struct span label;
	uint32_t attempt; /* 0: none */
	int status; /* that it was refused with, found or met last; 0: none */
	struct span answer; /* ptr NULL: there is none, or it was left out */
	bool is_base64;     /* the answer */
};

/* Reads them; of the message's own. */
void letter_read(const struct broker_message *message, struct letter *ret);
/* Takes them off, so that the message is as it was. */
void letter_strip(struct broker_message *message);
/* Whether a field's name is one of the gateway's. */
bool letter_is_ours(struct span name);

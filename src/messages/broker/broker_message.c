/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/broker/broker.h"

void
broker_message_free(struct broker_message **message)
{
	struct broker_message *m = *message;
	*message = NULL;
	if (m == NULL)
		return;
	struct arena *arena = m->arena;
	arena_free(&arena);
}

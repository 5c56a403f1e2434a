/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * What an operator sees of the messages that this gateway has taken, and of
 * dead letters, and does to them.  The thread of their source's worker decides
 * whether a message's state allows an act, and every act is logged.  Main
 * thread.
 */
struct admin_request;

/* GET /messages: a page of those that rest, the oldest first. */
enum after admin_messages_list(struct admin_request *a);
/* GET /messages/{message}. */
enum after admin_messages_show(struct admin_request *a);
/* POST /messages/{message}/drop: it is acknowledged as it is. */
enum after admin_messages_drop(struct admin_request *a);
/* POST /messages/{id}/replay, of a dead letter. */
enum after admin_messages_replay(struct admin_request *a);

/* The steps SEEK and SOUGHT. */
enum after admin_messages_seek(struct machine *machine);
enum after admin_messages_sought(struct machine *machine);

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/container.h"
#include "base/error.h"
#include "messages/broker/reader.h"

/*
 * Questions.  One that was asked lives until its answer, even where its owner
 * has given it up.
 */

static void
let_go(struct op *op, int error)
{
	struct broker_copies *copies =
	    CONTAINER_OF(op, struct broker_copies, op);
	struct reader_question *question = copies->token;
	question->op = NULL;
	if (error == E_TIMEOUT)
		op_done(op, E_BROKER_DOWN);
}

void
reader_ask_copies(struct broker_reader *reader, struct broker_copies *copies,
    struct reader_question *question)
{
	copies->messages = NULL;
	copies->next[0] = '\0';
	copies->token = question;
	copies->refused[0] = '\0';
	question->reader = reader;
	question->op = &copies->op;
	question->refused = copies->refused;
	list_add_last(&reader->questions, &question->of_reader);
	op_start(&copies->op, reader->timeout_ms, let_go);
}

void
reader_ask_end(
    struct reader_question *question, int error, const char *refused)
{
	list_remove(&question->of_reader);
	if (question->op == NULL)
		return;
	if (refused != NULL)
		snprintf(question->refused, BROKER_REFUSED_BYTES, "%s",
		    refused);
	op_done(question->op, error);
}

void
reader_ask_cancel(struct broker_reader *reader)
{
	struct reader_question *question;
	LIST_EACH(question, &reader->questions, of_reader) {
		if (question->op != NULL)
			op_done(question->op, E_CANCELLED);
		question->op = NULL;
	}
}

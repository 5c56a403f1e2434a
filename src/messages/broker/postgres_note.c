/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "messages/broker/postgres_private.h"

void
postgres_note_change(struct postgres_reader *reader)
{
	if (!reader->closed)
		task_ready(reader->loop, &reader->tell);
}

void
postgres_note(struct postgres_reader *reader, const char *words)
{
	if (strcmp(reader->message, words) == 0)
		return;
	snprintf(reader->message, sizeof reader->message, "%s", words);
	postgres_note_change(reader);
}

void
postgres_note_refusal(struct postgres_reader *reader, const char *words)
{
	if (strcmp(reader->message, words) != 0) {
		struct logline line = log_begin(EV_source_refused);
		log_str(&line, "source", reader->source->name);
		log_str(&line, "error", words);
		log_end(&line);
	}
	postgres_note(reader, words);
}

void
postgres_note_trouble(struct postgres_reader *reader,
    const struct postgres_trouble *trouble)
{
	if (trouble != NULL && !trouble->lost)
		postgres_connect_refuse(reader->connect, trouble->words);
}

int
postgres_note_error(const struct postgres_reader *reader)
{
	return reader->closed ? E_CANCELLED : E_BROKER_DOWN;
}

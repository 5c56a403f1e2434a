/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/loop/task.h"
#include "base/loop/work.h"
#include "base/mem.h"
#include "store/journal/journal_writer.h"

enum item_kind { ITEM_MARK, ITEM_CLOSE, ITEM_APPEND, ITEM_TRY };

/* Something to be done to a file. */
struct journal_item {
	struct journal_item *next;
	enum item_kind kind;
	struct journal *journal;
	uint64_t id;                 /* ITEM_MARK */
	struct journal_op *op;       /* ITEM_APPEND; NULL: given up */
	struct journal_entry entry;  /* its spans point to bytes */
	bool failed;
	char bytes[]; /* of the entry's spans */
};

/* --- on the other thread --- */

static void
write_entry(struct journal_item *item)
{
	uint64_t id;
	item->failed = !journal_write(item->journal, &item->entry, &id);
}

static void
run_item(struct journal_item *item)
{
	switch (item->kind) {
	case ITEM_MARK:
		journal_mark(item->journal, item->id);
		break;
	case ITEM_CLOSE:
		journal_close(&item->journal);
		break;
	case ITEM_APPEND:
		write_entry(item);
		break;
	case ITEM_TRY:
		item->failed = !journal_try(item->journal);
		break;
	}
}

/* True: there was one. */
static bool
run_all(struct journal_writer *writer, enum item_kind kind)
{
	bool any = false;
	for (struct journal_item *i = writer->batch; i != NULL; i = i->next)
		if (i->kind == kind) {
			run_item(i);
			any = true;
		}
	return any;
}

static void
fail_entries(struct journal_writer *writer)
{
	for (struct journal_item *i = writer->batch; i != NULL; i = i->next)
		i->failed = i->failed || i->kind == ITEM_APPEND;
}

/* Entries come last, so that one sync is for them alone. */
static void
run_batch(void *arg)
{
	struct journal_writer *writer = arg;
	run_all(writer, ITEM_MARK);
	run_all(writer, ITEM_CLOSE);
	run_all(writer, ITEM_TRY);
	if (run_all(writer, ITEM_APPEND) && !journal_commit(writer->journal))
		fail_entries(writer);
}

/* --- on the loop's thread --- */

static void
end_op(struct journal_op *op, bool failed)
{
	if (op == NULL)
		return;
	op->item = NULL;
	op_done(&op->op, failed ? E_JOURNAL : 0);
}

/* Ends the batch; true: something of it failed. */
static bool
end_batch(struct journal_writer *writer)
{
	bool failed = false;
	while (writer->batch != NULL) {
		struct journal_item *item = writer->batch;
		writer->batch = item->next;
		failed = failed || item->failed;
		if (item->kind == ITEM_TRY)
			writer->writable = !item->failed;
		end_op(item->op, item->failed);
		free(item);
	}
	return failed;
}

static void
on_batch_done(void *arg)
{
	struct journal_writer *writer = arg;
	writer->work = NULL;
	bool failed = end_batch(writer);
	writer->writable = writer->writable && !failed;
	writer->written(writer->arg, failed);
	if (writer->first != NULL)
		task_ready(writer->loop, &writer->task);
}

static void
take_batch(struct journal_writer *writer)
{
	writer->batch = writer->first;
	writer->first = NULL;
	writer->end = &writer->first;
}

/* As a task, so that whatever else this turn brings is in the same batch. */
static void
on_task(void *arg)
{
	struct journal_writer *writer = arg;
	if (writer->work != NULL || writer->first == NULL)
		return;
	take_batch(writer);
	writer->work =
	    work_start(writer->loop, run_batch, on_batch_done, writer);
}

static struct journal_item *
add_item(struct journal_writer *writer, enum item_kind kind,
    struct journal *journal, size_t n_bytes)
{
	struct journal_item *item = mem_zero(sizeof *item + n_bytes);
	item->kind = kind;
	item->journal = journal;
	*writer->end = item;
	writer->end = &item->next;
	task_ready(writer->loop, &writer->task);
	return item;
}

/* It is written all the same: nobody waits for it any more. */
static void
detach_op(struct op *op, int error)
{
	struct journal_op *own = CONTAINER_OF(op, struct journal_op, op);
	(void)error;
	own->item->op = NULL;
	own->item = NULL;
}

static size_t
bytes_of(const struct journal_entry *entry)
{
	return entry->provenance.len + entry->entity.len + entry->version.len +
	    entry->shown.len + entry->answer.len;
}

static char *
copy_span(char *to, struct span *s)
{
	if (s->len > 0)
		memcpy(to, s->ptr, s->len);
	*s = span_of(to, s->len);
	return to + s->len;
}

static void
copy_entry(struct journal_item *item, const struct journal_entry *entry)
{
	char *to = item->bytes;
	item->entry = *entry;
	to = copy_span(to, &item->entry.provenance);
	to = copy_span(to, &item->entry.entity);
	to = copy_span(to, &item->entry.version);
	to = copy_span(to, &item->entry.shown);
	copy_span(to, &item->entry.answer);
}

void
journal_writer_append(struct journal_writer *writer, struct journal_op *op,
    const struct journal_entry *entry)
{
	struct journal_item *item = add_item(
	    writer, ITEM_APPEND, writer->journal, bytes_of(entry));
	op_start(&op->op, 0, detach_op);
	op->item = item;
	item->op = op;
	copy_entry(item, entry);
}

void
journal_writer_finish(
    struct journal_writer *writer, struct journal *journal, uint64_t id)
{
	journal_forget(journal, id);
	add_item(writer, ITEM_MARK, journal, 0)->id = id;
}

void
journal_writer_spoil(
    struct journal_writer *writer, struct journal *journal, uint64_t id)
{
	journal_spoil(journal, id);
	add_item(writer, ITEM_MARK, journal, 0)->id = id;
}

void
journal_writer_close(struct journal_writer *writer, struct journal **journal)
{
	add_item(writer, ITEM_CLOSE, *journal, 0);
	*journal = NULL;
}

bool
journal_writer_is_writable(struct journal_writer *writer, int64_t now_us)
{
	/* The other thread has the journal, and will know more. */
	if (writer->work != NULL)
		return writer->writable;
	enum journal_look look = journal_look(writer->journal, now_us);
	writer->writable = look == JOURNAL_WELL;
	if (look == JOURNAL_TO_BE_TRIED)
		add_item(writer, ITEM_TRY, writer->journal, 0);
	return writer->writable;
}

/* --- life --- */

void
journal_writer_init(struct journal_writer *writer, struct loop *loop,
    struct journal *journal, void (*written)(void *arg, bool failed),
    void *arg)
{
	*writer = (struct journal_writer){.loop = loop,
	    .journal = journal,
	    .written = written,
	    .arg = arg,
	    .end = &writer->first};
	task_init(&writer->task, on_task, writer);
}

void
journal_writer_end(struct journal_writer *writer)
{
	work_finish(&writer->work);
	task_cancel(&writer->task);
	while (writer->first != NULL) {
		take_batch(writer);
		run_batch(writer);
		end_batch(writer);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/task.h"
#include "base/loop/work.h"
#include "base/mem.h"
#include "store/journal/journal_writer.h"

/*
 * In the order in which a batch does them: entries come last, so that one sync
 * is for them alone.
 */
enum item_kind { ITEM_MARK, ITEM_CLOSE, ITEM_TRY, ITEM_APPEND };

/* Something to be done to a file. */
struct journal_item {
	struct list link; /* in queue, or in batch */
	enum item_kind kind;
	struct journal *journal;
	uint64_t id;                /* ITEM_MARK */
	struct journal_op *op;      /* ITEM_APPEND; NULL: given up */
	struct journal_entry entry; /* its spans point to bytes */
	bool failed;
	char bytes[]; /* of the entry's spans */
};

/* --- on the other thread --- */

static void
run_item(struct journal_item *item)
{
	uint64_t id;
	switch (item->kind) {
	case ITEM_MARK:
		journal_mark(item->journal, item->id);
		break;
	case ITEM_CLOSE:
		journal_close(&item->journal);
		break;
	case ITEM_TRY:
		item->failed = !journal_try(item->journal);
		break;
	case ITEM_APPEND:
		item->failed =
		    !journal_write(item->journal, &item->entry, &id);
		break;
	}
}

static void
run_batch(void *arg)
{
	struct journal_writer *writer = arg;
	struct journal_item *item;
	bool appended = false;
	for (int kind = ITEM_MARK; kind <= ITEM_APPEND; kind++)
		LIST_EACH(item, &writer->batch, link) {
			if ((int)item->kind != kind)
				continue;
			run_item(item);
			appended = appended || kind == ITEM_APPEND;
		}
	if (!appended || journal_commit(writer->journal))
		return;
	LIST_EACH(item, &writer->batch, link)
		item->failed = item->failed || item->kind == ITEM_APPEND;
}

/* --- on the loop's thread --- */

/* Ends the batch; true: something of it failed. */
static bool
end_batch(struct journal_writer *writer)
{
	bool failed = false;
	struct journal_item *item;
	LIST_EACH(item, &writer->batch, link) {
		failed = failed || item->failed;
		if (item->kind == ITEM_TRY)
			writer->writable = !item->failed;
		if (item->op != NULL) {
			item->op->item = NULL;
			op_done(&item->op->op, item->failed ? E_JOURNAL : 0);
		}
		list_remove(&item->link);
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
	if (!list_empty(&writer->queue))
		task_ready(writer->loop, &writer->task);
}

/* As a task, so that whatever else this turn brings is in the same batch. */
static void
on_task(void *arg)
{
	struct journal_writer *writer = arg;
	if (writer->work != NULL || list_empty(&writer->queue))
		return;
	list_move_all(&writer->queue, &writer->batch);
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
	list_add_last(&writer->queue, &item->link);
	task_ready(writer->loop, &writer->task);
	return item;
}

/* The entry is written all the same: nobody waits for it any more. */
static void
detach_op(struct op *op, int error)
{
	struct journal_op *own = CONTAINER_OF(op, struct journal_op, op);
	(void)error;
	own->item->op = NULL;
	own->item = NULL;
}

void
journal_writer_append(struct journal_writer *writer, struct journal_op *op,
    const struct journal_entry *entry)
{
	struct journal_item *item =
	    add_item(writer, ITEM_APPEND, writer->journal,
		entry->provenance.len + entry->entity.len +
		    entry->version.len + entry->shown.len +
		    entry->answer.len);
	op_start(&op->op, 0, detach_op);
	op->item = item;
	item->op = op;
	item->entry = *entry;
	struct span *const spans[] = {&item->entry.provenance,
	    &item->entry.entity, &item->entry.version, &item->entry.shown,
	    &item->entry.answer};
	char *to = item->bytes;
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
		char *from = to;
		to = span_put(from, *spans[i]);
		spans[i]->ptr = from;
	}
}

void
journal_writer_finish(struct journal_writer *writer, struct journal *journal,
    uint64_t id, bool spoiled)
{
	journal_forget(journal, id, spoiled);
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
	enum journal_health health = journal_check(writer->journal, now_us);
	writer->writable = health == JOURNAL_WELL;
	if (health == JOURNAL_TO_BE_TRIED)
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
	    .arg = arg};
	list_init(&writer->queue);
	list_init(&writer->batch);
	writer->task = (struct task){.run = on_task, .arg = writer};
}

void
journal_writer_end(struct journal_writer *writer)
{
	work_finish(&writer->work);
	task_cancel(&writer->task);
	while (!list_empty(&writer->queue)) {
		list_move_all(&writer->queue, &writer->batch);
		run_batch(writer);
		end_batch(writer);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/loop/log.h"
#include "base/loop/work.h"
#include "base/mem.h"
#include "store/journal/journal_adoption.h"
#include "store/journal/journal_awaited.h"
#include "store/journal/journal_folder.h"

enum { SEARCH_MS = 5000 };

struct journal_adoption {
	struct loop *loop;
	void (*take)(void *arg, struct journal *journal);
	void (*searched)(void *arg, uint64_t foreign, uint64_t aside);
	void *arg;
	int64_t search_at_ms;
	struct work *work; /* NULL: no search is under way */
	/* During a search, these are the other thread's: */
	char *state_dir;
	struct journal_folder folder;
	struct origin ours;
	bool settled;
	struct list found;
	char *message; /* why the folder cannot be read; or NULL */
};

/* On the other thread, but for the first search. */
static void
search(void *arg)
{
	struct journal_adoption *adoption = arg;
	(void)!journal_folder_adopt(&adoption->folder, adoption->state_dir,
	    &adoption->ours, adoption->settled, &adoption->found,
	    &adoption->message);
}

static void
report(struct journal_adoption *adoption, const struct journal_found *file)
{
	/* A file that had nothing left to deliver is gone, and no news. */
	bool whole = file->damaged == 0 && file->lost_bytes == 0 &&
	    file->error == 0;
	if (file->aside != NULL ||
	    (file->foreign == 0 && (file->journal != NULL || !whole))) {
		struct logline line = log_begin(EV_journal_adopted);
		log_str(&line, "file", file->name);
		if (file->journal != NULL)
			log_int(&line, "entries",
			    journal_open_entries(
				file->journal, &adoption->ours));
		log_int(&line, "damaged", file->damaged);
		log_int(&line, "cut_bytes", (int64_t)file->lost_bytes);
		log_any(&line, "aside", span_str(file->aside));
		if (file->error != 0)
			log_str(&line, "error", strerror(file->error));
		log_end(&line);
	}
	if (file->foreign > 0 && adoption->settled) {
		struct logline line = log_begin(EV_journal_foreign);
		log_str(&line, "file", file->name);
		log_int(&line, "entries", file->foreign);
		log_end(&line);
	}
	if (file->journal != NULL)
		adoption->take(adoption->arg, file->journal);
}

static void
on_searched(void *arg)
{
	struct journal_adoption *adoption = arg;
	struct journal_found *found;
	adoption->work = NULL;
	LIST_EACH(found, &adoption->found, link) {
		report(adoption, found);
		journal_folder_found_free(&found);
	}
	journal_awaited_acquit(
	    adoption->folder.awaited, adoption->folder.search);
	if (adoption->message != NULL)
		log_event_str(
		    EV_journal_unwritable, "error", adoption->message);
	free(adoption->message);
	adoption->message = NULL;
	adoption->searched(adoption->arg, adoption->folder.foreign,
	    adoption->folder.aside);
}

void
journal_adoption_search(struct journal_adoption *adoption,
    const struct origin *ours, bool settled, bool blocks)
{
	int64_t now_ms = loop_now_ms(adoption->loop);
	if (adoption->work != NULL)
		return;
	/* What was not known to be ours before may be so now. */
	if (now_ms < adoption->search_at_ms && settled == adoption->settled &&
	    memcmp(ours, &adoption->ours, sizeof *ours) == 0)
		return;
	adoption->search_at_ms = now_ms + SEARCH_MS;
	adoption->ours = *ours;
	adoption->settled = settled;
	if (blocks) {
		search(adoption);
		on_searched(adoption);
	} else {
		adoption->work = work_start(
		    adoption->loop, search, on_searched, adoption);
	}
}

struct journal_adoption *
journal_adoption_new(struct loop *loop, const char *state_dir,
    struct journal_awaited *awaited,
    void (*take)(void *arg, struct journal *journal),
    void (*searched)(void *arg, uint64_t foreign, uint64_t aside), void *arg)
{
	struct journal_adoption *adoption = mem_zero(sizeof *adoption);
	adoption->loop = loop;
	adoption->state_dir = mem_text(state_dir);
	adoption->folder.awaited = awaited;
	adoption->take = take;
	adoption->searched = searched;
	adoption->arg = arg;
	list_init(&adoption->found);
	return adoption;
}

void
journal_adoption_free(struct journal_adoption **adoption)
{
	struct journal_adoption *a = *adoption;
	*adoption = NULL;
	if (a == NULL)
		return;
	work_finish(&a->work);
	journal_folder_forget(&a->folder);
	free(a->state_dir);
	free(a);
}

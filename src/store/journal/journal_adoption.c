/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/loop/log.h"
#include "base/loop/work.h"
#include "base/mem.h"
#include "store/journal/journal_adoption.h"
#include "store/journal/journal_folder.h"
#include "store/journal/journal_waiting.h"

enum { LOOK_MS = 5000 };

/* What was found, with a copy of what it points to. */
struct found {
	struct found *next;
	struct journal_found what;
	char *name;
	char *aside;
};

struct journal_adoption {
	struct loop *loop;
	void (*take)(void *arg, struct journal *journal);
	void (*looked)(void *arg);
	void *arg;
	uint64_t foreign;
	uint64_t aside;
	int64_t look_at_ms;
	struct work *work; /* NULL: nobody looks now */
	/* While somebody does, these are the other thread's: */
	char *state_dir;
	struct journal_folder folder;
	struct journal_waiting *waiting;
	uint64_t look; /* its number, from 1 */
	struct origin ours;
	bool settled;
	struct found *found;
	struct found **end;
	char *message; /* why the folder cannot be read; or NULL */
};

/* --- on the other thread --- */

/* Until our store's id is known, nothing is executed that these may be of. */
static void
suspect(const struct journal_adoption *adoption, const struct journal *journal)
{
	for (uint64_t id = 0; journal_next(journal, NULL, id, &id);) {
		struct journal_about about = journal_about(journal, id);
		journal_waiting_suspect(
		    adoption->waiting, &about, adoption->look);
	}
}

static void
on_found(void *arg, const struct journal_found *what)
{
	struct journal_adoption *adoption = arg;
	if (what->suspect != NULL) {
		suspect(adoption, what->suspect);
		return;
	}
	struct found *found = mem_zero(sizeof *found);
	found->what = *what;
	found->what.name = found->name = mem_text(what->name);
	found->what.aside = found->aside = mem_text(what->aside);
	*adoption->end = found;
	adoption->end = &found->next;
}

static void
search(void *arg)
{
	struct journal_adoption *adoption = arg;
	char *message = NULL;
	adoption->end = &adoption->found;
	adoption->look++;
	if (!journal_folder_adopt(&adoption->folder, adoption->state_dir,
		&adoption->ours, adoption->settled, on_found, adoption,
		&message))
		adoption->message = message;
}

/* --- on the loop's thread --- */

static void
log_foreign(const struct journal_found *found)
{
	struct logline line = log_begin(EV_journal_foreign);
	log_str(&line, "file", found->name);
	log_int(&line, "entries", found->foreign);
	log_end(&line);
}

static void
log_found(const struct journal_adoption *adoption,
    const struct journal_found *found)
{
	struct logline line = log_begin(EV_journal_adopted);
	log_str(&line, "file", found->name);
	if (found->journal != NULL)
		log_int(&line, "entries",
		    journal_own_entries(found->journal, &adoption->ours));
	log_int(&line, "damaged", found->damaged);
	log_int(&line, "cut_bytes", (int64_t)found->lost_bytes);
	if (found->aside != NULL)
		log_str(&line, "aside", found->aside);
	if (found->error != 0)
		log_str(&line, "error", strerror(found->error));
	log_end(&line);
}

/* One that had nothing left to deliver is gone, and no news. */
static bool
is_worth_telling(const struct journal_found *found)
{
	bool whole = found->damaged == 0 && found->lost_bytes == 0 &&
	    found->error == 0;
	return found->aside != NULL ||
	    (found->foreign == 0 && (found->journal != NULL || !whole));
}

static void
tell(struct journal_adoption *adoption, const struct journal_found *found)
{
	if (is_worth_telling(found))
		log_found(adoption, found);
	if (found->foreign > 0 && adoption->settled)
		log_foreign(found);
	if (found->journal != NULL)
		adoption->take(adoption->arg, found->journal);
}

static void
log_unreadable(const char *message)
{
	struct logline line = log_begin(EV_journal_unwritable);
	log_str(&line, "error", message);
	log_end(&line);
}

static void
on_looked(void *arg)
{
	struct journal_adoption *adoption = arg;
	adoption->work = NULL;
	while (adoption->found != NULL) {
		struct found *found = adoption->found;
		adoption->found = found->next;
		tell(adoption, &found->what);
		free(found->name);
		free(found->aside);
		free(found);
	}
	journal_waiting_acquit(adoption->waiting, adoption->look);
	if (adoption->message != NULL)
		log_unreadable(adoption->message);
	free(adoption->message);
	adoption->message = NULL;
	adoption->foreign = adoption->folder.foreign;
	adoption->aside = adoption->folder.aside;
	adoption->looked(adoption->arg);
}

static void
begin_look(struct journal_adoption *adoption, const struct origin *ours,
    bool settled)
{
	adoption->look_at_ms = loop_now_ms(adoption->loop) + LOOK_MS;
	adoption->ours = *ours;
	adoption->settled = settled;
}

void
journal_adoption_look_first(
    struct journal_adoption *adoption, const struct origin *ours)
{
	begin_look(adoption, ours, false);
	search(adoption);
	on_looked(adoption);
}

void
journal_adoption_look(struct journal_adoption *adoption,
    const struct origin *ours, bool settled)
{
	int64_t now_ms = loop_now_ms(adoption->loop);
	if (adoption->work != NULL)
		return;
	/* What was not known to be ours before may be so now. */
	if (now_ms < adoption->look_at_ms && settled == adoption->settled &&
	    memcmp(ours, &adoption->ours, sizeof *ours) == 0)
		return;
	begin_look(adoption, ours, settled);
	adoption->work =
	    work_start(adoption->loop, search, on_looked, adoption);
}

void
journal_adoption_count(const struct journal_adoption *adoption,
    struct counter *foreign, struct counter *aside)
{
	counter_set(foreign, adoption->foreign);
	counter_set(aside, adoption->aside);
}

/* --- life --- */

struct journal_adoption *
journal_adoption_new(struct loop *loop, const char *state_dir,
    struct journal_waiting *waiting,
    void (*take)(void *arg, struct journal *journal),
    void (*looked)(void *arg), void *arg)
{
	struct journal_adoption *adoption = mem_zero(sizeof *adoption);
	adoption->loop = loop;
	adoption->state_dir = mem_str(span_str(state_dir));
	adoption->waiting = waiting;
	adoption->take = take;
	adoption->looked = looked;
	adoption->arg = arg;
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
	journal_folder_end(&a->folder);
	free(a->state_dir);
	free(a);
}

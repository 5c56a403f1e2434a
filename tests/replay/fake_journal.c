/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/must.h"
#include "replay/fakes.h"
#include "store/journal/journal_folder.h"

/*
 * In place of src/store/journal/journal.c: files that are lists in memory, and
 * outlive their gateways.
 */
struct kept {
	struct kept *next;
	uint64_t id;
	bool open; /* it was committed */
	struct journal_entry entry;
	struct body bytes; /* of the entry's spans */
};

struct journal {
	struct journal *next; /* in the list of all files */
	struct gateway *gateway;
	char *state_dir;
	bool open; /* a living process has it */
	struct kept *kept;
	uint64_t last_id;
};

static struct journal *journals;

struct journal *
fake_journal_new(struct gateway *gateway)
{
	struct journal *journal = mem_zero(sizeof *journal);
	journal->gateway = gateway;
	journal->state_dir = mem_str(
	    span_str(world.confs[gateway->index]->state_dir));
	journal->open = true;
	journal->next = journals;
	journals = journal;
	return journal;
}

static void
settle(struct kept **at)
{
	struct kept *kept = *at;
	*at = kept->next;
	body_clear(&kept->bytes);
	free(kept);
}

static void
drop(struct journal **at)
{
	struct journal *journal = *at;
	*at = journal->next;
	while (journal->kept != NULL)
		settle(&journal->kept);
	free(journal->state_dir);
	free(journal);
}

void
journal_close(struct journal **journal)
{
	struct journal *old = *journal;
	*journal = NULL;
	if (old == NULL)
		return;
	old->open = false;
	struct journal **at = &journals;
	while (*at != old)
		at = &(*at)->next;
	if (old->kept == NULL)
		drop(at);
}

enum journal_health
journal_check(struct journal *journal, int64_t now_us)
{
	(void)now_us;
	return journal->gateway->disk_full ? JOURNAL_UNWELL : JOURNAL_WELL;
}

bool
journal_try(struct journal *journal)
{
	return !journal->gateway->disk_full;
}

const char *
journal_name(const struct journal *journal)
{
	(void)journal;
	return "j";
}

const char *
journal_message(const struct journal *journal)
{
	return journal->gateway->disk_full ? "no space" : "";
}

/* Has the entry's spans point to a copy of their bytes. */
static void
copy_spans(struct journal_entry *entry, struct body *bytes)
{
	struct span *spans[] = {&entry->provenance, &entry->entity,
	    &entry->version, &entry->shown, &entry->answer};
	enum { COUNT = sizeof spans / sizeof *spans };
	size_t at[COUNT];
	for (unsigned i = 0; i < COUNT; i++) {
		at[i] = bytes->len;
		must(body_append(bytes, spans[i]->ptr, spans[i]->len) == 0);
	}
	for (unsigned i = 0; i < COUNT; i++)
		spans[i]->ptr = body_span(bytes).ptr + at[i];
}

bool
journal_write(struct journal *journal, const struct journal_entry *entry,
    uint64_t *ret_id)
{
	if (journal->gateway->disk_full || journal->gateway->dead)
		return false;
	world.deeds++;
	world_say("  journal: kind %d", (int)entry->kind);
	struct kept **end = &journal->kept;
	while (*end != NULL)
		end = &(*end)->next;
	struct kept *kept = *end = mem_zero(sizeof *kept);
	kept->id = *ret_id = ++journal->last_id;
	kept->entry = *entry;
	copy_spans(&kept->entry, &kept->bytes);
	return true;
}

bool
journal_commit(struct journal *journal)
{
	for (struct kept *k = journal->kept; k != NULL; k = k->next)
		k->open = true;
	return true;
}

static struct kept **
find(const struct journal *journal, uint64_t id)
{
	struct kept **at = &((struct journal *)(uintptr_t)journal)->kept;
	while (*at != NULL && (*at)->id != id)
		at = &(*at)->next;
	must(*at != NULL);
	return at;
}

/* No operator looks in a replay. */
int
journal_read_answer(struct journal *journal, const struct origin *ours,
    const struct key_id *key_id, struct body *bytes,
    struct journal_entry *ret_entry)
{
	(void)journal;
	(void)ours;
	(void)key_id;
	(void)bytes;
	(void)ret_entry;
	return E_NOT_FOUND;
}

void
journal_forget(struct journal *journal, uint64_t id, bool spoiled)
{
	(void)spoiled;
	must(journal->open);
	world.deeds++;
	settle(find(journal, id));
}

void
journal_mark(struct journal *journal, uint64_t id)
{
	must(journal->open && id > 0);
}

/* There is one store. */
unsigned
journal_open_entries(struct journal *journal, const struct origin *ours)
{
	unsigned count = 0;
	(void)ours;
	for (struct kept *k = journal->kept; k != NULL; k = k->next)
		count += k->open;
	return count;
}

bool
journal_next(struct journal *journal, const struct origin *ours,
    uint64_t after, uint64_t *ret_id, struct journal_about *ret_about)
{
	(void)ours;
	for (struct kept *k = journal->kept; k != NULL; k = k->next)
		if (k->open && k->id > after) {
			*ret_id = k->id;
			if (ret_about != NULL)
				*ret_about = journal_entry_about(&k->entry);
			return true;
		}
	return false;
}

int
journal_read(struct journal *journal, uint64_t id, struct body *bytes,
    struct journal_entry *ret_entry)
{
	const struct kept *kept = *find(journal, id);
	body_clear(bytes);
	int error = body_append(bytes, kept->bytes.ptr, kept->bytes.len);
	if (error != 0)
		return error;
	*ret_entry = kept->entry;
	struct span *const spans[] = {&ret_entry->provenance,
	    &ret_entry->entity, &ret_entry->version, &ret_entry->shown,
	    &ret_entry->answer};
	for (unsigned i = 0; i < sizeof spans / sizeof *spans; i++)
		spans[i]->ptr =
		    bytes->ptr + (spans[i]->ptr - kept->bytes.ptr);
	return 0;
}

bool
journal_folder_adopt(struct journal_folder *folder, const char *state_dir,
    const struct origin *ours, bool settled, struct list *found,
    char **ret_message)
{
	struct gateway *gateway = NULL;
	folder->search++;
	(void)ours;
	(void)settled;
	for (unsigned i = 0; i < GATEWAYS_MAX; i++)
		if (world.confs[i] != NULL &&
		    strcmp(world.confs[i]->state_dir, state_dir) == 0)
			gateway = &world.gateways[i];
	(void)ret_message;
	must(gateway != NULL);
	gateway->adopted_us = world.now_us;
	for (struct journal *j = journals; j != NULL; j = j->next) {
		if (j->open || strcmp(j->state_dir, state_dir) != 0)
			continue;
		j->open = true;
		j->gateway = gateway;
		struct journal_found *file = mem_zero(sizeof *file);
		file->name = mem_text("j");
		file->journal = j;
		list_add_last(found, &file->link);
	}
	return true;
}

void
journal_folder_found_free(struct journal_found **found)
{
	list_remove(&(*found)->link);
	free((*found)->name);
	free(*found);
	*found = NULL;
}

void
journal_folder_forget(struct journal_folder *folder)
{
	(void)folder;
}

unsigned
fake_journals_open(void)
{
	unsigned count = 0;
	for (struct journal *j = journals; j != NULL; j = j->next)
		if (j->open)
			count += journal_open_entries(j, NULL);
	return count;
}

bool
fake_journals_answer(void)
{
	for (struct journal *j = journals; j != NULL; j = j->next)
		for (struct kept *k = j->kept; k != NULL; k = k->next)
			if (k->entry.kind == JOURNAL_COMPLETE)
				return true;
	return false;
}

bool
fake_journals_revoke(void)
{
	for (struct journal *j = journals; j != NULL; j = j->next)
		for (struct kept *k = j->kept; k != NULL; k = k->next)
			if (k->entry.attempt == 0)
				return true;
	return false;
}

void
fake_journals_clear(void)
{
	while (journals != NULL)
		drop(&journals);
}

uint64_t
fake_journals_hash(void)
{
	uint64_t sum = 0;
	for (struct journal *j = journals; j != NULL; j = j->next) {
		uint64_t hash = mix(j->open, j->gateway->index);
		for (struct kept *k = j->kept; k != NULL; k = k->next) {
			hash = mix(hash, k->entry.kind);
			hash = mix(hash, k->entry.attempt);
			hash = mix_bytes(hash, &k->entry.owner,
			    sizeof k->entry.owner);
			hash = mix_bytes(hash, k->bytes.ptr, k->bytes.len);
		}
		sum += hash;
	}
	return sum;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/journal/journal_aside.h"
#include "store/journal/journal_private.h"
#include "store/journal/journal_survey.h"

static void
count(uint64_t more, const char *name, uint64_t *sum, char **file)
{
	*sum += more;
	if (more > 0 && *file == NULL)
		*file = mem_str(span_str(name));
}

/* Adds the open entries of one file; false: errno says why. */
static bool
look_into(int folder, const char *name, const struct origin *ours,
    struct journal_survey *survey)
{
	struct journal_damage damage;
	int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return errno == ENOENT; /* its entries were just delivered */
	int own = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	if (own < 0) {
		close(file);
		return false;
	}
	struct journal *journal = journal_new(own, file, name);
	int error = journal_load(journal, &damage);
	unsigned ours_here = journal_own_entries(journal, ours);
	count(ours_here, name, &survey->entries, &survey->file);
	count(journal_open_entries(journal) - ours_here, name,
	    &survey->foreign, &survey->foreign_file);
	journal_give_up(&journal);
	errno = error;
	return error == 0;
}

static bool
look_at(int folder, const char *name, const struct origin *ours,
    struct journal_survey *survey)
{
	enum journal_format format;
	if (journal_format_of(name, &format))
		return look_into(folder, name, ours, survey);
	if (strstr(name, JOURNAL_ASIDE) != NULL)
		count(1, name, &survey->aside, &survey->aside_file);
	return true;
}

bool
journal_survey(const char *state_dir, const struct origin *ours,
    struct journal_survey *ret_survey)
{
	char *path = mem_printf("%s/journal", state_dir);
	DIR *folder = opendir(path);
	free(path);
	*ret_survey = (struct journal_survey){0};
	if (folder == NULL)
		return errno == ENOENT;
	bool ok = true;
	struct dirent *entry;
	errno = 0;
	while (ok && (entry = readdir(folder)) != NULL) {
		ok = look_at(dirfd(folder), entry->d_name, ours, ret_survey);
		errno = ok ? 0 : errno;
	}
	ok = ok && errno == 0;
	int error = errno;
	closedir(folder);
	errno = error;
	return ok;
}

void
journal_survey_clear(struct journal_survey *survey)
{
	free(survey->file);
	free(survey->foreign_file);
	free(survey->aside_file);
	*survey = (struct journal_survey){0};
}

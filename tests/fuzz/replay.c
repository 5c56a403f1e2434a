/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

/*
 * Runs the targets on their corpus, without libFuzzer: a test for each, which
 * prints each file's name first, so that the last one printed is to blame for a
 * crash.  "replay TARGET FILE..." runs one target on these files.
 */

static char *
read_file(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "rb");
	char *bytes = NULL;
	size_t len = 0;

	if (file == NULL) {
		perror(path);
		exit(1);
	}
	for (size_t got = 1; got > 0; len += got) {
		bytes = mem_grow(bytes, len + 65536);
		got = fread(bytes + len, 1, 65536, file);
	}
	fclose(file);
	*ret_len = len;
	return bytes;
}

static void
run_file(const struct fuzz_target *target, const char *path)
{
	size_t len;
	char *bytes = read_file(path, &len);
	/*
	 * A copy of exactly its size, so that a read past its end is noticed.
	 */
	char *copy = mem_copy(bytes, len);

	printf("# %s\n", path);
	fflush(stdout);
	target->run(span_of(copy, len));
	free(copy);
	free(bytes);
}

static unsigned
run_folder(const struct fuzz_target *target, const char *top)
{
	char *folder = mem_printf(
	    "%s/tests/fuzz/corpus/%s", top ? top : ".", target->name);
	DIR *names = opendir(folder);
	const struct dirent *entry;
	unsigned count = 0;

	while (names && (entry = readdir(names)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		char *path = mem_printf("%s/%s", folder, entry->d_name);
		run_file(target, path);
		free(path);
		count++;
	}
	if (names)
		closedir(names);
	free(folder);
	return count;
}

static int
run_files(const char *name, char **paths)
{
	const struct fuzz_target *target = fuzz_find(name);

	if (target == NULL) {
		fprintf(stderr, "there is no target %s\n", name);
		return 2;
	}
	for (; *paths; paths++)
		run_file(target, *paths);
	return 0;
}

int
main(int argc, char **argv)
{
	unsigned number = 0;
	bool all = true;

	if (argc > 1)
		return run_files(argv[1], argv + 2);
	printf("1..%zu\n",
	    sizeof((const char *const[]){
#define TARGET(name, message) #name,
#include "fuzz/targets.h"
#undef TARGET
	    }) / sizeof(char *));
	for (const struct fuzz_target *t = fuzz_targets; t->name; t++) {
		unsigned count = run_folder(t, getenv("top_srcdir"));
		all = all && count > 0;
		printf("%s %u - %s holds on %u inputs\n",
		    count > 0 ? "ok" : "not ok", ++number, t->name, count);
	}
	return all ? 0 : 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/must.h"
#include "base/test_build.h"

static const char *const guard_names[] = {
#define INVARIANT_NAME(name, words) #name,
#include "tbl/invariants.h"
#undef INVARIANT_NAME
};

static bool invariants_off[INVARIANT_COUNT_];

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A name that does not exist must not look like an invariant nobody misses. */
static void
switch_off(const char *name, size_t len)
{
	for (int i = 0; i < INVARIANT_COUNT_; i++) {
		if (strlen(guard_names[i]) == len &&
		    strncmp(guard_names[i], name, len) == 0) {
			invariants_off[i] = true;
			return;
		}
	}
	fprintf(stderr, "no invariant is named %.*s\n", (int)len, name);
	abort();
}

static void
read_guards(void)
{
	const char *names = getenv("ONCE_INVARIANTS_OFF");
	while (names != NULL && *names != '\0') {
		size_t len = strcspn(names, ",");
		switch_off(names, len);
		names += len + (names[len] == ',');
	}
}

bool
invariant_is_on(enum invariant invariant)
{
	must(pthread_once(&once, read_guards) == 0);
	return !invariants_off[invariant];
}

void
fault_point(const char *machine, const char *step)
{
	static atomic_int seen;
	char here[64];
	const char *wanted = getenv("ONCE_FAULT");
	int len = snprintf(here, sizeof here, "%s:%s", machine, step);
	if (wanted == NULL || strncmp(wanted, here, (size_t)len) != 0)
		return;
	wanted += len;
	if (*wanted != '\0' && *wanted != ':')
		return;
	int nth = *wanted == ':' ? atoi(wanted + 1) : 1;
	if (atomic_fetch_add(&seen, 1) + 1 != nth)
		return;
	dprintf(STDERR_FILENO,
	    "{\"event\":\"fault_point\",\"at\":\"%s\"}\n", here);
	while (getenv("ONCE_FAULT_HANGS") != NULL)
		pause();
	raise(SIGSTOP);
}

static char *
read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	if (file == NULL)
		return NULL;
	char *text = NULL;
	size_t size = 0;
	must(getdelim(&text, &size, '\0', file) > 0);
	fclose(file);
	return text;
}

const char *
script_in_trial(const char *name, const char *text)
{
	char path[4096];
	const char *folder = getenv("ONCE_SCRIPTS");
	if (folder == NULL)
		return text;
	snprintf(path, sizeof path, "%s/%s.lua", folder, name);
	/* Never freed: scripts are asked for only a few times. */
	const char *other = read_file(path);
	return other != NULL ? other : text;
}

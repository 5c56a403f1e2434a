/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/doctor.h"
#include "cmd/findings_private.h"
#include "cmd/print.h"
#include "probe/rights.h"

/* tbl/findings.h as data. */
static const struct kind {
	const char *name;
	enum finding_level level;
	const char *well;
	const char *message;
	const char *cure;
	void (*check)(struct doctor *doctor);
} kinds[] = {
#define FINDING(name, level, well, message, cure) \
	{#name, LEVEL_##level, well, message, cure, check_##name},
#include "tbl/findings.h"
#undef FINDING
};

static const char *const level_words[] = {"ok", "skip", "warn", "fail"};

/* --- findings --- */

/* The text with what stands for {}. */
static char *
filled(const char *text, const char *with)
{
	const char *hole = strstr(text, "{}");
	if (hole == NULL || with == NULL)
		return mem_str(span_str(text));
	return mem_printf(
	    "%.*s%s%s", (int)(hole - text), text, with, hole + 2);
}

static void
add(struct doctor *doctor, struct finding finding)
{
	doctor->list = mem_grow(
	    doctor->list, (doctor->count + 1) * sizeof *doctor->list);
	doctor->list[doctor->count++] = finding;
}

void
doctor_found(struct doctor *doctor, enum finding_name name,
    const char *where, char *detail, char *remedy)
{
	const struct kind *kind = &kinds[name];
	add(doctor, (struct finding){
	    .name = name,
	    .level = kind->level,
	    .where = where ? mem_str(span_str(where)) : NULL,
	    .message = filled(kind->message, detail),
	    .cure = filled(kind->cure, remedy),
	});
	free(detail);
	free(remedy);
}

void
doctor_well(struct doctor *doctor, enum finding_name name, char *message)
{
	add(doctor, (struct finding){
	    .name = name,
	    .level = LEVEL_OK,
	    .message = message,
	    .cure = mem_str(SPAN("")),
	});
}

void
doctor_skipped(
    struct doctor *doctor, enum finding_name name, const char *why)
{
	add(doctor, (struct finding){
	    .name = name,
	    .level = LEVEL_SKIP,
	    .message = mem_printf("not looked at: %s", why),
	    .cure = mem_str(SPAN("")),
	});
}

char *
doctor_quoted(const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789.:_@/-+=,%";
	if (*text != '\0' && strspn(text, plain) == strlen(text))
		return mem_str(span_str(text));
	char *quoted = NULL;
	size_t len;
	FILE *out = open_memstream(&quoted, &len);
	must(out != NULL);
	putc('\'', out);
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs("'\\'", out);
		putc(*text, out);
	}
	putc('\'', out);
	must(fclose(out) == 0);
	return quoted;
}

/* --- looking --- */

static void
look(struct doctor *doctor)
{
	if (conf_has_sentinels(doctor->conf))
		doctor->sentinels = sentinel_query(doctor->conf);
	doctor->n_redises = diagnostics_run(doctor->conf, &doctor->redises);
	doctor->reached = upstreams_reach(doctor->conf, &doctor->n_reached);
}

static void
drop(struct doctor *doctor, size_t index)
{
	struct finding *finding = &doctor->list[index];
	free(finding->where);
	free(finding->message);
	free(finding->cure);
	doctor->count--;
	memmove(finding, finding + 1,
	    (doctor->count - index) * sizeof *finding);
}

/* What holds of several masters alike is said once. */
static bool
is_said(const struct doctor *doctor, size_t from, size_t index)
{
	const struct finding *finding = &doctor->list[index];
	for (size_t i = from; i < index; i++)
		if (doctor->list[i].level == finding->level &&
		    strcmp(doctor->list[i].message, finding->message) == 0)
			return true;
	return false;
}

/* What was found of one master of several, behind the first count. */
static void
name_master(struct doctor *doctor, size_t before, size_t count)
{
	for (size_t i = count; i < doctor->count; i++) {
		struct finding *finding = &doctor->list[i];
		if (finding->level <= LEVEL_SKIP) {
			if (is_said(doctor, before, i))
				drop(doctor, i--);
			continue;
		}
		char *message = finding->message;
		finding->message =
		    mem_printf("%s: %s", doctor->redis.place, message);
		free(message);
	}
}

static bool
is_of_redis(size_t kind)
{
	return kind >= FINDING_redis_stopped && kind <= FINDING_foreign_keys;
}

static void
check(struct doctor *doctor, size_t kind)
{
	size_t before = doctor->count;
	size_t times = is_of_redis(kind) ? doctor->n_redises : 1;
	for (size_t i = 0; i < times; i++) {
		size_t count = doctor->count;
		if (doctor->n_redises > 0)
			doctor->redis = doctor->redises[i];
		kinds[kind].check(doctor);
		if (is_of_redis(kind) && doctor->redis.place != NULL)
			name_master(doctor, before, count);
	}
}

/* Of a file that is not valid nothing is known but that. */
static void
judge(struct doctor *doctor)
{
	size_t most = doctor->conf != NULL ? FINDING_COUNT_ : 1;
	for (size_t i = 0; i < most; i++) {
		size_t before = doctor->count;
		check(doctor, i);
		if (doctor->count == before)
			doctor_well(doctor, (enum finding_name)i,
			    mem_str(span_str(kinds[i].well)));
	}
}

static unsigned
count_of(const struct doctor *doctor, enum finding_level level)
{
	unsigned n = 0;
	for (size_t i = 0; i < doctor->count; i++)
		n += doctor->list[i].level == level;
	return n;
}

static void
clear(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++) {
		free(doctor->list[i].where);
		free(doctor->list[i].message);
		free(doctor->list[i].cure);
	}
	free(doctor->list);
	free(doctor->reached);
	if (doctor->sentinels != NULL)
		sentinel_query_free(doctor->conf, &doctor->sentinels);
	for (size_t i = 0; i < doctor->n_redises; i++)
		diagnostics_clear(&doctor->redises[i]);
	free(doctor->redises);
}

/* --- telling --- */

static void
print_line(const struct finding *finding)
{
	printf("%-4s  ", level_words[finding->level]);
	if (finding->where != NULL) {
		print_safely(finding->where);
		fputs(": ", stdout);
	}
	print_safely(finding->message);
	if (finding->cure[0] != '\0') {
		fputs(". To do: ", stdout);
		print_safely(finding->cure);
	}
	printf("  [%s]\n", kinds[finding->name].name);
}

static void
print_text(const struct doctor *doctor, const char *file, bool verbose)
{
	unsigned failures = count_of(doctor, LEVEL_FAIL);
	unsigned warnings = count_of(doctor, LEVEL_WARN);
	unsigned skipped = count_of(doctor, LEVEL_SKIP);
	for (size_t i = 0; i < doctor->count; i++)
		if (verbose || doctor->list[i].level > LEVEL_SKIP)
			print_line(&doctor->list[i]);
	print_safely(file);
	if (failures + warnings == 0)
		fputs(": all is well", stdout);
	else
		printf(": %u failure%s, %u warning%s", failures,
		    failures == 1 ? "" : "s", warnings,
		    warnings == 1 ? "" : "s");
	if (skipped > 0)
		printf("; %u not looked at%s", skipped,
		    verbose ? "" : " (-v says why)");
	putchar('\n');
}

static void
print_json(const struct doctor *doctor, const char *file)
{
	json_t *list = json_array();
	for (size_t i = 0; i < doctor->count; i++) {
		const struct finding *f = &doctor->list[i];
		json_array_append_new(list,
		    json_pack("{s:s, s:s, s:s?, s:s, s:s}", "level",
			level_words[f->level], "name", kinds[f->name].name,
			"where", f->where, "words", f->message, "cure",
			f->cure));
	}
	json_t *all = json_pack("{s:s, s:i, s:i, s:o}", "file", file,
	    "failures", (int)count_of(doctor, LEVEL_FAIL), "warnings",
	    (int)count_of(doctor, LEVEL_WARN), "findings", list);
	must(all != NULL);
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
}

static void
print(const struct doctor *doctor, const struct command_line *line)
{
	if (line->as_json)
		print_json(doctor, line->file);
	else
		print_text(doctor, line->file, line->verbose);
}

/* --- the command --- */

/* A user that is made so can run the gateway, and nothing else. */
static void
print_acl(const struct conf *conf)
{
	char *rules = rights_rules(conf);
	printf("ACL SETUSER %s on >PASSWORD resetkeys resetchannels -@all "
	       "%s\n", conf->store.user ? conf->store.user : "onceproxy",
	    rules);
	free(rules);
}

int
cmd_doctor(const struct command_line *line)
{
	struct complaints complaints = {0};
	const struct conf *conf = conf_load(line->file, &complaints);
	struct doctor doctor = {.conf = conf, .complaints = &complaints};
	/* The parts of a gateway that are used here write no log. */
	log_set_level(LOG_ERROR);
	if (line->acl && conf != NULL) {
		print_acl(conf);
	} else {
		if (conf != NULL)
			look(&doctor);
		judge(&doctor);
		print(&doctor, line);
	}
	bool well = count_of(&doctor, LEVEL_FAIL) == 0;
	clear(&doctor);
	complaints_free(&complaints);
	conf_unref(&conf);
	return well ? 0 : 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_pointer.h"
#include "base/mem.h"
#include "base/must.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/findings_private.h"
#include "store/redis/managed.h"

const struct finding_kind finding_kinds[] = {
#define FINDING(name, level, needs, well, message, cure) \
	{#name, LEVEL_##level, NEEDS_##needs, well, message, cure},
#include "tbl/findings.h"
#undef FINDING
};

/* --- words --- */

char *
findings_pointer(const char *member, const char *name)
{
	struct span segments[] = {span_str(member), span_str(name)};
	const struct json_pointer pointer = {segments, 2};
	return json_pointer_text(&pointer);
}

/* The text with what stands for {}. */
static char *
filled(const char *text, const char *with)
{
	const char *hole = strstr(text, "{}");
	if (hole == NULL || with == NULL)
		return mem_text(text);
	return mem_printf("%.*s%s%s", (int)(hole - text), text, with, hole + 2);
}

/* --- where a redis-cli is led --- */

static void
print_quoted(FILE *out, const char *option, const char *value)
{
	if (value == NULL)
		return;
	char *quoted = shell_quote(value);
	fprintf(out, " %s %s", option, quoted);
	free(quoted);
}

void
findings_cli(struct doctor *doctor, const struct conf_redis *redis,
    const char *host, uint16_t port)
{
	const struct address *at = &redis->address;
	const struct conf_redis_tls *tls = &redis->tls;
	bool own = host == NULL && !redis->managed && at->text != NULL;
	if (own && at->kind == ADDRESS_TCP) {
		host = at->host;
		port = at->port;
	}
	free(doctor->cli_there);
	free(doctor->cli_manner);
	FILE *there = mem_stream(&doctor->cli_there);
	FILE *manner = mem_stream(&doctor->cli_manner);
	if (host != NULL) {
		print_quoted(there, "-h", *host != '\0' ? host : "localhost");
		fprintf(there, " -p %u", port);
	} else if (redis->managed) {
		char *path = managed_socket(doctor->conf);
		print_quoted(there, "-s", path);
		free(path);
	} else if (own) {
		print_quoted(there, "-s", at->host);
	}
	if (own && redis->db != 0)
		fprintf(there, " -n %" PRId64, redis->db);
	if (tls->on) {
		fputs(" --tls", manner);
		print_quoted(manner, "--sni", tls->server_name);
		print_quoted(manner, "--cacert", tls->files.ca);
		print_quoted(manner, "--cert", tls->files.certificate);
		print_quoted(manner, "--key", tls->files.key);
	}
	if (redis->password != NULL)
		fputs(" --askpass", manner);
	must(fclose(there) == 0 && fclose(manner) == 0);
}

/*
 * The text, and behind each redis-cli in it what leads there: to a command all
 * of it, to options that say where already how that is spoken to.
 */
static char *
placed(const struct doctor *doctor, char *text)
{
	static const char name[] = "redis-cli ";
	char *result = NULL, *rest = text, *found;
	if (doctor->cli_there == NULL)
		return text;
	FILE *out = mem_stream(&result);
	while ((found = strstr(rest, name)) != NULL) {
		char *next = found + sizeof name - 1;
		bool command = *next >= 'A' && *next <= 'Z';
		fprintf(out, "%.*s%s%s ", (int)(next - 1 - rest), rest,
		    command ? doctor->cli_there : "",
		    command || *next == '-' ? doctor->cli_manner : "");
		rest = next;
	}
	fputs(rest, out);
	must(fclose(out) == 0);
	free(text);
	return result;
}

/* --- adding --- */

static void
append(struct doctor *doctor, struct finding finding)
{
	doctor->list =
	    mem_grow(doctor->list, (doctor->count + 1) * sizeof *doctor->list);
	doctor->list[doctor->count++] = finding;
}

void
findings_add(struct doctor *doctor, enum finding_name name, const char *where,
    char *detail, char *remedy)
{
	const struct finding_kind *kind = &finding_kinds[name];
	char *message = filled(kind->message, detail);
	append(doctor,
	    (struct finding){
		.name = name,
		.level = kind->level,
		.where = mem_text(where),
		.message = doctor->place == NULL
			       ? mem_text(message)
			       : mem_printf("%s: %s", doctor->place, message),
		.cure = placed(doctor, filled(kind->cure, remedy)),
	    });
	free(message);
	free(detail);
	free(remedy);
}

/* What holds of several masters, or brokers, alike is said once. */
static void
append_once(struct doctor *doctor, enum finding_name name,
    enum finding_level level, char *message)
{
	for (size_t i = 0; i < doctor->count; i++)
		if (doctor->list[i].name == name &&
		    doctor->list[i].level == level &&
		    strcmp(doctor->list[i].message, message) == 0) {
			free(message);
			return;
		}
	append(doctor, (struct finding){
			   .name = name,
			   .level = level,
			   .message = message,
			   .cure = mem_text(""),
		       });
}

void
findings_well(struct doctor *doctor, enum finding_name name, char *message)
{
	append_once(doctor, name, LEVEL_OK, message);
}

void
findings_skip(struct doctor *doctor, enum finding_name name, const char *why)
{
	append_once(
	    doctor, name, LEVEL_SKIP, mem_printf("not checked: %s", why));
}

bool
findings_has(const struct doctor *doctor, enum finding_name name)
{
	for (size_t i = 0; i < doctor->count; i++)
		if (doctor->list[i].name == name)
			return true;
	return false;
}

void
findings_skip_all(
    struct doctor *doctor, enum finding_needs needs, const char *why)
{
	for (unsigned i = 0; i < FINDING_COUNT_; i++)
		if (finding_kinds[i].needs == needs && !findings_has(doctor, i))
			findings_skip(doctor, i, why);
}

/* --- all of them --- */

void
findings_sort(struct doctor *doctor)
{
	struct doctor sorted = *doctor;
	unsigned most = doctor->conf != NULL ? FINDING_COUNT_ : 1;
	sorted.list = NULL;
	sorted.count = 0;
	for (unsigned name = 0; name < most; name++) {
		for (size_t i = 0; i < doctor->count; i++)
			if (doctor->list[i].name == name)
				append(&sorted, doctor->list[i]);
		if (!findings_has(&sorted, name))
			findings_well(
			    &sorted, name, mem_text(finding_kinds[name].well));
	}
	free(doctor->list);
	*doctor = sorted;
}

unsigned
findings_count(const struct doctor *doctor, enum finding_level level)
{
	unsigned n = 0;
	for (size_t i = 0; i < doctor->count; i++)
		n += doctor->list[i].level == level;
	return n;
}

void
findings_free(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++) {
		free(doctor->list[i].where);
		free(doctor->list[i].message);
		free(doctor->list[i].cure);
	}
	free(doctor->list);
	doctor->list = NULL;
	doctor->count = 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "operators/doctor/findings_private.h"

const struct finding_kind finding_kinds[] = {
#define FINDING(name, level, function, well, message, cure) \
	{#name, LEVEL_##level, well, message, cure},
#include "tbl/findings.h"
#undef FINDING
};

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
append_finding(struct doctor *doctor, struct finding finding)
{
	doctor->list = mem_grow(
	    doctor->list, (doctor->count + 1) * sizeof *doctor->list);
	doctor->list[doctor->count++] = finding;
}

void
findings_add(struct doctor *doctor, enum finding_name name,
    const char *where, char *detail, char *remedy)
{
	const struct finding_kind *kind = &finding_kinds[name];
	append_finding(doctor, (struct finding){
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
findings_add_well(struct doctor *doctor, enum finding_name name, char *message)
{
	append_finding(doctor, (struct finding){
	    .name = name,
	    .level = LEVEL_OK,
	    .message = message,
	    .cure = mem_str(SPAN("")),
	});
}

void
findings_add_skipped(
    struct doctor *doctor, enum finding_name name, const char *why)
{
	append_finding(doctor, (struct finding){
	    .name = name,
	    .level = LEVEL_SKIP,
	    .message = mem_printf("not checked: %s", why),
	    .cure = mem_str(SPAN("")),
	});
}

unsigned
findings_count(const struct doctor *doctor, enum finding_level level)
{
	unsigned n = 0;
	for (size_t i = 0; i < doctor->count; i++)
		n += doctor->list[i].level == level;
	return n;
}

static void
clear_finding(struct finding *finding)
{
	free(finding->where);
	free(finding->message);
	free(finding->cure);
}

void
findings_drop(struct doctor *doctor, size_t index)
{
	struct finding *finding = &doctor->list[index];
	clear_finding(finding);
	doctor->count--;
	memmove(finding, finding + 1,
	    (doctor->count - index) * sizeof *finding);
}

void
findings_free(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++)
		clear_finding(&doctor->list[i]);
	free(doctor->list);
	doctor->list = NULL;
	doctor->count = 0;
}

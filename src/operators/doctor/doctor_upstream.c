/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json_pointer.h"
#include "base/mem.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/doctor_upstream_private.h"

/* --- where it is --- */

/* The relay with that receiver; there is one. */
static const char *
relay_of(const struct conf *conf, const struct conf_upstream *receiver)
{
	size_t i = 0;
	while (&conf->relays[i].receiver != receiver)
		i++;
	return conf->relays[i].name;
}

/* The pointer to a target, or to an upstream that has only one. */
static char *
target_pointer(const struct conf *conf, const struct reached *reached)
{
	const char *name = reached->upstream->name;
	char *pointer = NULL;
	size_t len;
	FILE *out = open_memstream(&pointer, &len);
	must(out != NULL);
	fputs(name != NULL ? "/upstreams" : "/relays", out);
	if (name == NULL)
		name = relay_of(conf, reached->upstream);
	json_pointer_write(out, span_str(name));
	if (reached->upstream->n_targets > 1)
		fprintf(out, "/targets/%td",
		    reached->target - reached->upstream->targets);
	must(fclose(out) == 0);
	return pointer;
}

static char *
host_port(const struct conf_target *target)
{
	bool v6 = strchr(target->host, ':') != NULL;
	return target->unix_path != NULL
	    ? mem_str(span_str(target->unix_path))
	    : mem_printf("%s%s%s:%u", v6 ? "[" : "", target->host,
		  v6 ? "]" : "", target->port);
}

/* --- judging --- */

/* Another target of the upstream takes what this one cannot. */
static bool
is_spared(const struct doctor *doctor, const struct reached *reached)
{
	for (size_t i = 0; i < doctor->n_reached; i++)
		if (doctor->reached[i].upstream == reached->upstream &&
		    doctor->reached[i].error == 0)
			return true;
	return false;
}

/* That of a relay, which has its own finding. */
static bool
is_receiver(const struct reached *reached)
{
	return reached->upstream->name == NULL;
}

static void
add_target(struct doctor *doctor, enum finding_name name,
    const struct reached *reached, char *remedy)
{
	char *where = target_pointer(doctor->conf, reached);
	/* The path of a webhook may be what its receiver knows us by. */
	char *place = is_receiver(reached)
	    ? host_port(reached->target)
	    : mem_str(span_str(reached->target->url));
	findings_add(doctor, name, where,
	    mem_printf("%s: %s", place,
		reached->message[0] ? reached->message
				  : error_message(reached->error)),
	    remedy);
	free(place);
	free(where);
}

/* FINDING_COUNT_: none. */
static enum finding_name
finding_for(const struct reached *reached)
{
	switch (reached->error) {
	case E_RESOLVE:
		return FINDING_upstream_name;
	case E_UNREACHABLE:
		return FINDING_upstream_closed;
	case E_TIMEOUT:
		return FINDING_upstream_silent;
	case E_TLS_NONE:
		return FINDING_upstream_plain;
	case E_TLS:
	case E_TLS_AUTHORITY:
	case E_TLS_EARLY:
	case E_TLS_FILES:
	case E_TLS_NAME:
	case E_TLS_OVER:
		return FINDING_upstream_tls;
	}
	return FINDING_COUNT_;
}

/* The targets that failed so, of upstreams of which no other is there. */
static void
add_failed(struct doctor *doctor, enum finding_name name,
    char *(*remedy)(const struct conf_target *target))
{
	for (size_t i = 0; i < doctor->n_reached; i++) {
		const struct reached *reached = &doctor->reached[i];
		if (finding_for(reached) == name && !is_receiver(reached) &&
		    !is_spared(doctor, reached))
			add_target(
			    doctor, name, reached, remedy(reached->target));
	}
}

static char *
quoted_host(const struct conf_target *target)
{
	return shell_quote(target->host);
}

static char *
url_copy(const struct conf_target *target)
{
	return mem_str(span_str(target->url));
}

static char *
openssl_command(const struct conf_target *target)
{
	char *address = host_port(target);
	char *command = mem_printf(
	    "openssl s_client -connect %s -servername %s", address,
	    target->host);
	free(address);
	return command;
}

void
doctor_upstream_name(struct doctor *doctor)
{
	add_failed(doctor, FINDING_upstream_name, quoted_host);
}

void
doctor_upstream_closed(struct doctor *doctor)
{
	add_failed(doctor, FINDING_upstream_closed, url_copy);
}

void
doctor_upstream_silent(struct doctor *doctor)
{
	add_failed(doctor, FINDING_upstream_silent, host_port);
}

void
doctor_upstream_plain(struct doctor *doctor)
{
	add_failed(doctor, FINDING_upstream_plain, url_copy);
}

/* Each of several, too: one in so many payments would go there. */
void
doctor_upstream_wants_tls(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->n_reached; i++) {
		const struct reached *reached = &doctor->reached[i];
		if (!reached->wants_tls || is_receiver(reached))
			continue;
		char *where = target_pointer(doctor->conf, reached);
		findings_add(doctor, FINDING_upstream_wants_tls, where,
		    url_copy(reached->target), url_copy(reached->target));
		free(where);
	}
}

void
doctor_upstream_tls(struct doctor *doctor)
{
	add_failed(doctor, FINDING_upstream_tls, openssl_command);
}

void
doctor_upstream_target_down(struct doctor *doctor)
{
	bool lost = false;
	size_t before = doctor->count;
	for (size_t i = 0; i < doctor->n_reached; i++) {
		const struct reached *reached = &doctor->reached[i];
		if (reached->error != 0 && is_spared(doctor, reached))
			add_target(doctor, FINDING_target_down, reached,
			    url_copy(reached->target));
		lost = lost || (reached->error != 0 && !is_receiver(reached));
	}
	if (lost && doctor->count == before)
		findings_add_skipped(doctor, FINDING_target_down,
		    "no other target takes the requests of one that fails");
}

void
doctor_upstream_receiver(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->n_reached; i++) {
		const struct reached *reached = &doctor->reached[i];
		if (reached->error == 0 || !is_receiver(reached))
			continue;
		char *place = host_port(reached->target);
		add_target(doctor, FINDING_relay_receiver, reached,
		    mem_printf("%s%s", place,
			reached->target->tls
			    ? "; its certificate must be of an authority that "
			      "this machine trusts"
			    : ""));
		free(place);
	}
}

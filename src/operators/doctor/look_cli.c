/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/look_private.h"
#include "store/redis/managed.h"

static void
print_quoted(FILE *out, const char *option, const char *value)
{
	if (value == NULL)
		return;
	char *quoted = shell_quote(value);
	fprintf(out, " %s %s", option, quoted);
	free(quoted);
}

static void
print_tcp(FILE *out, const char *host, uint16_t port)
{
	print_quoted(out, "-h", *host != '\0' ? host : "localhost");
	fprintf(out, " -p %u", port);
}

void
look_cli(struct doctor *doctor, const struct conf_redis *redis,
    const char *host, uint16_t port)
{
	const struct address *at = &redis->address;
	const struct conf_redis_tls *tls = &redis->tls;
	size_t len;
	free(doctor->cli_there);
	free(doctor->cli_manner);
	FILE *there = open_memstream(&doctor->cli_there, &len);
	FILE *manner = open_memstream(&doctor->cli_manner, &len);
	must(there != NULL && manner != NULL);
	if (host != NULL) {
		print_tcp(there, host, port);
	} else if (redis->managed) {
		char *path = managed_socket(doctor->conf);
		print_quoted(there, "-s", path);
		free(path);
	} else if (at->text != NULL) {
		if (at->kind == ADDRESS_TCP)
			print_tcp(there, at->host, at->port);
		else
			print_quoted(there, "-s", at->host);
		if (redis->db != 0)
			fprintf(there, " -n %" PRId64, redis->db);
	}
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

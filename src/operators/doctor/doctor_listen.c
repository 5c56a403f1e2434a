/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "operators/doctor/doctor_listen_private.h"

/* --- TCP --- */

/* 0, or why nobody can listen there, whatever the port: an errno. */
static int
try_address(const struct addrinfo *info)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error = fd < 0 || bind(fd, info->ai_addr, info->ai_addrlen) != 0
	    ? errno : 0;
	if (fd >= 0)
		close(fd);
	return error;
}

/* What is wrong; NULL: nothing.  The caller frees it. */
static char *
trouble_of_host(const char *host)
{
	const struct addrinfo hints = {
	    .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *info = NULL;
	if (*host == '\0')
		return NULL;
	int unknown = getaddrinfo(host, "0", &hints, &info);
	if (unknown != 0)
		return mem_text(gai_strerror(unknown));
	/* As serve does, which takes the first that it can have. */
	int error = EADDRNOTAVAIL;
	for (const struct addrinfo *one = info; one != NULL && error != 0;
	     one = one->ai_next)
		error = try_address(one);
	freeaddrinfo(info);
	return error != 0 ? mem_text(strerror(error)) : NULL;
}

/* --- Unix sockets --- */

static char *
trouble_of_path(const char *path)
{
	struct stat st;
	const char *slash = strrchr(path, '/');
	char *above = slash == NULL ? mem_text(".")
	    : slash == path
	    ? mem_text("/")
	    : mem_str(span_of(path, (size_t)(slash - path)));
	int error = stat(above, &st) != 0 ? errno
	    : !S_ISDIR(st.st_mode) ? ENOTDIR : 0;
	char *words = error == 0 ? NULL
	    : mem_printf("the folder %s: %s", above, strerror(error));
	free(above);
	return words;
}

static char *
trouble_of_group(const char *group)
{
	errno = 0;
	if (group == NULL || getgrnam(group) != NULL || errno != 0)
		return NULL;
	return mem_printf("there is no group \"%s\"", group);
}

/* --- each --- */

static void
find_trouble(struct doctor *doctor, const char *pointer,
    const struct address *address, const char *group)
{
	char *words = address->kind == ADDRESS_UNIX
	    ? trouble_of_path(address->host)
	    : trouble_of_host(address->host);
	if (words == NULL)
		words = trouble_of_group(group);
	if (words != NULL)
		findings_add(doctor, FINDING_listen, pointer,
		    mem_printf("%s (%s)", address->text, words), NULL);
	free(words);
}

void
doctor_listen_addresses(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	for (size_t i = 0; i < conf->n_listen; i++) {
		char *pointer = mem_printf("/listen/%zu", i);
		find_trouble(doctor, pointer, &conf->listen[i].address,
		    conf->listen[i].group);
		free(pointer);
	}
	if (conf->admin.text != NULL)
		find_trouble(doctor, "/admin/listen", &conf->admin, NULL);
}

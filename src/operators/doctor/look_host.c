/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "conf/load/certificates.h"
#include "operators/commands/descriptors.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/look_private.h"
#include "store/journal/journal_folder.h"
#include "store/redis/managed.h"

static const char state_dir_pointer[] = "/state_dir";
/* Where a package has it. */
static const char usual_state_dir[] = "/var/lib/onceproxy";
/* Who runs the gateway where root looks. */
static const char unit_user[] = "onceproxy";

/* The folder that a path is in; for free(). */
static char *
folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash == NULL   ? mem_text(".")
	       : slash == path ? mem_text("/")
			       : mem_str(span_of(path, (size_t)(slash - path)));
}

/*
 * What makes a folder for the gateway; or, of a file that is there, closes it
 * to others so that the gateway can read it still.  Whoever looks as root does
 * it for another: the unit's user, if there is.
 */
static char *
command_for(const char *path, const struct stat *st)
{
	bool root = geteuid() == 0;
	const struct passwd *user =
	    root ? getpwnam(unit_user) : getpwuid(geteuid());
	char *quoted = shell_quote(path), *made;
	if (st == NULL)
		made = mem_printf("%sinstall -d -m 0700 -o %s %s",
		    root ? "" : "sudo ",
		    user != NULL ? user->pw_name : "USER", quoted);
	else if (user == NULL || st->st_uid == user->pw_uid ||
		 st->st_gid == user->pw_gid)
		made = mem_printf("chmod 640 %s", quoted);
	else
		made = mem_printf("chgrp %u %s && chmod 640 %s",
		    (unsigned)user->pw_gid, quoted, quoted);
	free(quoted);
	return made;
}

/* --- state_dir --- */

/* In one that is not there yet all is well. */
static void
look_at_state_dir(struct doctor *doctor)
{
	const char *path = doctor->conf->state_dir;
	struct stat st;
	struct statvfs fs;
	bool there = stat(path, &st) == 0;
	bool folder = there && S_ISDIR(st.st_mode);
	int error = there && !folder                  ? ENOTDIR
		    : access(path, W_OK | X_OK) != 0 ? errno
						     : 0;
	/* It is made at the start. */
	if (error == ENOENT) {
		char *above = folder_of(path);
		error = access(above, W_OK | X_OK) == 0 ? 0 : errno;
		free(above);
	}
	if (error != 0)
		findings_add(doctor, FINDING_state_dir, state_dir_pointer,
		    mem_printf("%s (%s)", path, strerror(error)),
		    command_for(
			error == ENOTDIR ? usual_state_dir : path, NULL));
	if (folder && (st.st_mode & 077) != 0)
		findings_add(doctor, FINDING_state_dir_open, state_dir_pointer,
		    mem_printf(
			"%s (mode %04o)", path, (unsigned)st.st_mode & 07777),
		    shell_quote(path));
	if (statvfs(path, &fs) == 0 &&
	    (uint64_t)fs.f_bavail * fs.f_frsize < JOURNAL_RESERVE_BYTES)
		findings_add(doctor, FINDING_state_dir_full, state_dir_pointer,
		    mem_text(path), shell_quote(path));
}

void
look_host_journal(struct doctor *doctor)
{
	struct origin ours = {.id = {0}};
	struct journal_survey journal = {0};
	origin_place(doctor->conf, ours.place);
	if (doctor->store_id != NULL)
		origin_id(doctor->conf, span_str(doctor->store_id), ours.id);
	int error =
	    journal_folder_survey(doctor->conf->state_dir, &ours, &journal)
		? 0
		: errno;
	const struct {
		enum finding_name name;
		uint64_t count;
		const char *file, *remedy;
	} all[] = {
	    {FINDING_journal, journal.entries, journal.file,
		doctor->conf->file},
	    {FINDING_journal_foreign, journal.foreign, journal.foreign_file,
		NULL},
	    {FINDING_journal_damaged, journal.aside, journal.aside_file, NULL},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (error != 0)
			findings_skip(doctor, all[i].name, strerror(error));
		else if (all[i].count > 0)
			findings_add(doctor, all[i].name, state_dir_pointer,
			    mem_printf(
				"%" PRIu64 " (%s)", all[i].count, all[i].file),
			    all[i].remedy ? shell_quote(all[i].remedy) : NULL);
	free(journal.file);
	free(journal.foreign_file);
	free(journal.aside_file);
}

/* --- secrets --- */

/* Whether others come to where it is; the path is absolute. */
static bool
is_open_to_all(const char *path)
{
	char *folder = mem_str(span_str(path));
	bool open = true;
	for (char *slash; open && (slash = strrchr(folder, '/')) != NULL;) {
		struct stat st;
		*slash = '\0';
		open = stat(slash == folder ? "/" : folder, &st) == 0 &&
		       (st.st_mode & S_IXOTH) != 0;
	}
	free(folder);
	return open;
}

static void
look_at_secret(struct doctor *doctor, const char *pointer, const char *path)
{
	struct stat st;
	char *real = realpath(path, NULL);
	if (real != NULL && stat(real, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_mode & (S_IROTH | S_IWOTH)) != 0 && is_open_to_all(real)) {
		const struct passwd *owner = getpwuid(st.st_uid);
		findings_add(doctor, FINDING_secret_open, pointer,
		    mem_printf("%s%s%s %s (of %s, mode %04o)",
			st.st_mode & S_IROTH ? "read" : "",
			(st.st_mode & S_IROTH) && (st.st_mode & S_IWOTH)
			    ? " and "
			    : "",
			st.st_mode & S_IWOTH ? "change" : "", path,
			owner != NULL ? owner->pw_name : "nobody we know",
			(unsigned)st.st_mode & 07777),
		    command_for(path, &st));
	}
	free(real);
}

/* --- certificates --- */

static void
look_at_certificate(struct doctor *doctor, size_t index)
{
	const struct conf_tls *tls = &doctor->conf->listen[index].tls;
	int64_t now_ms = clock_wall_ms();
	if (tls->credentials == NULL)
		return;
	enum certificates_time when = certificates_time(tls, now_ms);
	bool soon = when == CERTIFICATES_END_SOON;
	if (!soon && (when < CERTIFICATES_EARLY || when > CERTIFICATES_OVER))
		return;
	char *pointer = mem_printf("/listen/%zu/tls/certificate", index);
	findings_add(doctor,
	    soon ? FINDING_certificate_ends : FINDING_certificate_invalid,
	    pointer, certificates_words(tls, now_ms),
	    shell_quote(tls->certificate));
	free(pointer);
}

/* --- addresses --- */

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
	     one = one->ai_next) {
		int fd =
		    socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		error = fd < 0 ||
			bind(fd, one->ai_addr, one->ai_addrlen) != 0
		    ? errno
		    : 0;
		if (fd >= 0)
			close(fd);
	}
	freeaddrinfo(info);
	return error != 0 ? mem_text(strerror(error)) : NULL;
}

static void
look_at_address(struct doctor *doctor, const char *pointer,
    const struct address *address, const char *group)
{
	char *words = NULL;
	if (address->kind == ADDRESS_UNIX) {
		struct stat st;
		char *above = folder_of(address->host);
		int error = stat(above, &st) != 0  ? errno
			    : !S_ISDIR(st.st_mode) ? ENOTDIR
						   : 0;
		if (error != 0)
			words = mem_printf(
			    "the folder %s: %s", above, strerror(error));
		free(above);
	} else {
		words = trouble_of_host(address->host);
	}
	errno = 0;
	if (words == NULL && group != NULL && getgrnam(group) == NULL &&
	    errno == 0)
		words = mem_printf("there is no group \"%s\"", group);
	if (words != NULL)
		findings_add(doctor, FINDING_listen, pointer,
		    mem_printf("%s (%s)", address->text, words), NULL);
	free(words);
}

/* --- descriptors and programs --- */

static void
look_at_managed(struct doctor *doctor)
{
	struct sockaddr_un un;
	if (!doctor->conf->store.redis.managed)
		return;
	char *socket = managed_socket(doctor->conf);
	if (strlen(socket) >= sizeof un.sun_path)
		findings_add(doctor, FINDING_managed_server, state_dir_pointer,
		    mem_printf(
			"the path %s is too long for a Unix socket", socket),
		    NULL);
	else if (access(REDIS_SERVER, X_OK) != 0)
		findings_add(doctor, FINDING_managed_server, "/store/redis",
		    mem_printf(
			"%s cannot be run: %s", REDIS_SERVER, strerror(errno)),
		    NULL);
	free(socket);
}

/* --- all of it --- */

void
look_host(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	int64_t limit = descriptors_raise(); /* as serve does */
	struct descriptors d = descriptors_share(conf, limit);
	look_at_state_dir(doctor);
	for (const struct conf_secret *s = conf->secrets; s != NULL;
	     s = s->next)
		look_at_secret(doctor, s->pointer, s->file);
	for (size_t i = 0; i < conf->n_listen; i++) {
		char *pointer = mem_printf("/listen/%zu", i);
		look_at_certificate(doctor, i);
		look_at_address(doctor, pointer, &conf->listen[i].address,
		    conf->listen[i].group);
		free(pointer);
	}
	if (conf->admin.text != NULL)
		look_at_address(doctor, "/admin/listen", &conf->admin, NULL);
	if (d.clients < conf->max_connections)
		findings_add(doctor, FINDING_descriptors, "/limits/connections",
		    mem_printf("%" PRId64 " clients", d.clients),
		    mem_printf("%" PRId64, d.needed));
	look_at_managed(doctor);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "conf/load/certificates.h"
#include "operators/commands/descriptors.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/doctor_host_private.h"
#include "store/redis/managed.h"

static const char state_dir_pointer[] = "/state_dir";
/* Where a package has it. */
static const char usual_state_dir[] = "/var/lib/onceproxy";
/* Who runs the gateway where root looks. */
static const char unit_user[] = "onceproxy";

/* --- the file --- */

void
doctor_host_configuration(struct doctor *doctor)
{
	const struct complaints *all = doctor->complaints;
	for (size_t i = 0; i < all->count; i++) {
		const struct complaint *c = &all->list[i];
		char *words = c->line > 0
		    ? mem_text(c->message)
		    : mem_printf("%s: %s", doctor->file, c->message);
		findings_add(doctor, FINDING_configuration, c->pointer, words,
		    NULL);
		doctor->list[doctor->count - 1].line = c->line;
		doctor->list[doctor->count - 1].column = c->column;
	}
}

/* --- state_dir --- */

/* 0, or an errno.  A folder that is not there is made at the start. */
static int
try_folder(const char *path)
{
	struct stat st;
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return ENOTDIR;
	if (access(path, W_OK | X_OK) == 0)
		return 0;
	if (errno != ENOENT)
		return errno;
	const char *slash = strrchr(path, '/');
	char *above = slash == NULL ? mem_str(SPAN("."))
	    : slash == path   ? mem_str(SPAN("/"))
			      : mem_str(span_of(path, (size_t)(slash - path)));
	int error = access(above, W_OK | X_OK) == 0 ? 0 : errno;
	free(above);
	return error;
}

/* Whoever looks as root does it for another: the unit's user, if there is. */
static char *
command_to_make(const char *path)
{
	bool root = geteuid() == 0;
	const struct passwd *user =
	    root ? getpwnam(unit_user) : getpwuid(geteuid());
	char *quoted = shell_quote(path);
	const char *sudo = root ? "" : "sudo ";
	char *made = user != NULL
	    ? mem_printf("%sinstall -d -m 0700 -o %s %s", sudo, user->pw_name,
		  quoted)
	    : root
	    ? mem_printf("install -d -m 0700 -o USER %s", quoted)
	    : mem_printf("%sinstall -d -m 0700 -o %u %s", sudo,
		  (unsigned)geteuid(), quoted);
	free(quoted);
	return made;
}

void
doctor_host_state_dir(struct doctor *doctor)
{
	const char *path = doctor->conf->state_dir;
	int error = try_folder(path);
	if (error != 0)
		findings_add(doctor, FINDING_state_dir, state_dir_pointer,
		    mem_printf("%s (%s)", path, strerror(error)),
		    command_to_make(error == ENOTDIR ? usual_state_dir : path));
}

/* True after saying so: what would be in it is well. */
static bool
is_no_state_dir(struct doctor *doctor, enum finding_name name)
{
	if (access(doctor->conf->state_dir, F_OK) == 0 || errno != ENOENT)
		return false;
	findings_add_well(doctor, name,
	    mem_str(SPAN("there is no state_dir yet")));
	return true;
}

/* Whether others have their files there, too: it is not ours to close. */
static bool
is_shared(const char *path, const struct stat *st)
{
	static const char *const ours[] = {
	    ".", "..", "journal", "lock", "lost+found", "redis"};
	DIR *folder = opendir(path);
	bool shared = (st->st_mode & S_ISVTX) != 0;
	const struct dirent *entry;
	while (folder != NULL && !shared && (entry = readdir(folder)) != NULL) {
		size_t i = 0;
		while (i < sizeof ours / sizeof *ours &&
		    strcmp(ours[i], entry->d_name) != 0)
			i++;
		shared = i == sizeof ours / sizeof *ours;
	}
	if (folder != NULL)
		closedir(folder);
	return shared;
}

static char *
command_to_hide(const char *path, const struct stat *st)
{
	if (is_shared(path, st))
		return mem_text("others have files there, so name another "
		    "folder in \"state_dir\", in which nothing else is; do "
		    "not change this one");
	char *quoted = shell_quote(path);
	char *command = mem_printf("chmod 0700 %s", quoted);
	free(quoted);
	return command;
}

void
doctor_host_state_dir_open(struct doctor *doctor)
{
	const char *path = doctor->conf->state_dir;
	struct stat st;
	if (is_no_state_dir(doctor, FINDING_state_dir_open))
		return;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	    (st.st_mode & 077) != 0)
		findings_add(doctor, FINDING_state_dir_open, state_dir_pointer,
		    mem_printf("%s (mode %04o)", path,
			(unsigned)st.st_mode & 07777),
		    command_to_hide(path, &st));
}

void
doctor_host_state_dir_full(struct doctor *doctor)
{
	const char *path = doctor->conf->state_dir;
	struct statvfs fs;
	if (is_no_state_dir(doctor, FINDING_state_dir_full))
		return;
	if (statvfs(path, &fs) == 0 &&
	    (uint64_t)fs.f_bavail * fs.f_frsize < JOURNAL_RESERVE_BYTES)
		findings_add(doctor, FINDING_state_dir_full, state_dir_pointer,
		    mem_str(span_str(path)), shell_quote(path));
}

/* --- the journal --- */

void
doctor_host_look(struct doctor *doctor)
{
	struct origin ours = {.id = {0}};
	origin_place(doctor->conf, ours.place);
	for (size_t i = 0; i < doctor->n_redises; i++)
		if (doctor->redises[i].store_id != NULL)
			origin_id(doctor->conf,
			    span_str(doctor->redises[i].store_id), ours.id);
	if (!journal_folder_survey(
		doctor->conf->state_dir, &ours, &doctor->journal))
		doctor->journal_error = errno;
}

static void
judge_entries(struct doctor *doctor, enum finding_name name, uint64_t count,
    const char *file, char *remedy)
{
	if (doctor->journal_error == 0 && count > 0) {
		findings_add(doctor, name, state_dir_pointer,
		    mem_printf("%" PRIu64 " (%s)", count, file), remedy);
		return;
	}
	free(remedy);
	if (doctor->journal_error != 0)
		findings_add_skipped(
		    doctor, name, strerror(doctor->journal_error));
	else
		(void)is_no_state_dir(doctor, name);
}

void
doctor_host_journal(struct doctor *doctor)
{
	judge_entries(doctor, FINDING_journal, doctor->journal.entries,
	    doctor->journal.file, shell_quote(doctor->conf->file));
}

void
doctor_host_journal_foreign(struct doctor *doctor)
{
	judge_entries(doctor, FINDING_journal_foreign, doctor->journal.foreign,
	    doctor->journal.foreign_file, NULL);
}

void
doctor_host_journal_damaged(struct doctor *doctor)
{
	judge_entries(doctor, FINDING_journal_damaged, doctor->journal.aside,
	    doctor->journal.aside_file, NULL);
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

/* So that the gateway can read it still. */
static char *
command_to_close(const char *path, const struct stat *st)
{
	const struct passwd *user = geteuid() == 0 ? getpwnam(unit_user)
						   : getpwuid(geteuid());
	char *quoted = shell_quote(path);
	char *made = user == NULL || st->st_uid == user->pw_uid ||
		st->st_gid == user->pw_gid
	    ? mem_printf("chmod 640 %s", quoted)
	    : mem_printf("chgrp %u %s && chmod 640 %s",
		  (unsigned)user->pw_gid, quoted, quoted);
	free(quoted);
	return made;
}

static void
judge_secret(struct doctor *doctor, const char *pointer, const char *path)
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
		    command_to_close(path, &st));
	}
	free(real);
}

void
doctor_host_secret_open(struct doctor *doctor)
{
	const struct strings *secrets = &doctor->conf->secrets;
	for (size_t i = 0; i < secrets->count; i += 2)
		judge_secret(
		    doctor, secrets->list[i], secrets->list[i + 1]);
}

/* --- certificates --- */

static void
judge_certificates(struct doctor *doctor, enum finding_name name,
    enum certificates_time least, enum certificates_time most)
{
	int64_t now_ms = clock_wall_ms();
	for (size_t i = 0; i < doctor->conf->n_listen; i++) {
		const struct conf_tls *tls = &doctor->conf->listen[i].tls;
		if (tls->credentials == NULL)
			continue;
		enum certificates_time when = certificates_time(tls, now_ms);
		char *pointer = mem_printf("/listen/%zu/tls/certificate", i);
		if (when >= least && when <= most)
			findings_add(doctor, name, pointer,
			    certificates_words(tls, now_ms),
			    shell_quote(tls->certificate));
		free(pointer);
	}
}

void
doctor_host_certificate_invalid(struct doctor *doctor)
{
	judge_certificates(doctor, FINDING_certificate_invalid,
	    CERTIFICATES_EARLY, CERTIFICATES_OVER);
}

void
doctor_host_certificate_ends(struct doctor *doctor)
{
	judge_certificates(doctor, FINDING_certificate_ends,
	    CERTIFICATES_END_SOON, CERTIFICATES_END_SOON);
}

/* --- descriptors and programs --- */

void
doctor_host_descriptors(struct doctor *doctor)
{
	int64_t limit = descriptors_raise(); /* as serve does */
	struct descriptors d = descriptors_share(doctor->conf, limit);
	if (d.clients < doctor->conf->max_connections)
		findings_add(doctor, FINDING_descriptors,
		    "/limits/connections",
		    mem_printf("%" PRId64 " clients", d.clients),
		    mem_printf("%" PRId64, d.needed));
}

void
doctor_host_managed_server(struct doctor *doctor)
{
	struct sockaddr_un un;
	if (!doctor->conf->store.redis.managed) {
		findings_add_well(doctor, FINDING_managed_server,
		    mem_str(SPAN("store.redis is not \"managed\"")));
		return;
	}
	char *socket = managed_socket(doctor->conf);
	if (strlen(socket) >= sizeof un.sun_path)
		findings_add(doctor, FINDING_managed_server, state_dir_pointer,
		    mem_printf("the path %s is too long for a Unix socket",
			socket), NULL);
	else if (access(REDIS_SERVER, X_OK) != 0)
		findings_add(doctor, FINDING_managed_server, "/store/redis",
		    mem_printf("%s cannot be run: %s", REDIS_SERVER,
			strerror(errno)), NULL);
	free(socket);
}

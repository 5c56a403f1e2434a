/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop/own_file.h"

enum { FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

/* Closes fd, if it is one. */
static int
refuse(int fd, int error, const char *why, const char **ret_why)
{
	if (fd >= 0)
		close(fd);
	*ret_why = why != NULL ? why : strerror(error);
	errno = error;
	return -1;
}

static bool
is_link(int at, const char *name)
{
	struct stat st;
	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode);
}

/* --- folders --- */

static int
judge_folder(int fd, const char **ret_why)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0)
		return refuse(fd, errno, NULL, ret_why);
	if ((st.st_mode & S_IWOTH) && (st.st_mode & S_ISVTX))
		return refuse(fd, EPERM,
		    "every user of this machine has files there; name a "
		    "folder in which nothing else is",
		    ret_why);
	if (st.st_mode & S_IWOTH)
		return refuse(fd, EPERM,
		    "every user of this machine may write to it; make it "
		    "private (chmod 0700), and check what is in it",
		    ret_why);
	return fd;
}

/* The folder that it was made in is synced, if we may read that. */
int
own_file_state_dir(const char *path, const char **ret_why)
{
	int error = mkdir(path, 0700) == 0 ? 0 : errno;
	int fd = open(path, FOLDER_FLAGS);
	if (error == 0 && fd >= 0) {
		int above = openat(fd, "..", FOLDER_FLAGS);
		if (above >= 0) {
			fsync(above);
			close(above);
		}
	}
	if (fd < 0 && errno == ENOENT && error != ENOENT)
		return refuse(fd, error,
		    "it is not there, and this user may not make it; make it "
		    "for this user, or name another one",
		    ret_why);
	if (fd < 0 && errno == ENOENT)
		return refuse(fd, errno,
		    "it is not there, and neither is the folder to make it "
		    "in; make it for this user, or name another one",
		    ret_why);
	if (fd < 0 && errno == EACCES)
		return refuse(fd, errno,
		    "it is another user's; run the gateway as that one, or "
		    "name a folder of your own",
		    ret_why);
	return judge_folder(fd, ret_why);
}

int
own_file_folder(int at, const char *name, const char **ret_why)
{
	if (mkdirat(at, name, 0700) != 0 && errno != EEXIST)
		return refuse(-1, errno, NULL, ret_why);
	int fd = openat(at, name, FOLDER_FLAGS | O_NOFOLLOW);
	if (fd < 0 && is_link(at, name))
		return refuse(fd, ELOOP, "it is a symbolic link", ret_why);
	return judge_folder(fd, ret_why);
}

/* --- files --- */

/* It is emptied once it is known to be ours; opening a pipe must not wait. */
int
own_file_open(int at, const char *name, int flags, const char **ret_why)
{
	int fd = openat(at, name,
	    (flags & ~O_TRUNC) | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	    0600);
	struct stat st;
	if (fd < 0 && is_link(at, name))
		return refuse(fd, ELOOP, "it is a symbolic link", ret_why);
	if (fd < 0 || fstat(fd, &st) != 0)
		return refuse(fd, errno, NULL, ret_why);
	if (!S_ISREG(st.st_mode))
		return refuse(fd, EEXIST, "it is no ordinary file", ret_why);
	if (st.st_nlink > 1)
		return refuse(fd, EMLINK,
		    "it is a hard link: the file has another name too",
		    ret_why);
	if ((flags & O_TRUNC) && ftruncate(fd, 0) != 0)
		return refuse(fd, errno, NULL, ret_why);
	return fd;
}

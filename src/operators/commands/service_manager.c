/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stddef.h>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "operators/commands/service_manager.h"

#ifdef HAVE_SYSTEMD

_Static_assert(SERVICE_MANAGER_FIRST_FD == SD_LISTEN_FDS_START, "sockets");

void
service_manager_tell(const char *state)
{
	sd_notify(0, state);
}

void
service_manager_tell_reload(int64_t now_us)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, now_us);
}

uint64_t
service_manager_watchdog_us(void)
{
	uint64_t allowed_us = 0;
	return sd_watchdog_enabled(0, &allowed_us) > 0 ? allowed_us : 0;
}

int
service_manager_sockets(char ***ret_names)
{
	*ret_names = NULL;
	return sd_listen_fds_with_names(1, ret_names);
}

#else

void
service_manager_tell(const char *state)
{
	(void)state;
}

void
service_manager_tell_reload(int64_t now_us)
{
	(void)now_us;
}

uint64_t
service_manager_watchdog_us(void)
{
	return 0;
}

int
service_manager_sockets(char ***ret_names)
{
	*ret_names = NULL;
	return 0;
}

#endif

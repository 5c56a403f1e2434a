/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stddef.h>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "operators/commands/service_manager.h"

void
service_manager_tell(const char *state)
{
#ifdef HAVE_SYSTEMD
	sd_notify(0, state);
#else
	(void)state;
#endif
}

void
service_manager_tell_reload(int64_t now_us)
{
#ifdef HAVE_SYSTEMD
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, now_us);
#else
	(void)now_us;
#endif
}

uint64_t
service_manager_watchdog_us(void)
{
	uint64_t allowed_us = 0;
#ifdef HAVE_SYSTEMD
	if (sd_watchdog_enabled(0, &allowed_us) <= 0)
		allowed_us = 0;
#endif
	return allowed_us;
}

int
service_manager_sockets(char ***ret_names)
{
	*ret_names = NULL;
#ifdef HAVE_SYSTEMD
	_Static_assert(
	    SERVICE_MANAGER_FIRST_FD == SD_LISTEN_FDS_START, "sockets");
	return sd_listen_fds_with_names(1, ret_names);
#else
	return 0;
#endif
}

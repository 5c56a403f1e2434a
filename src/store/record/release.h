/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * What is known of an attempt that is released.  Its key is free again; whether
 * the attempt counts towards max_attempts, or leaves no record where it was the
 * first one (FORGET), is said with the release.  The numbers are those of
 * lua/release.lua and of the journal (journal_entry.h): none is given another
 * meaning.
 */
enum release {
	RELEASE_UNSENT, /* provably not sent, so it does not count */
	RELEASE_COUNTED,
	RELEASE_COUNTED_FORGET,
	RELEASE_SPARED, /* it was sent, and does not count */
	RELEASE_SPARED_FORGET,
	RELEASE_COUNT_,
};

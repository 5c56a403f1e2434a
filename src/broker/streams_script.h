/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * What a reader of a stream runs in Redis, where several commands must be one
 * step.  KEYS[1] is the stream, ARGV[1] the group.  For src/broker/ alone.
 */

/*
 * Makes the group where it is not there, and the stream.  ARGV[2]: the id that
 * it begins behind, or $; [3]: "1": a group that is there is set back to that
 * id.  Answers 0: it was there; 1: made; 2: made, and the stream; 3: set back.
 */
extern const char streams_script_group[];
/*
 * How many entries were removed before the group had read them, and how many it
 * has not read yet (-1: not known): {lost, lag}.  The group's entries-read is
 * corrected at once, so that each loss is told to one reader, once.
 */
extern const char streams_script_look[];
/*
 * Keeps entries alive for the consumer ARGV[2], or gives them back: they have
 * been idle for ARGV[3] ms then.  [4], …: their ids.  Answers for each one of
 * enum streams_script_beat.
 */
extern const char streams_script_beat[];
enum streams_script_beat {
	STREAMS_BEAT_FOREIGN = -1, /* another consumer has it */
	STREAMS_BEAT_GONE = 0,     /* it is not pending */
	STREAMS_BEAT_OURS = 1,
	STREAMS_BEAT_DELETED = 2, /* XDEL; it is not pending any more */
	STREAMS_BEAT_TRIMMED = 3, /* pending, but it must not be touched */
};
/*
 * Whether nobody can have finished the entry ARGV[3], which is not pending: it
 * is not in the stream any more, or the consumer ARGV[2] is gone.  1 or 0.
 */
extern const char streams_script_lost[];
/*
 * A put, in two parts that are sent as one text.  KEYS[2] is the stream that it
 * goes to, ARGV[2] the consumer, [3] the entry's id, [4], … names and values.
 * The first part ends it, with 0, unless the entry is pending for that
 * consumer; the second answers 1.
 */
extern const char streams_script_pending[];
extern const char streams_script_put[];

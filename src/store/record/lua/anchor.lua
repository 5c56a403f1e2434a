-- SPDX-License-Identifier: BSD-2-Clause
-- An index has an anchor, a member that is no record's name.  So one whose last
-- name goes is not made again for the next, and nobody has to look at its end
-- for each name.  The anchor's score says for how long that is so: a minute
-- beyond it the index still lives.  The first name that comes in a minute moves
-- the anchor (shard_index.lua), by as much as the index has to outlive what
-- comes in that minute.
local ANCHOR, MINUTE = '-', 60000

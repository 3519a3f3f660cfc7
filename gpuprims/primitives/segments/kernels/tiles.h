/* Steps of a fold of segments by tiles in the order of fixed_scans.py: groups load and scan PART elements of a tile at once, and
 * leave the scanned runs in local memory.
 *
 *     runs      |----|----|----|----|----|----|----|----|   ITEMS elements each, one after the other, by a work-item
 *     warps     |-------------------|-------------------|   runs by halves, in registers
 *     a part    |---------------------------------------|   warps by halves, in local memory
 *     a tile    PARTS such parts, by halves
 */
#define PART (BLOCK * ITEMS)
#define PARTS (TILE_RUNS / BLOCK)
#define TILE ((i64)TILE_RUNS * ITEMS)
#define LEVELS 9                         /* halves of 1, 2, 4, ... parts, at most */
#define OWN_MARKS (((u32)1 << ITEMS) - 1) /* the next bit tells if the runs before in the tile have a begin */
#define FLAT 4096
#define NEVER 0x7fffffffffffffff
#if WARPS <= 2 * LANES /* one warp joins all */
#define JOIN_WARPS() gp_lanes_barrier()
#else
#define JOIN_WARPS() barrier(CLK_LOCAL_MEM_FENCE)
#endif

typedef struct {
    value_t staged[STAGED]; /* scanned runs, and behind each the fold of the runs before in the tile */
    joint_t warps[2 * WARPS]; /* folds of the warps' runs, then of halves of 2, 4, 8, ... warps */
    joint_t kept[LEVELS], parts; /* folds of whole halves of a tile's parts, and of all its parts so far */
    u32 marks[2][BLOCK];
    i64 head;
    int ended, worst;
} room_t;

/* Values of the tiles of a level, with flags. */
typedef struct { GLOBAL u32 *flags, *values; } level_t;

DEVICE joint_t gp_nothing(void)
{
    joint_t nothing;
    nothing.folded = IDENTITY;
    nothing.whole = 0;
    return nothing;
}

/* Read where the segments from o on end, as far as `last`. */
DEVICE void gp_load_ends(INPUTS, const layout_t layout, const i64 o, const i64 last, const int tid, i64 *ends)
{
#pragma unroll
    for (int k = 0; k < WINDOW; k++) {
        const i64 one = o + k * BLOCK + tid;
        ends[k] = one < last ? BEGIN(one + 1) : NEVER;
    }
}

/* Mark the elements after these ends, and raise `ended` to the number of segments that ended, `before` of them earlier. True
 * for a warp whose segments of the next window may end here too. */
DEVICE int gp_mark_ends(const i64 *ends, const i64 base, const int before, LOCAL u32 *marks, LOCAL int *ended, const int tid)
{
    const int lane = tid % LANES;
    int count = 0, here = 0;
#pragma unroll
    for (int k = 0; k < WINDOW; k++) {
        const i64 at = ends[k] - base;
        here = at <= PART;
        if ((u64)at < PART) gp_set_bits(marks + (u32)at / ITEMS, (u32)1 << (u32)at % ITEMS);
        const int last = gp_lanes_before_zero(here, lane);
        if (last) count = before + k * BLOCK + tid - lane + last;
    }
    if (lane == LANES - 1 && count) gp_raise(ended, count);
    return gp_any(here && lane == LANES - 1);
}

/* True if a block of FLAT segments has no elements. All groups share such blocks (fill_flat), wherever they lie. */
DEVICE int gp_is_flat(INPUTS, const layout_t layout, const i64 segments, const i64 block)
{
    return (block + 1) * FLAT <= segments && BEGIN(block * FLAT) == BEGIN((block + 1) * FLAT);
}

/* Return segment `one`, or if it is in a flat block that begins at `limit` or before, the first that is in none behind it. */
DEVICE i64 gp_past_flat(INPUTS, const layout_t layout, const i64 segments, const i64 one, const i64 limit, const int lane)
{
    i64 steps[2], found[2];
    if (!gp_is_flat(INPUT_NAMES, layout, segments, one / FLAT) || BEGIN(one) > limit) return one;
    steps[0] = steps[1] = BEGIN(one) + 1;
    gp_search_ends(INPUT_NAMES, layout, segments, steps, found, lane);
    return max(one, found[0] / FLAT * FLAT);
}

/* Load a run of each work-item's, and mark the begins of segments. */
DEVICE void gp_load_runs(INPUTS, const layout_t layout, const i64 base, const i64 n, const i64 segments, const i64 o,
                         const i64 last, LOCAL room_t *room, LOCAL u32 *marks, const int tid, value_t *values)
{
    const int warp = tid / LANES, lane = tid % LANES;
    i64 ends[WINDOW];
    tile_t tile;
    tile.base = base + warp * WARP_TILE;
    tile.low = 0;
    tile.high = (int)min(n - tile.base, (i64)WARP_TILE);
    const i64 begin = tid == 0 ? BEGIN(o) : NEVER;
    gp_load_ends(INPUT_NAMES, layout, o, last, tid, ends);
    gp_load_elements_of(INPUT_NAMES, layout, tile, lane, values);
    gp_gather_items(values, room->staged + warp * WARP_STAGED, lane);
    if (begin == base) gp_set_bits(marks, 1u);
    int first = 0;
    while (gp_mark_ends(ends, base, first, marks, &room->ended, tid)) {
        const int next = first + WINDOW * BLOCK;
        first = (int)(gp_past_flat(INPUT_NAMES, layout, segments, o + next, base + PART, lane) - o);
        if (first > next && lane == 0) gp_raise(&room->ended, first);
        gp_load_ends(INPUT_NAMES, layout, o + first, last, tid, ends);
    }
}

/* Read a run of each work-item's of the tiles of a level; return its flags. */
DEVICE u32 gp_recall_runs(const level_t level, const i64 first, const i64 count, value_t *values)
{
    u32 flags = 0;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        values[item] = IDENTITY;
        if (first + item < count) {
            values[item] = gp_collect(level.values, first + item);
            flags |= gp_read_word(level.flags + first + item) << item;
        }
    }
    return flags;
}

/* Scan the runs of a part, and by halves their folds. If results are wanted, leave them in local memory. */
DEVICE void gp_scan_part(value_t *values, const u32 flags, LOCAL room_t *room, LOCAL u32 *marks, const int part, const int wanted,
                         const int tid)
{
    const int lane = tid % LANES;
    LOCAL value_t *own = room->staged + gp_own_place(tid);
    joint_t whole, earlier = gp_nothing();
    gp_scan_items(values, flags);
    if (wanted) {
#pragma unroll
        for (int item = 0; item < ITEMS; item++) own[item] = values[item];
    }

    /* a. Lanes of a warp: those of each second half of 2, 4, 8, ... lanes follow the first half's. */
    whole.folded = values[ITEMS - 1];
    whole.whole = flags != 0;
#if LANES > 1
    const int nearest = gp_nearest_lane(whole.whole, lane);
#pragma unroll
    for (int half_of = 1; half_of < LANES; half_of *= 2) {
        const int begin = lane / half_of * half_of;
        const value_t before = gp_shuffle_from(whole.folded, (begin - 1) & (LANES - 1));
        if ((lane & half_of) && nearest < begin) whole.folded = OP(before, whole.folded);
    }
    whole.whole = nearest >= 0;
    earlier.folded = gp_shuffle_up(whole.folded, 1);
    earlier.whole = (int)gp_shuffle_word_up((u32)nearest, 1) >= 0;
#endif

    /* b. Warps, in local memory. */
    LOCAL joint_t *warps = room->warps;
    if (lane == LANES - 1) warps[tid / LANES] = whole;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int left = WARPS; left > 1; left /= 2) {
        if (tid < left / 2) warps[left + tid] = gp_follow(warps[2 * tid], warps[2 * tid + 1]);
        warps += left;
        JOIN_WARPS();
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* c. What lies before the run in the tile: halves of lanes, of warps, and of parts. */
    if (wanted && tid > 0) {
        int at = (tid - 1) / LANES;
        warps = room->warps;
        if (lane == 0) earlier = warps[at];
        for (int left = WARPS; left > 1; left /= 2) {
            if (at & 1) earlier = gp_follow(warps[at - 1], earlier);
            warps += left;
            at /= 2;
        }
        for (int bit = 0; part >> bit; bit++)
            if (part >> bit & 1) earlier = gp_follow(room->kept[bit], earlier);
    } else if (tid == 0) {
        earlier = part ? room->parts : gp_nothing();
    }
    if (wanted) {
        own[ITEMS] = earlier.folded;
        marks[tid] = flags | (u32)earlier.whole << ITEMS;
    }

    /* d. Keep the fold of the part and of the halves that it completes. */
    if (tid == 0) {
        joint_t done = room->warps[2 * WARPS - 2];
        int bit = 0;
        for (; part >> bit & 1; bit++) done = gp_follow(room->kept[bit], done);
        room->kept[bit] = done;
        for (bit++; part >> bit; bit++)
            if (part >> bit & 1) done = gp_follow(room->kept[bit], done);
        room->parts = done;
    }
}


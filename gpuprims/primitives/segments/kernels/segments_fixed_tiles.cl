/* segments/fixed_tiles: groups fold segments tile by tile, in an order that is the same on every device.
 *
 * in      INPUTS: n elements in all, at most TILE * TILE * TILE; the last input has the begins of `segments` segments and the
 *         end of the last
 * out     OUTPUTS: one value for each segment; found: 0, or what is wrong with the offsets
 * scratch partials: the answer of a check; for each tile a segment's number, a flag and three values of WORDS; for each tile of
 *         tiles a flag and a value; counters: two, zero before and after
 * launch  groups of BLOCK. At `step` CHECK any number checks the offsets and does nothing else; at CHECKED groups do nothing if
 *         that found an offset wrong; at ALONE they tell what they find while they fold, and results hold nothing if one is
 *         wrong. Of the stages, TILES takes any number of groups, SCAN one, FOLD and JOIN one for each tile of tiles
 * host    TILE_RUNS, WINDOW, OP(a, b), IDENTITY, STORE(o, j, value) for j elements, BEGIN(o), OF_NOTHING; functions of shares.h
 *         and joints.h
 * order   of fixed_scans.py: that of a scan of all elements which begins anew at each segment, whatever the number of groups
 *         and VECTOR are
 *
 * A work-item scans a run of ITEMS elements, and a group PART elements of a tile at once:
 *
 *     elements    |----|----|----|----|----|----|----|----|    runs, one element after the other
 *     begins         b              b       b                  marks: a bit for each element
 *     segments    head|    stored   |stored |  goes on
 *
 * A segment that ends in the tile in which it begins is stored at once. The one that an earlier tile began is the tile's head: it
 * needs what lies before the tile. Tiles are elements of another such scan, which the stage JOIN makes to fold the heads;
 * if these are more than a tile, FOLD and SCAN find what lies before each tile of tiles.
 */
#define TILES 0
#define FOLD 1
#define SCAN 2
#define JOIN 3

#define PART (BLOCK * ITEMS)
#define PARTS (TILE_RUNS / BLOCK)
#define TILE ((i64)TILE_RUNS * ITEMS)
#define LEVELS 9                         /* halves of 1, 2, 4, ... parts, at most */
#define OWN_MARKS (((u32)1 << ITEMS) - 1) /* the next bit tells if the runs before in the tile have a begin */
#define NEVER 0x7fffffffffffffff

typedef struct {
    value_t staged[STAGED]; /* scanned runs, and behind each the fold of the runs before in the tile */
    joint_t warps[2 * WARPS]; /* folds of the warps' runs, then of halves of 2, 4, 8, ... warps */
    joint_t kept[LEVELS], parts; /* folds of whole halves of a tile's parts, and of all its parts so far */
    u32 marks[2][BLOCK];
    i64 head;
    int ended, worst;
} room_t;

/* Values that groups leave for the next launches: of the tiles of a level, with flags. */
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

/* Load a run of each work-item's, and mark the begins of segments. */
DEVICE void gp_load_runs(INPUTS, const layout_t layout, const i64 base, const i64 n, const i64 o, const i64 last,
                         LOCAL room_t *room, LOCAL u32 *marks, const int tid, value_t *values)
{
    const int warp = tid / LANES, lane = tid % LANES;
    i64 ends[WINDOW];
    tile_t tile;
    tile.base = base + warp * WARP_TILE;
    tile.low = 0;
    tile.high = (int)min(n - tile.base, (i64)WARP_TILE);
    const int anew = tid == 0 && BEGIN(o) == base;
    gp_load_ends(INPUT_NAMES, layout, o, last, tid, ends);
    gp_load_elements_of(INPUT_NAMES, layout, tile, lane, values);
    gp_gather_items(values, room->staged + warp * WARP_STAGED, lane);
    if (anew) gp_set_bits(marks, 1u);
    int first = 0;
    while (gp_mark_ends(ends, base, first, marks, &room->ended, tid)) {
        first += WINDOW * BLOCK;
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
    for (int left = WARPS; left > 1; left /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid < left / 2) warps[left + tid] = gp_follow(warps[2 * tid], warps[2 * tid + 1]);
        warps += left;
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

/* Store the segments that end in a part, but leave the tile's head for the stage JOIN. Return what is wrong. */
DEVICE int gp_store_ended(INPUTS, OUTPUTS, const layout_t layout, const i64 base, const i64 o, const int ended, LOCAL room_t *room,
                          LOCAL const u32 *marks, GLOBAL u32 *heads, const int tid)
{
    int wrong = 0;
    for (int k = tid; k < ended; k += BLOCK) {
        const i64 one = o + k, begin = BEGIN(one), end = BEGIN(one + 1);
        const u64 at = (u64)(end - base - 1);
        value_t folded = IDENTITY;
        if (begin < end && at < PART) {
            const int run = (u32)at / ITEMS, place = (u32)at % ITEMS;
            LOCAL const value_t *scanned = room->staged + gp_own_place(run);
            folded = scanned[place];
            if (!(marks[run] & ((u32)2 << place) - 1)) {
                const value_t earlier = scanned[ITEMS];
                if (!(marks[run] >> ITEMS)) {
                    gp_leave(heads, 0, earlier);
                    gp_leave(heads, 1, folded);
                    room->head = one;
                    continue;
                }
                folded = OP(earlier, folded);
            }
        } else if (begin != end) {
            wrong = WRONG_OFFSETS;
            continue;
        }
#if !OF_NOTHING
        if (begin == end) wrong = max(wrong, EMPTY_SEGMENT);
#endif
        STORE(one, end - begin, folded);
    }
    return wrong;
}

/* The fold of what lies before a tile of a level, given what lies `before` its tile of tiles. */
DEVICE value_t gp_before(LOCAL const room_t *room, LOCAL const u32 *marks, const int at, const value_t before)
{
    const int run = at / ITEMS, place = at % ITEMS;
    LOCAL const value_t *scanned = room->staged + gp_own_place(run);
    const value_t earlier = marks[run] >> ITEMS ? scanned[ITEMS] : OP(before, scanned[ITEMS]);
    if (place == 0) return earlier;
    return marks[run] & ((u32)1 << place) - 1 ? scanned[place - 1] : OP(earlier, scanned[place - 1]);
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS) WHOLE_WARPS
void segments_fixed_tiles(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, GLOBAL i64 *found, const layout_t layout,
                          const i64 segments, const i64 n, const i64 step, const i64 stage)
{
    __local room_t room;
    const int tid = get_local_id(0);
    if (step == CHECK) {
        gp_check(INPUT_NAMES, layout, partials, counters, found, segments, n, &room.worst, tid);
        return;
    }
    if (step == CHECKED && partials[0]) return;

    /* 1. Find the group's tiles, of elements or of tiles, and the segments that end there. */
    const i64 tiles = max((n + TILE - 1) / TILE, (i64)1), above = (tiles + TILE - 1) / TILE;
    GLOBAL u32 *numbers = partials + HEADER;
    level_t one, two;
    one.flags = numbers + 2 * tiles;
    one.values = one.flags + tiles;
    GLOBAL u32 *heads = one.values + tiles * WORDS;
    two.flags = heads + 2 * tiles * WORDS;
    two.values = two.flags + above;
    const i64 count = stage == TILES ? n : stage == SCAN ? above : tiles, groups = get_num_groups(0), group = get_group_id(0);
    const i64 all = stage == TILES ? tiles : (count + TILE - 1) / TILE, first = all * group / groups, last = all * (group + 1) / groups;
    i64 steps[2], ended[2] = {0, 0};
    if (stage == TILES) {
        steps[0] = first * TILE + 1;
        steps[1] = min(last * TILE, n) + 1;
        gp_search_ends(INPUT_NAMES, layout, segments, steps, ended, tid % LANES);
        if (group == 0) ended[0] = 0;
    }
    i64 o = ended[0];
    int wrong = last == all && stage == TILES && ended[1] != segments, turn = 0;
    if (wrong || (tid == 0 && group == 0 && (BEGIN(0) != 0 || BEGIN(segments) != n))) wrong = WRONG_OFFSETS;
    room.marks[0][tid] = 0;
    if (tid == 0) room.ended = room.worst = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (i64 tile = first; tile < last; tile++) {
        const value_t before = stage == JOIN && above > 1 ? gp_collect(two.values, tile) : IDENTITY;
        if (tid == 0) room.head = -1;
        for (int part = 0; part < PARTS; part++) {
            const i64 base = tile * TILE + part * PART;
            LOCAL u32 *marks = room.marks[turn];
            value_t values[ITEMS];
            u32 flags = 0;

            /* 2. Load a part, and scan it. */
            if (stage == TILES) {
                gp_load_runs(INPUT_NAMES, layout, base, n, o, ended[1], &room, marks, tid, values);
            } else {
                flags = gp_recall_runs(stage == SCAN ? two : one, base + tid * ITEMS, count, values);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (stage == TILES) flags = marks[tid] & OWN_MARKS;
            const int now = room.ended;
            gp_scan_part(values, flags, &room, marks, part, now || stage >= SCAN, tid);
            turn ^= 1;
            room.marks[turn][tid] = 0;
            if (tid == 0) room.ended = 0;
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 3. Store the segments that end here; or of tiles, fold what lies before each into its head, or leave it. */
            if (stage == TILES) {
                if (now) wrong = max(wrong, gp_store_ended(INPUT_NAMES, OUTPUT_NAMES, layout, base, o, now, &room, marks,
                                                           heads + 2 * tile * WORDS, tid));
                o += now;
            } else if (stage >= SCAN) {
                for (int at = tid; at < PART && base + at < count; at += BLOCK) {
                    const i64 own = base + at, head = stage == JOIN ? gp_collect_place(numbers, own) : -1;
                    if (stage == JOIN && head < 0) continue;
                    const value_t left = gp_before(&room, marks, at, before);
                    if (stage == SCAN) {
                        gp_leave(two.values, own, left);
                    } else {
                        const value_t folded = OP(OP(left, gp_collect(heads, 2 * own)), gp_collect(heads, 2 * own + 1));
                        STORE(head, BEGIN(head + 1) - BEGIN(head), folded);
                    }
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* 4. Leave the tile's fold. */
        if (tid == 0 && stage < SCAN) {
            const joint_t whole = room.parts;
            if (stage == TILES) gp_leave_place(numbers, tile, room.head);
            gp_leave(stage == TILES ? one.values : two.values, tile, whole.folded);
            gp_write_word((stage == TILES ? one.flags : two.flags) + tile, (u32)whole.whole);
        }
    }

    /* 5. Tell what was wrong. */
    if (step != ALONE || stage != TILES) return;
    if (o != ended[1]) wrong = WRONG_OFFSETS;
    if (wrong) gp_raise(&room.worst, wrong);
    barrier(CLK_LOCAL_MEM_FENCE);
    i64 whole;
    if (tid == 0 && gp_last_to_tell(counters, groups, room.worst, &whole)) *found = whole;
}

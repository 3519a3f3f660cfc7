/* segments/fixed_tiles: groups fold segments tile by tile, in an order that is the same on every device.
 *
 * in      INPUTS: n elements in all, at most TILE * TILE * TILE; the last input has the begins of `segments` segments and the
 *         end of the last
 * out     OUTPUTS: one value for each segment; found: 0, or what is wrong with the offsets
 * scratch partials: the answer of a check; for each tile a segment's number, a flag and three values of WORDS; for each tile of
 *         tiles a flag and a value; counters: two, zero before and after
 * launch  groups of BLOCK. At `step` CHECK any number checks the offsets and does nothing else; at CHECKED groups do nothing if
 *         that found an offset wrong; at ALONE they tell what they find while they fold, and results hold nothing if one is
 *         wrong. Of the stages, TILES takes any number of groups, SCAN one, FOLD one for each tile of tiles, and JOIN several,
 *         which share its heads
 * host    TILE_RUNS, WINDOW, OP(a, b), IDENTITY, STORE(o, j, value) for j elements, BEGIN(o), OF_NOTHING; functions of shares.h,
 *         joints.h and tiles.h
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

/* What groups leave for the next launches: the folds of tiles; and of each tile's head its number, the fold of its whole runs in
 * the tile, and that of its last run. */
typedef struct {
    i64 tiles, above; /* tiles of elements, and tiles of these */
    GLOBAL u32 *numbers, *heads;
    level_t one, two;
} left_t;

DEVICE left_t gp_left(GLOBAL u32 *partials, const i64 n)
{
    left_t left;
    left.tiles = max((n + TILE - 1) / TILE, (i64)1);
    left.above = (left.tiles + TILE - 1) / TILE;
    left.numbers = partials + HEADER;
    left.one.flags = left.numbers + 2 * left.tiles;
    left.one.values = left.one.flags + left.tiles;
    left.heads = left.one.values + left.tiles * WORDS;
    left.two.flags = left.heads + 2 * left.tiles * WORDS;
    left.two.values = left.two.flags + left.above;
    return left;
}

/* Store a segment that ends in a part, but leave the tile's head for the stage JOIN. Return what is wrong. */
DEVICE int store_segment(OUTPUTS, const layout_t layout, const i64 base, const i64 one, const i64 begin, const i64 end,
                         LOCAL room_t *room, LOCAL const u32 *marks, GLOBAL u32 *heads)
{
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
                return 0;
            }
            folded = OP(earlier, folded);
        }
    } else if (begin != end) {
        return WRONG_OFFSETS;
    }
    STORE(one, end - begin, folded);
    return begin < end || OF_NOTHING ? 0 : EMPTY_SEGMENT;
}

/* Store the segments that end in a part, and check their offsets, but not those of flat blocks. */
DEVICE int store_ended(INPUTS, OUTPUTS, const layout_t layout, const i64 base, const i64 segments, const i64 o, const int ended,
                       LOCAL room_t *room, LOCAL const u32 *marks, GLOBAL u32 *heads, const int tid)
{
    int wrong = 0;
    for (int first = 0; first < ended;) {
        i64 begins[WINDOW], ends[WINDOW];
#pragma unroll
        for (int k = 0; k < WINDOW; k++) {
            const i64 one = o + min(first + k * BLOCK + tid, ended - 1);
            begins[k] = BEGIN(one);
            ends[k] = BEGIN(one + 1);
        }
#pragma unroll
        for (int k = 0; k < WINDOW; k++) {
            const i64 one = o + first + k * BLOCK + tid;
            if (one >= o + ended) continue;
            if (begins[k] == ends[k] && gp_is_flat(INPUT_NAMES, layout, segments, one / FLAT)) continue;
            wrong = max(wrong, store_segment(OUTPUT_NAMES, layout, base, one, begins[k], ends[k], room, marks, heads));
        }
        first += WINDOW * BLOCK;
        if (first < ended)
            first = (int)(gp_past_flat(INPUT_NAMES, layout, segments, o + first, base + PART, tid % LANES) - o);
    }
    return wrong;
}

/* Store the values of the group's share of flat blocks. Return what is wrong. */
DEVICE int fill_flat(INPUTS, OUTPUTS, const layout_t layout, const i64 segments, const int tid)
{
    const i64 groups = get_num_groups(0), blocks = segments / FLAT;
    int wrong = 0;
    for (i64 from = get_group_id(0); from < blocks; from += groups * LANES) {
        const i64 own = from + groups * (tid % LANES);
        if (!gp_any(own < blocks && gp_is_flat(INPUT_NAMES, layout, segments, own))) continue;
        for (i64 block = from; block < min(from + groups * LANES, blocks); block += groups) {
            if (!gp_is_flat(INPUT_NAMES, layout, segments, block)) continue;
            const i64 begin = BEGIN(block * FLAT);
#pragma unroll 4
            for (int k = tid; k < FLAT; k += BLOCK) {
                if (BEGIN(block * FLAT + k) != begin) wrong = WRONG_OFFSETS;
                STORE(block * FLAT + k, 0, IDENTITY);
            }
#if !OF_NOTHING
            wrong = max(wrong, EMPTY_SEGMENT);
#endif
        }
    }
    return wrong;
}

/* Leave the fold of a tile of a level. */
DEVICE void leave_tile(const level_t level, const i64 tile, const joint_t whole)
{
    gp_leave(level.values, tile, whole.folded);
    gp_write_word(level.flags + tile, (u32)whole.whole);
}

/* Fold the segments of the tiles from `first` to before `last`. Those from o to before `ended` end there. Return what is wrong. */
DEVICE int fold_elements(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 segments, const i64 n,
                         const i64 first, const i64 last, i64 o, const i64 ended, LOCAL room_t *room, const int tid)
{
    int wrong = 0, turn = 0;
    for (i64 tile = first; tile < last; tile++) {
        if (tid == 0) room->head = -1;
        for (int part = 0; part < PARTS; part++) {
            /* a. Load a part, and scan it. */
            const i64 base = tile * TILE + part * PART;
            LOCAL u32 *marks = room->marks[turn];
            value_t values[ITEMS];
            gp_load_runs(INPUT_NAMES, layout, base, n, segments, o, ended, room, marks, tid, values);
            barrier(CLK_LOCAL_MEM_FENCE);
            const int now = room->ended;
            gp_scan_part(values, marks[tid] & OWN_MARKS, room, marks, part, now, tid);
            turn ^= 1;
            room->marks[turn][tid] = 0;
            if (tid == 0) room->ended = 0;
            barrier(CLK_LOCAL_MEM_FENCE);

            /* b. Store the segments that end here. */
            if (now) {
                GLOBAL u32 *heads = gp_left(partials, n).heads + 2 * tile * WORDS;
                wrong = max(wrong, store_ended(INPUT_NAMES, OUTPUT_NAMES, layout, base, segments, o, now, room, marks, heads, tid));
            }
            o += now;
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* c. Leave the tile's fold. */
        if (tid == 0) {
            const left_t left = gp_left(partials, n);
            gp_leave_place(left.numbers, tile, room->head);
            leave_tile(left.one, tile, room->parts);
        }
    }
    return o == ended ? wrong : WRONG_OFFSETS;
}

/* The fold of what lies before a tile of a level, given what lies `before` its tile of tiles. */
DEVICE value_t fold_before(LOCAL const room_t *room, LOCAL const u32 *marks, const int at, const value_t before)
{
    const int run = at / ITEMS, place = at % ITEMS;
    LOCAL const value_t *scanned = room->staged + gp_own_place(run);
    const value_t earlier = marks[run] >> ITEMS ? scanned[ITEMS] : OP(before, scanned[ITEMS]);
    if (place == 0) return earlier;
    return marks[run] & ((u32)1 << place) - 1 ? scanned[place - 1] : OP(earlier, scanned[place - 1]);
}

/* Fold a tile of the tiles of a level, or leave or use what lies before each; `sharers` groups share the heads. */
DEVICE void fold_tiles(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 n, const i64 stage, const i64 tile,
                       const int sharer, const int sharers, LOCAL room_t *room, const int tid)
{
    const left_t left = gp_left(partials, n);
    const i64 count = stage == SCAN ? left.above : left.tiles;
    const value_t before = stage == JOIN && left.above > 1 ? gp_collect(left.two.values, tile) : IDENTITY;
    LOCAL u32 *marks = room->marks[0];
    for (int part = 0; part < PARTS; part++) {
        /* a. Load a part, and scan it. */
        const i64 base = tile * TILE + part * PART;
        value_t values[ITEMS];
        const u32 flags = gp_recall_runs(stage == SCAN ? left.two : left.one, base + tid * ITEMS, count, values);
        gp_scan_part(values, flags, room, marks, part, stage != FOLD, tid);
        barrier(CLK_LOCAL_MEM_FENCE);

        /* b. Fold what lies before each tile into its head, or leave it. */
        if (stage != FOLD) {
            for (int at = sharer * BLOCK + tid; at < PART && base + at < count; at += sharers * BLOCK) {
                const i64 own = base + at, head = stage == JOIN ? gp_collect_place(left.numbers, own) : -1;
                if (stage == JOIN && head < 0) continue;
                const value_t earlier = fold_before(room, marks, at, before);
                if (stage == SCAN) {
                    gp_leave(left.two.values, own, earlier);
                } else {
                    const value_t runs = OP(earlier, gp_collect(left.heads, 2 * own));
                    STORE(head, BEGIN(head + 1) - BEGIN(head), OP(runs, gp_collect(left.heads, 2 * own + 1)));
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tid == 0 && stage == FOLD) leave_tile(left.two, tile, room->parts);
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS) WHOLE_WARPS
void segments_fixed_tiles(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, GLOBAL i64 *found, const layout_t layout,
                          const i64 segments, const i64 n, const i64 step, const i64 stage)
{
    __local room_t room;
    const int tid = get_local_id(0);
    const i64 groups = get_num_groups(0), group = get_group_id(0);
    if (step == CHECK) {
        gp_check(INPUT_NAMES, layout, partials, counters, found, segments, n, &room.worst, tid);
        return;
    }
    if (step == CHECKED && partials[0]) return;
    if (stage != TILES) {
        const i64 sharers = stage == JOIN ? groups / gp_left(partials, n).above : 1;
        fold_tiles(INPUT_NAMES, OUTPUT_NAMES, partials, layout, n, stage, group / sharers, (int)(group % sharers), (int)sharers,
                      &room, tid);
        return;
    }

    /* 1. Find the group's tiles, and the segments that end there. */
    const i64 tiles = gp_left(partials, n).tiles, first = tiles * group / groups, last = tiles * (group + 1) / groups;
    i64 steps[2], ended[2];
    steps[0] = first * TILE + 1;
    steps[1] = min(last * TILE, n) + 1;
    gp_search_ends(INPUT_NAMES, layout, segments, steps, ended, tid % LANES);
    if (first == 0) ended[0] = 0;
    if (first == last) ended[1] = ended[0];
    int wrong = first < last && last == tiles && ended[1] != segments ? WRONG_OFFSETS : 0;
    if (tid == 0 && group == 0 && (BEGIN(0) != 0 || BEGIN(segments) != n)) wrong = WRONG_OFFSETS;
    room.marks[0][tid] = 0;
    if (tid == 0) room.ended = room.worst = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    /* 2. Fold the segments of each tile, but those of blocks without elements by equal shares. */
    wrong = max(wrong, fill_flat(INPUT_NAMES, OUTPUT_NAMES, layout, segments, tid));
    wrong = max(wrong, fold_elements(INPUT_NAMES, OUTPUT_NAMES, partials, layout, segments, n, first, last, ended[0], ended[1], &room,
                                     tid));

    /* 3. Tell what was wrong. */
    if (step != ALONE) return;
    if (wrong) gp_raise(&room.worst, wrong);
    barrier(CLK_LOCAL_MEM_FENCE);
    i64 whole;
    if (tid == 0 && gp_last_to_tell(counters, groups, room.worst, &whole)) *found = whole;
}

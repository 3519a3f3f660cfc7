/* Steps of kernels whose warps share a path (path.h) evenly, however long the segments are.
 *
 * A warp reads the ends of SEGMENTS segments at once, its window, and walks along the elements of its share, a tile of LANES x
 * ITEMS at a time. Elements are loaded a vector at a time by neighbouring lanes, and exchanged through local memory for
 * ITEMS neighbours of each lane. Marks, a bit for each place in a tile, tell where segments begin; values are folded from
 * the last mark on.
 *
 * `partials` has the answer to the check of the offsets, then the numbers of segments with which shares begin, then values.
 */
#if WARP && BLOCK % WARP == 0
#define LANES WARP
#else
#define LANES 1
#endif
#define WARPS (BLOCK / LANES)
#define STAGED (BLOCK * (ITEMS + 1)) /* a place after the items of each work-item, against conflicts of banks */
#define LOADED_FROM min(WARP_TILE, 32) /* elements; loads begin at a multiple, lines of a cache, within a tile (rows: shares) */
#define WARP_TILE (LANES * ITEMS)
#define WARP_STAGED (LANES * (ITEMS + 1))
#define MARKS (LANES + 1) /* words of marks of a warp: one for each lane's items, and one for the place after the tile */
#define SEGMENTS (WINDOW * LANES)
#define BEYOND 0x7fffffff
#define HEADER 4 /* words before the segments' numbers */

/* What a launch does: check the offsets; the work if that check found them right; the work on offsets that an earlier call
 * found right, which it checks meanwhile; or what comes before the work. */
#define CHECK 0
#define CHECKED 1
#define ALONE 2
#define PREPARE 3

/* What is wrong with offsets. */
#define EMPTY_SEGMENT 1
#define WRONG_OFFSETS 2

/* Leave the number of a segment for another group, and read it. */
DEVICE void gp_leave_place(GLOBAL u32 *places, const i64 at, const i64 place)
{
    gp_write_word(places + 2 * at, (u32)place);
    gp_write_word(places + 2 * at + 1, (u32)(place >> 32));
}

DEVICE i64 gp_collect_place(GLOBAL u32 *places, const i64 at)
{
    return (i64)(gp_read_word(places + 2 * at) | (u64)gp_read_word(places + 2 * at + 1) << 32);
}

/* Return what is wrong with the offsets that this work-item of `workers` checks. */
DEVICE int gp_check_offsets(INPUTS, const layout_t layout, const i64 segments, const i64 n, const i64 worker, const i64 workers)
{
    int wrong = 0;
#pragma unroll 8
    for (i64 o = worker; o < segments; o += workers) {
        const i64 length = BEGIN(o + 1) - BEGIN(o);
        if (length < 0) wrong = WRONG_OFFSETS;
#if !OF_NOTHING
        if (length == 0) wrong = max(wrong, EMPTY_SEGMENT);
#endif
    }
    if (worker == 0 && (BEGIN(0) != 0 || BEGIN(segments) != n)) wrong = WRONG_OFFSETS;
    return wrong;
}

/* What each lane of a warp has: a number that is not zero in any lane; and for numbers that are zero from a lane on, the count of
 * those before. */
#if LANES > 1
#define gp_any(number) gp_any_lane(number)
#define gp_lanes_before_zero(number, lane) ((int)gp_shuffle_word_from((u32)gp_nearest_lane(number, lane), LANES - 1) + 1)
#define gp_lanes_barrier() gp_warp_barrier()
#else
#define gp_any(number) (number)
#define gp_lanes_before_zero(number, lane) ((number) != 0)
#define gp_lanes_barrier()
#endif

/* The numbers of segments that end within the first steps[0] and steps[1] steps of the path, found by the lanes of a warp,
 * which try LANES places at once. */
DEVICE void gp_search_ends(INPUTS, const layout_t layout, const i64 segments, const i64 *steps, i64 *found, const int lane)
{
#if LANES > 1
    i64 low[2] = {0, 0}, high[2] = {segments, segments};
    while (low[0] < high[0] || low[1] < high[1]) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const i64 stride = (high[k] - low[k] + LANES - 1) / LANES, o = low[k] + (lane + 1) * stride - 1;
            const int below = gp_lanes_before_zero(o < high[k] && BEGIN(o + 1) + END_STEPS * o < steps[k], lane);
            low[k] += below * stride;
            high[k] = max(min(low[k] + stride - 1, high[k]), low[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < 2; k++) found[k] = low[k];
#else
    for (int k = 0; k < 2; k++) found[k] = gp_ended_by(INPUT_NAMES, layout, segments, steps[k]);
#endif
}

/* Count a group that is done, given what it found wrong; true for the last, which then knows what all found. */
DEVICE int gp_last_to_tell(GLOBAL u32 *counters, const i64 groups, const int wrong, i64 *worst)
{
    if (wrong) gp_raise(counters + 1, (u32)wrong);
    if (!gp_last_done(counters, groups)) return 0;
    *worst = gp_read_word(counters + 1);
    gp_write_word(counters + 1, 0);
    return 1;
}

/* Check the offsets. The last group to end writes what was found, for the next launch and for the host. */
DEVICE void gp_check(INPUTS, const layout_t layout, GLOBAL u32 *partials, GLOBAL u32 *counters, GLOBAL i64 *found,
                     const i64 segments, const i64 n, LOCAL int *worst, const int tid)
{
    const i64 worker = get_group_id(0) * (i64)BLOCK + tid, workers = get_num_groups(0) * (i64)BLOCK;
    i64 whole;
    if (tid == 0) *worst = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int wrong = gp_check_offsets(INPUT_NAMES, layout, segments, n, worker, workers);
    if (wrong) gp_raise(worst, wrong);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0 && gp_last_to_tell(counters, get_num_groups(0), *worst, &whole)) {
        partials[0] = (u32)whole;
        *found = whole;
    }
}

/* A tile: the element from which lanes load, and its own elements counted from there. */
typedef struct {
    i64 base;
    int low, high;
} tile_t;

/* The place in its tile of the vector that a lane loads; `item` is its first. */
DEVICE int gp_item_at(const int lane, const int item)
{
    return item * LANES + lane * VECTOR;
}

/* The place of a tile's element in local memory, and of a lane's first one. */
DEVICE int gp_staged_at(const int at)
{
    return at + at / ITEMS;
}

DEVICE int gp_own_place(const int lane)
{
    return lane * (ITEMS + 1);
}

/* The place in local memory of the vector that a lane loads. */
DEVICE int gp_staged_vector(const int lane, const int item)
{
#if LANES % ITEMS == 0
    return gp_staged_at(gp_item_at(lane, 0)) + item * LANES / ITEMS * (ITEMS + 1); /* the compiler adds a constant */
#else
    return gp_staged_at(gp_item_at(lane, item));
#endif
}

/* Load a tile's elements, and the identity beside them. A lane gets vectors beside those of its neighbours. */
DEVICE void gp_load_steps(INPUTS, const layout_t layout, const tile_t tile, const int lane, value_t *values)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) {
        const int at = gp_item_at(lane, item);
        if (at >= tile.low && at + VECTOR <= tile.high) {
            MAP_VECTOR(0, tile.base + at, values + item);
        } else {
#pragma unroll
            for (int k = 0; k < VECTOR; k++) {
                values[item + k] = IDENTITY;
                if (at + k >= tile.low && at + k < tile.high) values[item + k] = MAP(0, tile.base + at + k);
            }
        }
    }
}

/* Exchange vectors of neighbouring lanes for ITEMS neighbours of each lane. */
DEVICE void gp_gather_items(value_t *values, LOCAL value_t *staged, const int lane)
{
#if LANES > 1
#pragma unroll
    for (int item = 0; item < ITEMS; item++)
        staged[gp_staged_vector(lane, item / VECTOR * VECTOR) + item % VECTOR] = values[item];
    gp_warp_barrier();
#pragma unroll
    for (int item = 0; item < ITEMS; item++) values[item] = staged[gp_own_place(lane) + item];
#endif
}

/* Exchange ITEMS neighbours of each lane for vectors of neighbouring lanes. */
DEVICE void gp_scatter_items(value_t *values, LOCAL value_t *staged, const int lane)
{
#if LANES > 1
#pragma unroll
    for (int item = 0; item < ITEMS; item++) staged[gp_own_place(lane) + item] = values[item];
    gp_warp_barrier();
#pragma unroll
    for (int item = 0; item < ITEMS; item++)
        values[item] = staged[gp_staged_vector(lane, item / VECTOR * VECTOR) + item % VECTOR];
#endif
}

/* Elements first ... last - 1 and segments opened ... ended - 1 of a warp's share; places are counted from `origin`. */
typedef struct { i64 opened, ended, first, last, origin; } share_t;

/* The share from step `from` of the path to before `to`, given how many segments end before each. Without elements and ends
 * if the offsets are wrong, which might lead anywhere. */
DEVICE share_t gp_share_between(const i64 *steps, const i64 *ended, const i64 n, int *wrong)
{
    share_t share;
    share.opened = ended[0];
    share.ended = ended[1];
    share.first = steps[0] - share.opened;
    share.last = steps[1] - share.ended;
    share.origin = share.first / LOADED_FROM * LOADED_FROM;
    *wrong = share.opened > share.ended || share.first < 0 || share.first > share.last || share.last > n;
    return share;
}

/* Where the share of a group's warp begins and ends on the path. */
DEVICE void gp_steps_of(const i64 steps, const int warp, i64 *bounds)
{
    const i64 shares = get_num_groups(0) * (i64)WARPS, own = get_group_id(0) * (i64)WARPS + warp;
    const i64 each = (steps + shares - 1) / shares;
    bounds[0] = min(own * each, steps);
    bounds[1] = min((own + 1) * each, steps);
}

/* The tile of a share from place `j` on, as far as the share goes. */
DEVICE tile_t gp_tile_at(const share_t share, const int j)
{
    tile_t tile;
    tile.base = share.origin + j / LOADED_FROM * LOADED_FROM;
    tile.low = j % LOADED_FROM;
    tile.high = (int)min(share.last - tile.base, (i64)WARP_TILE);
    return tile;
}

/* Read where the window's segments begin and end, as places; those from `ended` on end nowhere. The share's first segment may
 * begin far before: it counts as one with elements, even if none is in the share. Return what is wrong. */
DEVICE int gp_load_window(INPUTS, const layout_t layout, const share_t share, const i64 o, const int lane, int *begins, int *ends)
{
    int wrong = 0;
#pragma unroll
    for (int k = 0; k < WINDOW; k++) {
        const i64 one = o + k * LANES + lane;
        begins[k] = ends[k] = BEYOND;
        if (one < share.ended) {
            const i64 end = BEGIN(one + 1);
            begins[k] = one > share.opened ? (int)BEGIN(one) - (int)share.origin : -1;
            ends[k] = (int)end - (int)share.origin;
            if ((u64)(end - share.first) > (u64)(share.last - share.first)) wrong = WRONG_OFFSETS;
            if (begins[k] > ends[k]) wrong = WRONG_OFFSETS;
#if !OF_NOTHING
            if (BEGIN(one) == end) wrong = EMPTY_SEGMENT;
#endif
        }
    }
    return wrong;
}

/* How many of the window's segments end at a place or before. */
DEVICE int gp_count_ended(const int *ends, const int place, const int lane)
{
    int count = 0;
#pragma unroll
    for (int k = 0; k < WINDOW; k++) count += gp_lanes_before_zero(ends[k] <= place, lane);
    return count;
}

/* Where the window's segment `at` ends, in all lanes. */
DEVICE int gp_end_of(const int *ends, const int at, const int lane)
{
    int end = BEYOND;
#pragma unroll
    for (int k = WINDOW - 1; k >= 0; k--) end = k * LANES + lane >= at ? ends[k] : end;
#if LANES > 1
    end = (int)gp_shuffle_word_from((u32)end, at % LANES);
#endif
    return end;
}

/* Mark the places of a tile before which segments of the window with elements ended, from `done` on and before `now`. */
DEVICE void gp_mark_begins(const int *begins, const int *ends, const int done, const int now, const int base, LOCAL u32 *marks,
                           const int lane)
{
#pragma unroll
    for (int k = 0; k < WINDOW; k++) {
        const int one = k * LANES + lane, at = ends[k] - base;
        if (one >= done && one < now && begins[k] != ends[k]) gp_set_bits(marks + (u32)at / ITEMS, (u32)1 << (at % ITEMS));
    }
}

DEVICE void gp_clear_marks(LOCAL u32 *marks, const int lane)
{
    marks[lane] = 0;
    if (lane == 0) marks[LANES] = 0;
}

/* Load the elements of a whole tile from `base` on. */
DEVICE void gp_load_whole(INPUTS, const layout_t layout, const i64 base, const int lane, value_t *values)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(0, base + gp_item_at(lane, item), values + item);
}

/* Load a tile's elements, all vectors of a whole one at once. */
DEVICE void gp_load_elements_of(INPUTS, const layout_t layout, const tile_t tile, const int lane, value_t *values)
{
    if (tile.low == 0 && tile.high == WARP_TILE) {
        gp_load_whole(INPUT_NAMES, layout, tile.base, lane, values);
    } else {
        gp_load_steps(INPUT_NAMES, layout, tile, lane, values);
    }
}

/* Put the identity in the places of a tile from `high` on. */
DEVICE void gp_cut_items(value_t *values, const int high, const int lane)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++)
        if (gp_item_at(lane, item / VECTOR * VECTOR) + item % VECTOR >= high) values[item] = IDENTITY;
}

/* Fold a value of each lane; the result is in all lanes. */
DEVICE value_t gp_fold_lanes(value_t folded)
{
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) folded = OP(folded, gp_shuffle_down(folded, stride));
    folded = gp_shuffle_from(folded, 0);
#endif
    return folded;
}

/* Scan the items of a lane. Each flag begins a new scan. */
DEVICE void gp_scan_items(value_t *values, const u32 flags)
{
#pragma unroll
    for (int item = 1; item < ITEMS; item++)
        if (!(flags >> item & 1)) values[item] = OP(values[item - 1], values[item]);
}

#if LANES > 1
/* Scan a value of each lane, from the lane `nearest` on, which is the last one with a flag, or negative. */
DEVICE value_t gp_scan_flags(value_t value, const int nearest, const int lane)
{
    const int reach = lane - max(nearest, 0);
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) {
        const value_t earlier = gp_shuffle_up(value, stride);
        if (reach >= stride) value = OP(earlier, value);
    }
    return value;
}
#endif

/* Scan a value of each work-item. Each flag begins a new scan. Return the fold of those before this work-item's since the
 * last flag, or from `before` on. After a barrier, `rest` is the fold of all since the last flag. */
DEVICE value_t gp_scan_flagged(value_t value, const int flag, const value_t before, LOCAL value_t *partial,
                               LOCAL int *flagged, LOCAL value_t *rest, const int tid)
{
#if LANES > 1
    const int warp = tid / LANES, lane = tid % LANES, nearest = gp_nearest_lane(flag, lane);
    value = gp_scan_flags(value, nearest, lane);
    if (lane == LANES - 1) {
        partial[warp] = value;
        flagged[warp] = nearest >= 0;
    }
    const value_t lower = gp_shuffle_up(value, 1);
    const int anew = (int)gp_shuffle_word_up((u32)nearest, 1) >= 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    value_t left = before;
    for (int each = 0; each < warp; each++) left = flagged[each] ? partial[each] : OP(left, partial[each]);
    if (tid == BLOCK - 1) *rest = nearest >= 0 ? value : OP(left, value);
    if (lane == 0) return left;
    return anew ? lower : OP(left, lower);
#else
    int since = flag;
    partial[tid] = value;
    flagged[tid] = since;
    for (int stride = 1; stride < BLOCK; stride *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid >= stride && !since) {
            value = OP(partial[tid - stride], value);
            since = flagged[tid - stride];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        partial[tid] = value;
        flagged[tid] = since;
    }
    if (tid == BLOCK - 1) *rest = since ? value : OP(before, value);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) return before;
    return flagged[tid - 1] ? partial[tid - 1] : OP(before, partial[tid - 1]);
#endif
}

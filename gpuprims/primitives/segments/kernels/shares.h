/* Steps of kernels that share a path (path.h) evenly, however long the segments are: a tile is STEPS steps of the path, and
 * a part a run of tiles. For STEPS = 4 and parts of two tiles:
 *
 *     steps     a   b   |     c   |   d   e   |     f   g     | ends a segment
 *     tiles     0   0   0     0   1   1   1   1     2   2   2
 *     parts     0   0   0     0   0   0   0   0     1   1   1
 *
 * A first launch checks the offsets and writes a table, so that no tile searches: the number of segments that end before
 * each tile. A second launch folds or scans; if an offset is wrong, it does nothing. In `partials` are the answer to the
 * check, the table, and the values that parts leave.
 *
 * A work-item has ITEMS neighbours of a tile. They are loaded a vector at a time by neighbouring lanes, and exchanged
 * through local memory. Flags, a bit for each place in a tile, tell where segments begin; values are folded from the
 * last flag on.
 */
#if WARP && BLOCK % WARP == 0
#define LANES WARP
#else
#define LANES 1
#endif
#define WARPS (BLOCK / LANES)
#define TILE (BLOCK * ITEMS)
#define LOADED_FROM 32 /* elements; a tile's loads begin at a multiple, whole lines of a cache (rows: shares) */
#define STEPS ((i64)(TILE - LOADED_FROM)) /* less than a tile from there */
#define FLAG_WORDS ((TILE + 31) / 32)
#define STAGED (TILE + BLOCK) /* a place after the items of each work-item, against conflicts of banks */
#define HEADER 4              /* words before the table */

/* What is wrong with offsets. */
#define EMPTY_SEGMENT 1
#define WRONG_OFFSETS 2

/* The tiles of a part. */
typedef struct { i64 first, last; } tiles_t;

DEVICE tiles_t gp_tiles_of(const i64 part, const i64 parts, const i64 tiles)
{
    const i64 each = (tiles + parts - 1) / parts;
    tiles_t found;
    found.first = min(part * each, tiles);
    found.last = min(found.first + each, tiles);
    return found;
}

DEVICE GLOBAL i64 *gp_table(GLOBAL u32 *partials)
{
    return (GLOBAL i64 *)(partials + HEADER);
}

/* Values that groups leave follow the table. */
DEVICE GLOBAL u32 *gp_left(GLOBAL u32 *partials, const i64 tiles)
{
    return partials + HEADER + 2 * (tiles + 1);
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

/* Check the offsets and write the table. The last group to end writes what was found, for the next launch and for the host. */
DEVICE void gp_prepare(INPUTS, const layout_t layout, GLOBAL u32 *partials, GLOBAL u32 *counters, GLOBAL i64 *found,
                       const i64 segments, const i64 n, const i64 tiles, LOCAL int *worst, const int tid)
{
    const i64 worker = get_group_id(0) * (i64)BLOCK + tid, workers = get_num_groups(0) * (i64)BLOCK;
    if (tid == 0) *worst = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int wrong = gp_check_offsets(INPUT_NAMES, layout, segments, n, worker, workers);
    if (wrong) gp_raise(worst, wrong);
    for (i64 tile = worker; tile <= tiles; tile += workers)
        gp_table(partials)[tile] = gp_ended_by(INPUT_NAMES, layout, segments, min(tile * STEPS, n + segments));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) {
        if (*worst) gp_raise(counters + 1, (u32)*worst);
        if (gp_last_done(counters, get_num_groups(0))) {
            partials[0] = gp_read_word(counters + 1);
            *found = partials[0];
            gp_write_word(counters + 1, 0);
        }
    }
}

/* A tile: the element from which work-items load, its own elements counted from there, and its segments' ends. */
typedef struct {
    i64 base, o, ended;
    int low, high;
} tile_t;

DEVICE tile_t gp_tile_at(const i64 tile, const i64 o, const i64 ended, const i64 steps)
{
    const i64 first = tile * STEPS - o, last = min((tile + 1) * STEPS, steps) - ended;
    tile_t found;
    found.base = first / LOADED_FROM * LOADED_FROM;
    found.low = (int)(first - found.base);
    found.high = (int)(last - found.base);
    found.o = o;
    found.ended = ended;
    return found;
}

/* The place in its tile of the vector that a work-item loads; `item` is its first. */
DEVICE int gp_item_at(const int tid, const int item)
{
    return tid / LANES * (LANES * ITEMS) + item * LANES + tid % LANES * VECTOR;
}

/* The place of a tile's element in local memory, and of a work-item's first one. */
DEVICE int gp_staged_at(const int at)
{
    return at + at / ITEMS;
}

DEVICE int gp_own_place(const int tid)
{
    return tid * (ITEMS + 1);
}

/* Load a tile's elements, and the identity beside them. A work-item gets vectors beside those of neighbouring lanes. */
DEVICE void gp_load_steps(INPUTS, const layout_t layout, const tile_t tile, const int tid, value_t *values)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) {
        const int at = gp_item_at(tid, item);
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

/* Exchange vectors of neighbouring lanes for ITEMS neighbours of each work-item. */
DEVICE void gp_gather_items(value_t *values, LOCAL value_t *staged, const int tid)
{
#if LANES > 1
#pragma unroll
    for (int item = 0; item < ITEMS; item++)
        staged[gp_staged_at(gp_item_at(tid, item / VECTOR * VECTOR) + item % VECTOR)] = values[item];
    gp_warp_barrier();
#pragma unroll
    for (int item = 0; item < ITEMS; item++) values[item] = staged[gp_own_place(tid) + item];
#endif
}

/* Exchange ITEMS neighbours of each work-item for vectors of neighbouring lanes. */
DEVICE void gp_scatter_items(value_t *values, LOCAL value_t *staged, const int tid)
{
#if LANES > 1
#pragma unroll
    for (int item = 0; item < ITEMS; item++) staged[gp_own_place(tid) + item] = values[item];
    gp_warp_barrier();
#pragma unroll
    for (int item = 0; item < ITEMS; item++)
        values[item] = staged[gp_staged_at(gp_item_at(tid, item / VECTOR * VECTOR) + item % VECTOR)];
#endif
}

/* Load where ENDS segments of a work-item begin and end, the first at `base` of the tile's. Beyond the last they are empty. */
#define ENDS 2 /* loads in flight */
DEVICE void gp_load_ends(INPUTS, const layout_t layout, const tile_t tile, const int base, const int tid, i64 *begins,
                         i64 *ends)
{
#pragma unroll
    for (int k = 0; k < ENDS; k++) {
        const i64 one = tile.o + base + k * BLOCK + tid;
        begins[k] = ends[k] = 0;
        if (one < tile.ended) {
            begins[k] = BEGIN(one);
            ends[k] = BEGIN(one + 1);
        }
    }
}

/* Flag the places in a tile before which a segment with elements ended. The last place of all has no element of the tile,
 * so there is always room. Millions of segments without elements would wait for each other at one flag. */
DEVICE void gp_flag_ends(INPUTS, const layout_t layout, const tile_t tile, LOCAL u32 *flags, const int tid)
{
    const int count = (int)(tile.ended - tile.o);
    for (int base = 0; base < count; base += ENDS * BLOCK) {
        i64 begins[ENDS], ends[ENDS];
        gp_load_ends(INPUT_NAMES, layout, tile, base, tid, begins, ends);
#pragma unroll
        for (int k = 0; k < ENDS; k++) {
            const int at = (int)(ends[k] - tile.base);
            if (begins[k] < ends[k]) gp_set_bits(flags + at / 32, (u32)1 << (at % 32));
        }
    }
}

DEVICE void gp_clear_flags(LOCAL u32 *flags, const int tid)
{
    for (int word = tid; word < FLAG_WORDS; word += BLOCK) flags[word] = 0;
}

/* The flags of a work-item's items, a bit each. */
DEVICE u32 gp_flags_of(LOCAL const u32 *flags, const int tid)
{
    return flags[tid * ITEMS / 32] >> (tid * ITEMS % 32) & (u32)(((u64)1 << ITEMS) - 1);
}

/* Scan the items of a work-item, from each flag anew. */
DEVICE void gp_scan_items(value_t *values, const u32 flags)
{
#pragma unroll
    for (int item = 1; item < ITEMS; item++)
        if (!(flags >> item & 1)) values[item] = OP(values[item - 1], values[item]);
}

/* Scan a value of each work-item, from each flag anew. Return the fold of those before this work-item's since the last
 * flag, or from `before` on. After a barrier, `rest` is the fold of all since the last flag. */
DEVICE value_t gp_scan_flagged(value_t value, const int flag, const value_t before, LOCAL value_t *partial,
                               LOCAL int *flagged, LOCAL value_t *rest, const int tid)
{
#if LANES > 1
    const int warp = tid / LANES, lane = tid % LANES, nearest = gp_nearest_lane(flag, lane), reach = lane - max(nearest, 0);
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) {
        const value_t earlier = gp_shuffle_up(value, stride);
        if (reach >= stride) value = OP(earlier, value);
    }
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

/* Fold a value of each work-item; the result, from `before` on, is in every work-item. */
DEVICE value_t gp_fold_group(const value_t value, const value_t before, LOCAL value_t *partial, LOCAL int *flagged,
                             LOCAL value_t *rest, const int tid)
{
    gp_scan_flagged(value, 0, before, partial, flagged, rest, tid);
    barrier(CLK_LOCAL_MEM_FENCE);
    const value_t folded = *rest;
    barrier(CLK_LOCAL_MEM_FENCE);
    return folded;
}

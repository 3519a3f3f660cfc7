/* Picks that groups exchange in global memory, and a selection among many picks by one group. */
#define PICK_WORDS ((int)sizeof(pick_t) / 8)

#ifdef GP_ENTRIES
#define GP_READ_U64(place) gp_read_entry(place)
#define GP_WRITE_U64(place, bits) gp_write_entry(place, bits)
#else
DEVICE u64 gp_read_u64(GLOBAL u64 *place)
{
    GLOBAL u32 *words = (GLOBAL u32 *)place;
    return gp_read_word(words) | (u64)gp_read_word(words + 1) << 32;
}

DEVICE void gp_write_u64(GLOBAL u64 *place, const u64 bits)
{
    GLOBAL u32 *words = (GLOBAL u32 *)place;
    gp_write_word(words, (u32)bits);
    gp_write_word(words + 1, (u32)(bits >> 32));
}
#define GP_READ_U64(place) gp_read_u64(place)
#define GP_WRITE_U64(place, bits) gp_write_u64(place, bits)
#endif

DEVICE pick_t gp_read_pick(GLOBAL u64 *picks, const i64 i)
{
#if FAR
    const u64 order = GP_READ_U64(picks + 2 * i);
    return gp_pick(order, (i64)GP_READ_U64(picks + 2 * i + 1));
#else
    return GP_READ_U64(picks + i);
#endif
}

DEVICE void gp_write_pick(GLOBAL u64 *picks, const i64 i, const pick_t pick)
{
#if FAR
    GP_WRITE_U64(picks + 2 * i, pick.order);
    GP_WRITE_U64(picks + 2 * i + 1, pick.behind);
#else
    GP_WRITE_U64(picks + i, pick);
#endif
}

/* The state of a search for the last pick to take: its leading bits, how many picks with these bits are `left` to take, and how
 * many picks have these bits or beat them. The next digit, of the order or of the place, ends at bit `high`. */
typedef struct {
    u64 order, behind;
    i64 left, taken;
    int of_order, high;
} search_t;

/* Picks that a work-item loads before it compares them. PoCL compiles unrolled loops slowly. */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define PICKS_AT_ONCE 2
#else
#define PICKS_AT_ONCE 8
#endif

/* Apply DO to the pick of each of `count` elements from `from` on, or to each of `count` candidates. */
#define GP_EACH(DO)                                                                                                    \
    for (i64 base = tid; base < count; base += PICKS_AT_ONCE * BLOCK) {                                                \
        pick_t loaded[PICKS_AT_ONCE];                                                                                  \
        _Pragma("unroll") for (int item = 0; item < PICKS_AT_ONCE; item++)                                             \
        {                                                                                                              \
            const i64 i = base + item * BLOCK;                                                                         \
            if (i < count)                                                                                             \
                loaded[item] = held ? gp_read_pick(among, i) : gp_pick_at(INPUT_NAMES, layout, o, 0, from + i, size);   \
        }                                                                                                              \
        _Pragma("unroll") for (int item = 0; item < PICKS_AT_ONCE; item++)                                             \
        {                                                                                                              \
            if (base + item * BLOCK < count) DO(loaded[item]);                                                         \
        }                                                                                                              \
    }
#define GP_COUNT_PICK(pick)                                                                                            \
    do {                                                                                                               \
        const u64 order = ORDER_OF(pick), number = now.of_order ? order : (u64)BEHIND_OF(pick);                        \
        if ((now.of_order | (order == now.order)) & (number >> shift >> width == known >> shift >> width))             \
            gp_increment(bins + ((u32)(number >> shift) & ((1u << width) - 1)));                                       \
    } while (0)
#define GP_TAKE_PICK(pick)                                                                                             \
    do {                                                                                                               \
        const u64 order = ORDER_OF(pick), behind = (u64)BEHIND_OF(pick);                                               \
        if ((order > last.order) | ((order == last.order) & (behind >= last.behind))) tile[gp_increment(taken)] = pick;   \
    } while (0)
#define GP_COMPARE_PICK(pick) differing |= ORDER_OF(pick) ^ first

/* Return the highest bit that is set, or 0. */
DEVICE int gp_highest_bit(const u64 bits)
{
    int high = 0;
    for (int step = 32; step; step /= 2)
        if (bits >> high >> step) high += step;
    return high;
}

/* Copy the `k` best picks, and perhaps a few more, to a tile in local memory, in any order, and return their number. They are
 * picks of `count` elements from `from` on or, if `held`, candidates. */
DEVICE int gp_select(INPUTS, const layout_t layout, const i64 o, const i64 size, const i64 from, const i64 count,
                     GLOBAL u64 *among, const int held, const i64 k, LOCAL pick_t *tile, LOCAL u32 *bins,
                     LOCAL u64 *sums, LOCAL search_t *search, LOCAL u32 *taken, const int tid)
{
    /* 1. Begin at the first bit in which two orders differ. */
    barrier(CLK_LOCAL_MEM_FENCE); /* the caller may have read the number of the picks in the tile */
    if (tid == 0) *taken = bins[0] = bins[1] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const i64 most = min(max((i64)2 << gp_highest_bit((u64)k - 1), (i64)64), (i64)TILE); /* sorted as fast as k */
    order_t first = 0, differing = 0;
    if (count > most) {
        first = ORDER_OF(held ? gp_read_pick(among, 0) : gp_pick_at(INPUT_NAMES, layout, o, 0, from, size));
        GP_EACH(GP_COMPARE_PICK)
    }
    if (differing) {
        gp_set_bits(bins, (u32)differing);
        gp_set_bits(bins + 1, (u32)((u64)differing >> 32));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) {
        search->high = gp_highest_bit(bins[0] | (u64)bins[1] << 32);
        search->order = (u64)first >> search->high >> 1 << 1 << search->high;
        search->behind = 0;
        search->left = k;
        search->taken = count;
        search->of_order = 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* 2. Choose digits of the last pick, until the picks from it on fit. */
    while (search->taken > most) {
        const search_t now = *search;
        const u64 known = now.of_order ? now.order : now.behind;
        const int shift = max(now.high + 1 - DIGIT_BITS, 0), width = now.high + 1 - shift;
        gp_clear_bins(bins, tid);
        GP_EACH(GP_COUNT_PICK)
        barrier(CLK_LOCAL_MEM_FENCE);
        u64 sum = 0;
        const int top = BINS - 1 - tid * (BINS / BLOCK);
        for (int bin = 0; bin < BINS / BLOCK; bin++) sum += bins[top - bin];
        i64 above = (i64)gp_count_before(sum, sums, tid);
#pragma unroll 1
        for (int bin = 0; bin < BINS / BLOCK; bin++) {
            const i64 here = (i64)bins[top - bin];
            const u64 digit = (u64)(top - bin) << shift;
            if (above < now.left && now.left <= above + here) {
                if (now.of_order) search->order |= digit;
                if (!now.of_order) search->behind |= digit;
                search->left = now.left - above;
                search->taken = k - now.left + above + here;
                search->of_order = now.of_order && shift;
                search->high = shift ? shift - 1 : gp_highest_bit((u64)size);
            }
            above += here;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    /* 3. Copy all, or the picks up to the last one. */
    search_t last = *search;
    if (count <= most) last.order = 0;
    GP_EACH(GP_TAKE_PICK)
    barrier(CLK_LOCAL_MEM_FENCE);
    return (int)*taken;
}

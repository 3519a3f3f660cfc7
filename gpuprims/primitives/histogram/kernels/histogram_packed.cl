/* histogram/packed: as histogram/split, in counts of 16 bits, two to a word of local memory, so that groups read elements
 * half as often, and in one histogram of all groups.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: counts of bins + 2 places, for each output; zero before
 * local   (span + 1) / 2 words, up to the next odd number and then to a multiple of 4, and BESIDE_COUNTS, and the guide if it
 *         is LOCAL_GUIDE
 * launch  any number of groups of BLOCK, whose tiles have FULL elements at most; each takes (part, output, range) triples
 *         until none are left; a part has 2^15 * (MOST_FULL - 2) elements at most, and of each work-item half of FULL
 * host    gp_load_whole_tile (binning.h); gp_guess_place, gp_propose_place (places.h); ADD_SUM (sums.h); MAP
 * order   counts are the same in any order
 *
 *     word     0  1  2      `pairs` = 3 words for 6 places: those of a word lie far apart, so that neighbours seldom wait
 *     lower    0  1  2      for each other at one word
 *     upper    3  4  5
 *
 * No count passes 0xFFFF: before it could, a group takes FULL from each count that has so many, and lists the place. So a
 * count is below FULL, and at most FULL are added to it before the next time; or more, as long as all counts stay below
 * HIGH. The place that most of a part's first elements have is counted by each work-item in a word of its own, because lanes
 * wait for each other at one word. The other half of that word counts elements that have no place here. */
#define FULL 0x8000
#define HIGH 0x2000
/* Behind the counts: how many places are listed, these, the place that most elements have, 1 once a count was HIGH, and the
 * words of work-items. */
#define BESIDE_COUNTS (1 + MOST_FULL + 2 + BLOCK)
#define MOST_HAVE (1 + MOST_FULL)
#define WAS_HIGH (2 + MOST_FULL)
#define OWN_WORDS (3 + MOST_FULL)
#define PLACE_BITS 20 /* of a place within a range; the bits above count BLOCK elements */

/* The word of a place, and what adds 1 to its count. */
#define WORD_OF(place, pairs) min((u32)(place), (u32)((place) - (pairs)))
#define ONE_OF(place, pairs) ((place) >= (pairs) ? 0x10000u : 1u)

DEVICE u32 gp_packed_count(LOCAL const u32 *words, const i32 place, const i32 pairs)
{
    return place < pairs ? words[place] & 0xFFFF : words[place - pairs] >> 16;
}

/* Return the place that most of the elements `place` of a group have, or -1 if all differ. `words` and `most` are zero
 * before and after. */
DEVICE i32 gp_find_frequent(LOCAL u32 *words, LOCAL u32 *most, const i32 place, const i32 pairs, const int live, const int tid)
{
    if (live) gp_add_count(words + WORD_OF(place, pairs), ONE_OF(place, pairs));
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 found = live ? gp_packed_count(words, place, pairs) : 0;
    if (found > 1) gp_raise(most, found << PLACE_BITS | (u32)place);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (live) gp_add_count(words + WORD_OF(place, pairs), 0u - ONE_OF(place, pairs));
    const u32 frequent = *most;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) *most = 0;
    return frequent ? (i32)(frequent & ((1u << PLACE_BITS) - 1)) : -1;
}

/* Take FULL from each count that has so many, and list its place. Return how many elements may be counted before the next
 * time: fewer once a count has been as high as HIGH. */
DEVICE i32 gp_take_full(LOCAL u32 *words, LOCAL u32 *list, const i32 pairs, const int tid)
{
    u32 seen = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (i32 first = 4 * tid; first < pairs; first += 4 * BLOCK) {
        u32 four[4];
        READ_LOCAL(u32, 2, words + first, four); /* dynamic local memory is aligned to 8 bytes */
        READ_LOCAL(u32, 2, words + first + 2, four + 2);
        const u32 any = four[0] | four[1] | four[2] | four[3];
        seen |= any;
        if (!(any & 0x80008000u)) continue;
#pragma unroll 1
        for (i32 at = first; at < first + 4; at++) {
            const u32 word = words[at], full = word & 0x80008000u;
            words[at] = word - full;
            if (full & 0x8000u) list[1 + gp_increment(list)] = (u32)at;
            if (full >> 16) list[1 + gp_increment(list)] = (u32)(at + pairs);
        }
    }
    if (seen & 0xE000E000u) gp_set_bits(list + WAS_HIGH, 1u);
    barrier(CLK_LOCAL_MEM_FENCE);
    return list[WAS_HIGH] ? FULL : 0x10000 - HIGH;
}

/* Add what was taken to counts in global memory, once for each place: the first of its entries adds all. */
DEVICE void gp_add_full(LOCAL const u32 *list, GLOBAL total_t *row, const int tid)
{
    const u32 listed = list[0];
    for (u32 k = tid; k < listed; k += BLOCK) {
        u32 alike = 0, first = k;
        for (u32 other = 0; other < listed; other++)
            if (list[1 + other] == list[1 + k]) {
                alike++;
                first = min(first, other);
            }
        if (first == k) ADD_SUM(row + list[1 + k], alike * FULL);
    }
}

/* Add the counts of places below `stored` to those of all groups. Groups start at different places, and so seldom wait for
 * each other. */
DEVICE void gp_add_counts(LOCAL const u32 *words, GLOBAL total_t *row, const i32 stored, const i32 pairs, const int tid)
{
    const i32 start = (i32)((i64)pairs * get_group_id(0) / get_num_groups(0)) / 32 * 32;
    for (i32 k = tid; k < pairs; k += BLOCK) {
        const i32 at = k + start < pairs ? k + start : k + start - pairs;
        const u32 word = words[at], lower = word & 0xFFFF, upper = word >> 16;
        if (lower && at < stored) ADD_SUM(row + at, lower);
        if (upper && at + pairs < stored) ADD_SUM(row + at + pairs, upper);
    }
}

/* Return the factor of `pairs`, an odd number, by which the product is 0xFFFF. */
DEVICE u32 gp_ratio_of_ones(const u32 pairs)
{
    u32 inverse = pairs; /* of the lowest three bits; each turn doubles how many are right */
    for (int turn = 0; turn < 4; turn++) inverse *= 2 - pairs * inverse;
    return 0xFFFF * inverse;
}

#undef BEFORE_COUNTING
#define BEFORE_COUNTING MAKE_ROOM(BLOCK * ITEMS);
#define MAKE_ROOM(more)                                                                                                \
    do {                                                                                                               \
        if (held + (more) > room) {                                                                                    \
            room = gp_take_full(own, list, pairs, tid);                                                                \
            held = 0;                                                                                                  \
        }                                                                                                              \
        held += (more);                                                                                                \
    } while (0)
/* Add 1 to a word for each element, also for one that is not counted here: a branch would delay the next one. What adds 1
 * to a count, a product finds, and no choice: a quarter of the instructions of comparisons and choices less. */
#define COUNT_PLACE(place, sure)                                                                                       \
    do {                                                                                                               \
        const i32 within = (place) - low;                                                                              \
        const int valid = (sure) && (u32)within < counted;                                                             \
        const u32 at = (u32)(valid ? within : nowhere), word = min(at, at - (u32)pairs);                               \
        gp_add_count(own + (valid && within != frequent ? word : mine), (at - word) * ratio + 1);                      \
    } while (0)
#define COUNT(value, item)                                                                                             \
    do {                                                                                                               \
        int sure, doubt;                                                                                               \
        const i32 place = gp_propose_place(value, b, &sure, &doubt);                                                   \
        COUNT_PLACE(place, sure);                                                                                      \
        left = left || doubt;                                                                                          \
    } while (0)

__kernel WORK_GROUP_RESIDENT(BLOCK, (BLOCK < 1024 ? 1024 / BLOCK : 1))
void histogram_packed(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                      const i64 parts, const i64 span LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, own);
    const i32 width = (i32)bins + 2, size = (i32)span, ranges = (width + size - 1) / size, pairs = (size + 1) / 2 | 1;
    const i32 beside = (pairs + 3) / 4 * 4; /* counts are looked through by four words */
    LOCAL u32 *list = own + beside;
    const int tid = get_local_id(0);
    const u32 mine = beside + OWN_WORDS + tid, ratio = gp_ratio_of_ones((u32)pairs);
    const i64 share = gp_share(n, parts);
    bins_t b = gp_read_bins(table, bins);
    SHARE_GUIDE(b, own, beside + BESIDE_COUNTS, tid);

    for (i64 task = get_group_id(0); task < outputs * parts * ranges; task += get_num_groups(0)) {
        const i64 whole_task = task / ranges, o = whole_task % outputs, part = whole_task / outputs;
        const i64 first = part * share, end = min(first + share, n);
        const i32 low = (i32)(task % ranges) * size;
        const u32 counted = (u32)max(min(size, width - (BINS_DIRECT ? 0 : 2) - low), 0); /* places that have results */
        i32 held = 0, room = 0x10000 - HIGH;

        /* 1. Clear the counts, and find a frequent place. */
        for (i32 at = tid; at < beside + BESIDE_COUNTS; at += BLOCK) own[at] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        int unsure;
        const i32 early = first + tid < end ? gp_guess_place(MAP(o, first + tid), b, &unsure) - low : -1;
        const i32 frequent = gp_find_frequent(own, list + MOST_HAVE, early, pairs, (u32)early < counted, tid);
        const i32 nowhere = frequent < pairs ? pairs : 0;

        /* 2. Load and count; then the elements in doubt, which are rare, so registers hold one at a time. */
        for (i64 base = first; base < end; base += BLOCK * ITEMS) {
            int left = 0;
            COUNT_TILE(o, base, end, tid);
            if (!left) continue;
#pragma unroll 1
            for (int item = 0; item < ITEMS; item++) {
                if (!VECTOR_ENDS(base, item, tid, end)) continue;
                const value_t value = MAP(o, ITEM_INDEX(base, item, tid));
                int doubt;
                gp_guess_place(value, b, &doubt);
                if (!doubt) continue;
                const i32 place = gp_settle_place(value, b);
                COUNT_PLACE(place, 1);
            }
        }

        /* 3. Count the elements after the last whole vector. */
        MAKE_ROOM(VECTOR);
        for (i64 j = n - n % VECTOR + tid; part == 0 && j < n; j += BLOCK) {
            const i32 place = gp_settle_place(MAP(o, j), b);
            COUNT_PLACE(place, 1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const u32 hits = frequent < pairs ? own[mine] & 0xFFFF : own[mine] >> 16;
        if (hits) gp_add_count(list + MOST_HAVE, hits);
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Add to the counts of all groups. */
        GLOBAL total_t *row = histograms + o * width + low;
        gp_add_counts(own, row, min(size, width - low), pairs, tid);
        if (tid == 0 && list[MOST_HAVE]) ADD_SUM(row + frequent, list[MOST_HAVE]);
        gp_add_full(list, row, tid);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

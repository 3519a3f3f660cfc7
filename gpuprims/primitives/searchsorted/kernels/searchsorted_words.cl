/* searchsorted/words: groups keep a word of 32 bits of every FAN-th element in local memory, and search there first.
 *
 * in      INPUTS: x0 a sorted array of `size` elements, at least one, contiguous; x1 keys
 * out     OUTPUTS: y0 the answer for key j, for each j in [0, n): how many elements come before it, or if it is one
 * launch  any number of groups of BLOCK; each takes tiles of BLOCK x ITEMS keys until none are left. Local memory has
 *         PLACE_OF(size / FAN) words and one more, and then the guide
 * host    FAN, a power of two; ORDER_RAW(value), gp_order_of_raw (order.h); ELEMENT(i), KEY(j), gp_is_before, ANSWER
 *         (search.h)
 *
 * A word compares as its element does. Elements of up to 32 bits have words of their own; of wider ones some may share a
 * word, and are compared themselves. With FAN = 4:
 *
 *     words             3       7
 *     elements    0 1 2 3 4 5 6 7 8 9
 *
 * The range of the elements has CELLS cells of one width; the guide has the number of words before each. A key's place is
 * among the words of its cell: few, if elements spread evenly, or all.
 */
#define TILE (BLOCK * ITEMS)
#define EXACT (ORDER_BITS <= 32)
#define CELLS 2048 /* rows: words */
#define SAMPLE(i) ELEMENT(((i64)(i) + 1) * FAN - 1)
#define ORDER_OF_NUMBER(value) gp_order_of_raw((order_t)(ORDER_RAW(value)) & ORDER_MASK)

/* Words leave out `shift` bits of orders from `low` on. A number lies in the cell (number - origin) * scale. */
#if ORDER_FLOATS
#define IS_NUMBER(number) ((number) == (number))
#define DISTANCE(number, scales) ((number) - (scales).origin)
typedef value_t distance_t;
#else
#define IS_NUMBER(number) 1
#define DISTANCE(number, scales)                                                                                       \
    ((number) > (scales).origin ? (f32)(ORDER_OF_NUMBER(number) - ORDER_OF_NUMBER((scales).origin)) : 0.0f)
typedef f32 distance_t;
#endif
typedef struct {
    order_t low;
    int shift;
    value_t origin;
    distance_t scale;
} scales_t;

DEVICE scales_t find_scales(INPUTS, const layout_t layout, const i64 size)
{
    scales_t scales;
    scales.low = 0;
    scales.shift = 0;
    scales.scale = 0;
#if !EXACT
    const value_t first = gp_element_number(ELEMENT(0)), last = gp_element_number(ELEMENT(size - 1));
    scales.low = ORDER_OF_NUMBER(first);
    const order_t span = ORDER_OF_NUMBER(last) - scales.low;
    while (span >> scales.shift > 0xffffffffu) scales.shift++;
#endif
    /* A few elements at the ends may lie far away, such as infinities and NaN. */
    const i64 beside = min(1 + size / (2 * CELLS), size - 1);
    const value_t far_end = gp_element_number(ELEMENT(size - 1 - beside));
    scales.origin = gp_element_number(ELEMENT(beside));
    if (far_end > scales.origin) scales.scale = CELLS / DISTANCE(far_end, scales);
    return scales;
}

/* Return the cell of a number: numbers that come later lie in no earlier cell. */
DEVICE int cell_of(const value_t number, const scales_t scales)
{
    distance_t cell = DISTANCE(number, scales) * scales.scale;
    cell = cell > 0 ? cell : 0;
    cell = cell < CELLS - 1 ? cell : CELLS - 1;
    return IS_NUMBER(number) ? (int)cell : CELLS - 1;
}

DEVICE u32 word_of(const value_t number, const scales_t scales)
{
    const order_t order = ORDER_OF_NUMBER(number);
#if EXACT
    return order;
#else
    return (u32)min((order > scales.low ? order - scales.low : 0) >> scales.shift, (order_t)0xffffffffu);
#endif
}

/* Write the words, one behind them, and for each cell how many lie before it. Several samples and those before them are in
 * flight. */
DEVICE void write_words(INPUTS, const layout_t layout, const scales_t scales, const i64 size, const int count,
                        const int tid, LOCAL u32 *words, LOCAL u16 *guide)
{
    for (int base = tid; base <= count; base += BLOCK * ITEMS) {
        int begins[ITEMS], ends[ITEMS];
        u32 own[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int i = min(base + item * BLOCK, count);
            const value_t sample = gp_element_number(ELEMENT(min(((i64)i + 1) * FAN, size) - 1));
            const value_t before = gp_element_number(ELEMENT(max((i64)i * FAN, (i64)1) - 1));
            own[item] = word_of(sample, scales);
            begins[item] = i > 0 ? cell_of(before, scales) + 1 : 0;
            ends[item] = i < count ? cell_of(sample, scales) : CELLS;
        }
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int i = base + item * BLOCK;
            if (i > count) break;
            words[PLACE_OF(i)] = own[item];
            for (int cell = begins[item]; cell <= ends[item]; cell++) guide[cell] = (u16)i;
        }
    }
}

/* True if a sample comes before a key, as far as words tell. */
DEVICE int word_is_before(const u32 word, const u32 own)
{
    return EXACT && RIGHT ? word <= own : word < own;
}

#if !EXACT
DEVICE int sample_is_before(INPUTS, const layout_t layout, LOCAL const u32 *words, const int i, const u32 own,
                            const value_t key)
{
    const u32 word = words[PLACE_OF(i)];
    return word == own ? gp_is_before(SAMPLE(i), key) : word < own;
}

/* Pass samples with the key's own word that come before it: more and more at once, then fewer. */
DEVICE int pass_alike(INPUTS, const layout_t layout, LOCAL const u32 *words, const int count, int place, const u32 own,
                      const value_t key)
{
    if (place == count || words[PLACE_OF(place)] != own) return place;
    int step = 1;
    for (; place + step <= count && sample_is_before(INPUT_NAMES, layout, words, place + step - 1, own, key); step *= 2)
        place += step;
    for (step /= 2; step > 0; step /= 2)
        if (place + step <= count && sample_is_before(INPUT_NAMES, layout, words, place + step - 1, own, key))
            place += step;
    return place;
}
#endif

__kernel WORK_GROUP_RESIDENT(BLOCK, 1)
void searchsorted_words(INPUTS, OUTPUTS, const layout_t layout, const i64 n, const i64 size LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, words);
    const int tid = get_local_id(0), count = (int)(size / FAN);
    LOCAL u16 *guide = (LOCAL u16 *)(words + PLACE_OF(count) + 1);

    /* 1. Write the words and the guide. */
    const scales_t scales = find_scales(INPUT_NAMES, layout, size);
    for (int cell = tid; cell <= CELLS; cell += BLOCK) guide[cell] = 0; /* arrays that are not sorted leave out cells */
    barrier(CLK_LOCAL_MEM_FENCE);
    write_words(INPUT_NAMES, layout, scales, size, count, tid, words, guide);
    barrier(CLK_LOCAL_MEM_FENCE);

    for (i64 base = (i64)get_group_id(0) * TILE; base < n; base += (i64)get_num_groups(0) * TILE) {
        value_t keys[ITEMS];
        u32 own[ITEMS];
        int found[ITEMS], most = 0;

        /* 2. Load the keys; beyond the last one, load it again. Find their cells. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            keys[item] = KEY(min(base + item * BLOCK + tid, n - 1));
            own[item] = word_of(keys[item], scales);
            const int cell = cell_of(keys[item], scales);
            found[item] = guide[cell];
            most = max(most, guide[cell + 1] - found[item]);
        }

        /* 3. Halve the words of the cells, as many of each as the longest has: those of later cells are not before a key. */
        for (; most > 1; most -= most / 2) {
            const int half_most = most / 2;
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const int last = found[item] + half_most - 1;
                const int before = word_is_before(words[PLACE_OF(min(last, count))], own[item]) & (last < count);
                found[item] += before ? half_most : 0;
            }
        }
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            found[item] += word_is_before(words[PLACE_OF(found[item])], own[item]) & (found[item] < count);
#if !EXACT
            found[item] = pass_alike(INPUT_NAMES, layout, words, count, found[item], own[item], keys[item]);
#endif
            found[item] *= FAN;
        }

        /* 4. Halve the elements between two samples. */
#pragma unroll
        for (int half_fan = FAN / 2; half_fan > 0; half_fan /= 2) {
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const int last = found[item] + half_fan - 1;
                if (last < size && gp_is_before(ELEMENT(last), keys[item])) found[item] += half_fan;
            }
        }

        /* 5. Store. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const i64 j = base + item * BLOCK + tid;
            if (j < n) y0[gp_at_y0(layout, 0, j)] = ANSWER(found[item], keys[item]);
        }
    }
}

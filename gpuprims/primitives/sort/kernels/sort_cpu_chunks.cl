/* sort/cpu_chunks: for each digit, lowest first, a launch counts the digits of each chunk of a row, and the next moves
 * elements to their places, for devices whose work-items are CPU threads.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES, unless it is the `first` pass
 *         of INDICES
 * out     moved: the elements by this digit, if KEEPS_KEYS or not the `last` pass; kept: the values, in the last pass as
 *         kept_t
 * scratch counts: DIGITS for each of `parts` chunks of each row
 * launch  COUNTS, then not, groups of one work-item, one for each chunk
 * host    gp_sort_key, DIGITS, DIGIT_OF (sort_keys.h)
 * order   stable: a chunk's elements of one digit follow those of the chunks before, in order
 */
#if COUNTS
__kernel WORK_GROUP(1)
void sort_cpu_chunks(GLOBAL const element_t *keys, GLOBAL u32 *counts, const layout_t layout, const i64 n, const i64 chunk,
                     const i64 parts, const i64 shift, const i64 keys_at)
{
    const i64 task = get_group_id(0), row = task / parts, part = task % parts;
    GLOBAL const element_t *from = keys + keys_at + row * n;
    const i64 end = min((part + 1) * chunk, n);

    /* 1. Count in four sets, so that equal neighbours do not wait for each other. */
    u32 own[4][DIGITS];
    for (int digit = 0; digit < DIGITS; digit++) own[0][digit] = own[1][digit] = own[2][digit] = own[3][digit] = 0;
    i64 j = part * chunk;
    for (; j + 4 <= end; j += 4)
        for (int set = 0; set < 4; set++) own[set][DIGIT_OF(from[j + set], shift)]++;
    for (; j < end; j++) own[0][DIGIT_OF(from[j], shift)]++;

    /* 2. Store. */
    for (int digit = 0; digit < DIGITS; digit++)
        counts[task * DIGITS + digit] = own[0][digit] + own[1][digit] + own[2][digit] + own[3][digit];
}
#else
__kernel WORK_GROUP(1)
void sort_cpu_chunks(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL const u32 *counts,
                     GLOBAL element_t *moved, GLOBAL u8 *kept, const layout_t layout, const i64 n, const i64 chunk,
                     const i64 parts, const i64 shift, const i64 first, const i64 last, const i64 keys_at,
                     const i64 values_at, const i64 moved_at, const i64 kept_at)
{
    const i64 task = get_group_id(0), row = task / parts, part = task % parts, end = min((part + 1) * chunk, n);
    GLOBAL const element_t *from = keys + keys_at + row * n;
    GLOBAL const carried_t *with = values + values_at + row * n;
    GLOBAL element_t *to = moved + moved_at + row * n;
    GLOBAL carried_t *between = (GLOBAL carried_t *)kept + kept_at + row * n;
    GLOBAL kept_t *final = (GLOBAL kept_t *)kept + kept_at + row * n;

    /* 1. Find the place of this chunk's first element of each digit. */
    place_t places[DIGITS], before = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
        place_t all = 0, earlier = 0;
        for (i64 k = 0; k < parts; k++) {
            const u32 count = counts[(row * parts + k) * DIGITS + digit];
            earlier += k < part ? count : 0;
            all += count;
        }
        places[digit] = before + earlier;
        before += all;
    }

    /* 2. Move the elements in order. */
    for (i64 j = part * chunk; j < end; j++) {
        const element_t element = from[j];
        const place_t place = places[DIGIT_OF(element, shift)]++;
        if (KEEPS_KEYS || !last) to[place] = element;
        if (CARRIES) {
            const carried_t value = (INDICES ? first : 0) ? (carried_t)j : with[j];
            if (last) {
                final[place] = (kept_t)value;
            } else {
                between[place] = value;
            }
        }
    }
}
#endif

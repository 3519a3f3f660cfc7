/* sort/cpu_rows: each work-item sorts whole rows by one digit after the other, for devices whose work-items are CPU
 * threads.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES and not INDICES
 * out     sorted: the elements in order, if KEEPS_KEYS; kept: the values, or each element's index in its row, if CARRIES
 * scratch between: for each group, twice n elements and carried values
 * launch  any number of groups of one work-item; each takes rows until none are left
 * host    gp_sort_key, DIGITS (sort_keys.h); carried_t between passes, kept_t in the result
 * order   stable: a pass keeps the order of elements of one digit
 */
/* Rows of so few elements are sorted by insertion. */
#define SHORT 48
#define BYTES ((int)sizeof(element_t))

typedef struct { GLOBAL element_t *keys; GLOBAL carried_t *values; } side_t;

/* Put each element of a short row behind those that are not greater. */
DEVICE void gp_insert_row(GLOBAL const element_t *from, GLOBAL const carried_t *with, GLOBAL element_t *sorted,
                          GLOBAL kept_t *kept, const int n)
{
    element_t keys[SHORT];
    int places[SHORT];
    for (int j = 0; j < n; j++) {
        const element_t key = gp_sort_key(from[j]);
        int at = j;
        for (; at > 0 && keys[at - 1] > key; at--) {
            keys[at] = keys[at - 1];
            places[at] = places[at - 1];
        }
        keys[at] = key;
        places[at] = j;
    }
    for (int j = 0; j < n; j++) {
        if (KEEPS_KEYS) sorted[j] = from[places[j]];
        if (CARRIES) kept[j] = INDICES ? (kept_t)places[j] : (kept_t)with[places[j]];
    }
}

__kernel WORK_GROUP(1)
void sort_cpu_rows(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *sorted,
                   GLOBAL kept_t *kept, GLOBAL u8 *between, const layout_t layout, const i64 rows, const i64 n,
                   const i64 keys_at, const i64 values_at, const i64 sorted_at, const i64 kept_at)
{
    const i64 room = n * (i64)(sizeof(element_t) + (CARRIES ? sizeof(carried_t) : 0));
    GLOBAL u8 *own = between + get_group_id(0) * 2 * room;
    side_t sides[2];
    for (int k = 0; k < 2; k++) {
        sides[k].values = (GLOBAL carried_t *)(own + k * n * (i64)sizeof(carried_t) * CARRIES);
        sides[k].keys = (GLOBAL element_t *)(own + CARRIES * 2 * n * (i64)sizeof(carried_t) + k * n * (i64)sizeof(element_t));
    }

    for (i64 row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        GLOBAL const element_t *from = keys + keys_at + row * n;
        GLOBAL const carried_t *with = values + values_at + row * n;
        GLOBAL element_t *to = sorted + sorted_at + row * n;
        GLOBAL kept_t *final = kept + kept_at + row * n;
        if (n <= SHORT) {
            gp_insert_row(from, with, to, final, (int)n);
            continue;
        }

        /* 1. Count every digit of every key. */
        u32 counts[BYTES][DIGITS];
        for (int byte = 0; byte < BYTES; byte++)
            for (int digit = 0; digit < DIGITS; digit++) counts[byte][digit] = 0;
        for (i64 j = 0; j < n; j++) {
            const element_t key = gp_sort_key(from[j]);
            for (int byte = 0; byte < BYTES; byte++) counts[byte][(u32)(key >> (8 * byte)) & (DIGITS - 1)]++;
        }
        int last = -1;
        for (int byte = 0; byte < BYTES; byte++)
            if (counts[byte][DIGIT_OF(from[0], 8 * byte)] < n) last = byte;

        /* 2. Move elements to the places of their digits, by digits that differ, lowest first. */
        int passes = 0;
        for (int byte = 0; byte <= last; byte++) {
            if (counts[byte][DIGIT_OF(from[0], 8 * byte)] == n) continue;
            const side_t next = sides[passes & 1];
            GLOBAL element_t *into = byte == last ? to : next.keys;
            u32 before = 0;
            for (int digit = 0; digit < DIGITS; digit++) {
                const u32 count = counts[byte][digit];
                counts[byte][digit] = before;
                before += count;
            }
            for (i64 j = 0; j < n; j++) {
                const element_t element = from[j];
                const u32 place = counts[byte][DIGIT_OF(element, 8 * byte)]++;
                if (KEEPS_KEYS || byte < last) into[place] = element;
                if (CARRIES) {
                    const carried_t value = (INDICES ? !passes : 0) ? (carried_t)j : with[j];
                    if (byte == last) {
                        final[place] = (kept_t)value;
                    } else {
                        next.values[place] = value;
                    }
                }
            }
            from = into;
            with = next.values;
            passes++;
        }

        /* 3. Copy a row whose keys are all alike. */
        for (i64 j = 0; j < n && !passes; j++) {
            if (KEEPS_KEYS) to[j] = from[j];
            if (CARRIES) final[j] = INDICES ? (kept_t)j : (kept_t)with[j];
        }
    }
}

/* searchsorted/binary: each work-item halves the sorted array for several keys at once.
 *
 * in      INPUTS: x0 a sorted array of `size` elements, contiguous; x1 keys
 * out     OUTPUTS: y0 the answer for key j, for each j in [0, n): how many elements come before it, or if it is one
 * launch  any number of groups of BLOCK; each takes tiles of BLOCK x ITEMS keys until none are left
 * host    ELEMENT(i), KEY(j), gp_is_before, ANSWER (search.h)
 */
#define TILE (BLOCK * ITEMS)

__kernel WORK_GROUP(BLOCK)
void searchsorted_binary(INPUTS, OUTPUTS, const layout_t layout, const i64 n, const i64 size)
{
    const int tid = get_local_id(0);

    for (i64 base = (i64)get_group_id(0) * TILE; base < n; base += (i64)get_num_groups(0) * TILE) {
        value_t keys[ITEMS];
        place_t found[ITEMS];

        /* 1. Load the keys; beyond the last one, load it again. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            keys[item] = KEY(min(base + item * BLOCK + tid, n - 1));
            found[item] = 0;
        }

        /* 2. Halve the part of the array that a key belongs to: ITEMS independent loads in flight. */
        for (place_t left = size; left > 1;) {
            const place_t half_left = left / 2;
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                found[item] += gp_is_before(ELEMENT(found[item] + half_left - 1), keys[item]) ? half_left : 0;
            left -= half_left;
        }

        /* 3. Store. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const i64 j = base + item * BLOCK + tid;
            if (j < n) {
                if (size > 0) found[item] += gp_is_before(ELEMENT(found[item]), keys[item]);
                y0[gp_at_y0(layout, 0, j)] = ANSWER(found[item], keys[item]);
            }
        }
    }
}

/* searchsorted/cpu_interleaved: each group halves the sorted array for several keys by turns, without branches, for
 * devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0 a sorted array of `size` elements, contiguous; x1 keys
 * out     OUTPUTS: y0 the answer for key j, for each j in [0, n): how many elements come before it, or if it is one
 * launch  any number of groups of one work-item; each takes tiles of ITEMS keys until none are left
 * host    ELEMENT(i), KEY(j), gp_is_before, ANSWER (search.h)
 */
#define TURNS 32 /* keys whose loads are in flight at once; rows: cpu_interleaved */

__kernel WORK_GROUP(1)
void searchsorted_cpu_interleaved(INPUTS, OUTPUTS, const layout_t layout, const i64 n, const i64 size)
{
    for (i64 base = (i64)get_group_id(0) * ITEMS; base < n; base += (i64)get_num_groups(0) * ITEMS) {
        const i64 last = min(base + ITEMS, n);
        for (i64 first = base; first < last; first += TURNS) {
            value_t keys[TURNS];
            place_t found[TURNS];

            /* 1. Load the keys; beyond the last one, load it again. */
            for (int turn = 0; turn < TURNS; turn++) {
                keys[turn] = KEY(min(first + turn, last - 1));
                found[turn] = 0;
            }

            /* 2. Halve the part of the array that a key belongs to. */
            for (place_t left = size; left > 1;) {
                const place_t half_left = left / 2;
                for (int turn = 0; turn < TURNS; turn++)
                    found[turn] += gp_is_before(ELEMENT(found[turn] + half_left - 1), keys[turn]) ? half_left : 0;
                left -= half_left;
            }
            if (size > 0)
                for (int turn = 0; turn < TURNS; turn++) found[turn] += gp_is_before(ELEMENT(found[turn]), keys[turn]);

            /* 3. Store. */
            for (int turn = 0; turn < min((i64)TURNS, last - first); turn++)
                y0[gp_at_y0(layout, 0, first + turn)] = ANSWER(found[turn], keys[turn]);
        }
    }
}

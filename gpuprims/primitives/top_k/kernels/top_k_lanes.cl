/* top_k/lanes: each work-item puts a short row in order in registers, by a network of exchanges.
 *
 * in      INPUTS: `outputs` rows of LENGTH elements
 * out     OUTPUTS: the k first elements of each row in descending or ascending order, and their places
 * launch  any number of groups of BLOCK, whose work-items take rows until none are left
 * host    gp_rank_order, gp_pick (ordering.h); MAP and STORE_PICK; NETWORK, which puts `picks` in order by EXCHANGE(a, b)
 * order   of equal elements the first comes first
 * source  K. Batcher, Sorting networks and their applications, 1968
 */
#define EXCHANGE(a, b)                                                                                                 \
    {                                                                                                                  \
        const pick_t one = picks[a], other = picks[b];                                                                 \
        if (gp_beats(other, one)) {                                                                                    \
            picks[a] = other;                                                                                          \
            picks[b] = one;                                                                                            \
        }                                                                                                              \
    }

__kernel WORK_GROUP(BLOCK)
void top_k_lanes(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n, const i64 k)
{
    const int tid = get_local_id(0);

    for (i64 o = get_group_id(0) * (i64)BLOCK + tid; o < outputs; o += get_num_groups(0) * (i64)BLOCK) {
        /* 1. Load a row. */
        pick_t picks[LENGTH];
#pragma unroll
        for (int j = 0; j < LENGTH; j++) picks[j] = gp_pick(gp_rank_order(MAP(o, j)), LENGTH - 1 - j);

        /* 2. Sort it. */
        NETWORK

        /* 3. Store the first k. */
#pragma unroll
        for (int place = 0; place < LENGTH; place++)
            if (place < k) STORE_PICK(o, place, LENGTH - 1 - BEHIND_OF(picks[place]));
    }
}

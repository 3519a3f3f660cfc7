/* take/grid: neighbouring work-items take neighbouring results, so that reads of indices and writes of results coalesce.
 *
 * in      INPUTS: x0 elements, with the indexed axes as kept axes; x1 indices
 * out     OUTPUTS: y0 the element at index j, for each j in [0, n)
 * launch  any number of groups of BLOCK; each takes tiles of BLOCK x ITEMS until none are left
 * host    VECTOR, which divides ITEMS; SHARED_INDEX if the VECTOR neighbours of a row share an index; gp_load_indices,
 *         gp_load_taken and gp_store_taken, for VECTOR results, and with `_alone` for one; gp_place_of and
 *         gp_tell_outside (places.h)
 */
#define TILE (BLOCK * ITEMS)
#define INDICES_OF_VECTOR (SHARED_INDEX ? 1 : VECTOR)

/* Load the places of VECTOR results. */
DEVICE void load_places(INPUTS, const layout_t layout, const i64 j, const i64 length, i64 *places, u32 *outside)
{
    index_t indices[INDICES_OF_VECTOR];
    gp_load_indices(INPUT_NAMES, layout, j, indices);
#pragma unroll
    for (int k = 0; k < INDICES_OF_VECTOR; k++) places[k] = gp_place_of(indices[k], length, outside);
}

/* Load the elements at these places. */
DEVICE void load_elements(INPUTS, const layout_t layout, const i64 j, const i64 *places, element_t *elements)
{
#pragma unroll
    for (int k = 0; k < INDICES_OF_VECTOR; k++) gp_load_taken(INPUT_NAMES, layout, places[k], j + k, elements + k);
}

/* Take one element. */
DEVICE void take_one(INPUTS, OUTPUTS, const layout_t layout, const i64 j, const i64 length, u32 *outside)
{
    index_t index;
    element_t element;
    gp_load_indices_alone(INPUT_NAMES, layout, j, &index);
    gp_load_taken_alone(INPUT_NAMES, layout, gp_place_of(index, length, outside), j, &element);
    gp_store_taken_alone(OUTPUT_NAMES, layout, j, &element);
}

__kernel WORK_GROUP(BLOCK)
void take_grid(INPUTS, OUTPUTS, GLOBAL i64 *found, GLOBAL u32 *counters, const layout_t layout, const i64 n,
               const i64 length)
{
    __local u32 mark;
    const int tid = get_local_id(0);
    const i64 whole = n / VECTOR * VECTOR;
    u32 outside = 0;

    for (i64 base = (i64)get_group_id(0) * TILE; base < n; base += (i64)get_num_groups(0) * TILE) {
        const i64 first = base + tid * VECTOR;
        i64 places[ITEMS];
        element_t elements[ITEMS];

        if (base + TILE <= n) {
            /* 1. Load the places; the loads of ITEMS places are independent. */
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                load_places(INPUT_NAMES, layout, first + item * BLOCK, length, places + item, &outside);
            /* 2. Load the elements. */
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                load_elements(INPUT_NAMES, layout, first + item * BLOCK, places + item, elements + item);
            /* 3. Store. */
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                gp_store_taken(OUTPUT_NAMES, layout, first + item * BLOCK, elements + item);
        } else {
            /* Partial tile: the same for whole vectors; then work-items take one of the remaining elements each. */
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                if (first + item * BLOCK < whole)
                    load_places(INPUT_NAMES, layout, first + item * BLOCK, length, places + item, &outside);
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                if (first + item * BLOCK < whole)
                    load_elements(INPUT_NAMES, layout, first + item * BLOCK, places + item, elements + item);
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                if (first + item * BLOCK < whole)
                    gp_store_taken(OUTPUT_NAMES, layout, first + item * BLOCK, elements + item);
            if (VECTOR > 1 && whole + tid < n)
                take_one(INPUT_NAMES, OUTPUT_NAMES, layout, whole + tid, length, &outside);
        }
    }
    gp_tell_outside(found, counters, &mark, outside, tid);
}

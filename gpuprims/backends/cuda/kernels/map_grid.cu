/* map/grid: one element a work-item at a time, neighbours side by side, so that reads and writes coalesce.
 *
 * in      INPUTS, any layout            out     OUTPUTS, one value at each o in [0, outputs)
 * launch  any number of groups of BLOCK; each takes tiles of BLOCK x ITEMS until none are left
 * host    MAP(o, j), STORE(at, value)
 */
extern "C" __global__ __launch_bounds__(BLOCK)
void map_grid(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs)
{
    const int tid = threadIdx.x;

    for (i64 base = (i64)blockIdx.x * BLOCK * ITEMS; base < outputs; base += (i64)gridDim.x * BLOCK * ITEMS) {
        if (base + BLOCK * ITEMS <= outputs) {
            /* 1. Load and apply: ITEMS independent reads in flight. */
            value_t values[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) values[item] = MAP(base + item * BLOCK + tid, 0);
            /* 2. Store. */
#pragma unroll
            for (int item = 0; item < ITEMS; item++) STORE(base + item * BLOCK + tid, values[item]);
        } else {
            /* The last tile, live elements only. */
            for (i64 o = base + tid; o < outputs; o += BLOCK) STORE(o, MAP(o, 0));
        }
    }
}

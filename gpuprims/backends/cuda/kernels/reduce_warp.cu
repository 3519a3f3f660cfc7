/* reduce/warp: each group folds its share of one output's elements; shuffles fold each warp, then the warps' values.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: `parts` values for each output, at o * parts + part
 * launch  any number of groups of BLOCK (whole warps, at most 32 of them); each takes (output, part) pairs until none are left
 * host    MAP(o, j), OP(a, b), IDENTITY, STORE(at, value), COMMUTATIVE
 * order   operands meet in the order of their index; only a commutative operator sees them dealt out with a stride
 *
 * The fold of a warp, for 8 lanes. Each lane takes the value of the lane `stride` further on; lane 0 ends with all:
 *
 *     stride 1    0+1  1+2  2+3  3+4  4+5  5+6  6+7  7
 *     stride 2    0..3 1..4 2..5 3..6 4..7 5..7 ...
 *     stride 4    0..7
 */
#define WARP 32
#define WARPS (BLOCK / WARP)

/* The value of the lane `stride` further on, whatever its type: moved in words of 32 bits. */
DEVICE value_t gp_shuffle_down(const value_t value, const int stride)
{
    union { value_t value; u32 words[(sizeof(value_t) + 3) / 4]; } moved = {};
    moved.value = value;
#pragma unroll
    for (int word = 0; word < (sizeof(value_t) + 3) / 4; word++)
        moved.words[word] = __shfl_down_sync(0xffffffffu, moved.words[word], stride);
    return moved.value;
}

DEVICE value_t gp_fold_warp(value_t folded)
{
#pragma unroll
    for (int stride = 1; stride < WARP; stride *= 2) folded = OP(folded, gp_shuffle_down(folded, stride));
    return folded;
}

extern "C" __global__ __launch_bounds__(BLOCK)
void reduce_warp(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n, const i64 parts)
{
    __shared__ value_t partial[WARPS];
    const int tid = threadIdx.x;

    for (i64 task = blockIdx.x; task < outputs * parts; task += gridDim.x) {
        const i64 o = task / parts;
        const i64 worker = (task % parts) * BLOCK + tid, workers = parts * BLOCK;

        /* 1. Share out: every workers-th element, or, where order matters, one contiguous run. */
#if COMMUTATIVE
        const i64 step = workers;
        i64 j = worker;
        const i64 last = n;
#else
        const i64 step = 1;
        const i64 run = (n + workers - 1) / workers;
        i64 j = min(worker * run, n);
        const i64 last = min(j + run, n);
#endif

        /* 2. Load and fold: ITEMS independent reads in flight, folded pairwise, which also keeps rounding small. */
        value_t folded = IDENTITY;
        for (; j + (ITEMS - 1) * step < last; j += ITEMS * step) {
            value_t values[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) values[item] = MAP(o, j + item * step);
#pragma unroll
            for (int stride = 1; stride < ITEMS; stride *= 2)
#pragma unroll
                for (int item = 0; item + stride < ITEMS; item += 2 * stride)
                    values[item] = OP(values[item], values[item + stride]);
            folded = OP(folded, values[0]);
        }
        for (; j < last; j += step) folded = OP(folded, MAP(o, j));

        /* 3. Fold each warp, then the first warp folds what they leave. */
        folded = gp_fold_warp(folded);
        if (tid % WARP == 0) partial[tid / WARP] = folded;
        __syncthreads();
        if (tid < WARP) folded = gp_fold_warp(tid < WARPS ? partial[tid] : IDENTITY);

        /* 4. Store; the next task may write partial once everyone is here. */
        if (tid == 0) STORE(task, folded);
        __syncthreads();
    }
}

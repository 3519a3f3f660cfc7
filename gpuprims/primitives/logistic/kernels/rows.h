/* Rows of samples, and functions for work-items that share a row. */
#define SAMPLES(row) (x0 + gp_at_x0(layout, 0, 0) + (row) * FEATURES)
#define LABEL(row) x1[gp_at_x1(layout, 0, 0) + (row)]
#define WEIGHT(feature) x2[gp_at_x2(layout, 0, 0) + (feature)]
#if INTERCEPT
#define INITIAL_SCORE WEIGHT(FEATURES)
#else
#define INITIAL_SCORE 0
#endif
#if WEIGHTED
#define SAMPLE_WEIGHT(row) x3[gp_at_x3(layout, 0, 0) + (row)]
#else
#define SAMPLE_WEIGHT(row) 1
#endif

/* A constant of the kernel's precision: compilers for devices without float64 warn of a double. */
#ifdef HAS_F64
#define GP_CONSTANT(number) number
#else
#define GP_CONSTANT(number) number##f
#endif

/* 1 / (1 + exp(-z)), by a power of two. */
#define SIGMOID(z) INVERSE(1 + POWER((z) * (value_t)-GP_CONSTANT(1.4426950408889634)))

/* Load VECTOR neighbours of a row at once; those that are stored as integers become numbers. */
#if INTEGERS && VECTOR > 1
#define READ_SAMPLES(from, to)                                                                                         \
    {                                                                                                                  \
        SAMPLE_TYPE integers[VECTOR];                                                                                       \
        READ_VECTOR(SAMPLE_TYPE, VECTOR, from, integers);                                                                   \
        for (int gp_item = 0; gp_item < VECTOR; gp_item++) (to)[gp_item] = integers[gp_item];                          \
    }
#elif VECTOR > 1
#define READ_SAMPLES(from, to) READ_VECTOR(NUMBER, VECTOR, from, to)
#else
#define READ_SAMPLES(from, to) (to)[0] = *(from)
#endif

/* `count` neighbours of a row as an OpenCL vector of numbers. */
#if INTEGERS
#define SAMPLES_FROM(count, from) GP_JOINED(AS_NUMBERS, count)(GP_JOINED(vload, count)(0, from))
#else
#define SAMPLES_FROM(count, from) GP_JOINED(vload, count)(0, from)
#endif

/* An OpenCL vector along a row, and the sum of its halves, by shuffle(): Oclgrind reports .lo and .hi as
 * uninitialised. */
#define WIDE(count) VECTOR_OF(NUMBER, count)
#define HALVES(sum, count, low, high)                                                                                  \
    (shuffle(sum, (VECTOR_OF(INDEX, count))low) + shuffle(sum, (VECTOR_OF(INDEX, count))high))

/* The value of lane `lane` among the LANES work-items of a row, in all of them. */
DEVICE value_t gp_from_lane(const value_t value, const int lane, LOCAL value_t *partial, const int tid)
{
#if LANES == 1
    return value;
#elif LANES <= WARP
    return gp_shuffle_from(value, tid % WARP / LANES * LANES + lane);
#else
    partial[tid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    const value_t taken = partial[tid / LANES * LANES + lane];
    barrier(CLK_LOCAL_MEM_FENCE);
    return taken;
#endif
}

/* Add the parts that LANES work-items have of the sums of ROWS rows. In each round a lane keeps half of the sums and
 * passes the other half to a lane that does the reverse. At the end a lane has the sums of OWNED rows, or SHARING lanes
 * have the sum of the same row: lane l has rows from l / SHARING * OWNED on. */
#define OWNED (ROWS > LANES ? ROWS / LANES : 1)
#define SHARING (ROWS > LANES ? 1 : LANES / ROWS)
DEVICE void gp_fold_rows(value_t *sums, LOCAL value_t *partial, const int tid)
{
    int kept = ROWS;
#pragma unroll
    for (int stride = LANES / 2; stride > 0; stride /= 2) {
        const int upper = (tid & stride) != 0;
        if (kept > 1) {
            kept /= 2;
#pragma unroll
            for (int k = 0; k < ROWS / 2; k++) {
                if (k < kept) {
                    const value_t mine = upper ? sums[k + kept] : sums[k], given = upper ? sums[k] : sums[k + kept];
                    sums[k] = mine + gp_butterfly(given, stride, partial, tid);
                }
            }
        } else {
            sums[0] += gp_butterfly(sums[0], stride, partial, tid);
        }
    }
}

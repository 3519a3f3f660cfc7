/* The rows that kernels of logistic regression read, and how work-items that share a row pass on what they have of it, the same in
 * both dialects. */
#define SAMPLES(row) (x0 + gp_at_x0(layout, 0, 0) + (row) * FEATURES)
#define LABEL(row) x1[gp_at_x1(layout, 0, 0) + (row)]
#define WEIGHT(feature) x2[gp_at_x2(layout, 0, 0) + (feature)]
#if INTERCEPT
#define START WEIGHT(FEATURES)
#else
#define START 0
#endif
#if WEIGHTED
#define SHARE(row) x3[gp_at_x3(layout, 0, 0) + (row)]
#else
#define SHARE(row) 1
#endif

/* A constant, which is no double where the kernel has none: devices without doubles would warn of it. */
#ifdef HAS_F64
#define GP_CONSTANT(number) number
#else
#define GP_CONSTANT(number) number##f
#endif

/* VECTOR neighbours of a row, in one load. */
#if VECTOR > 1
#define READ_SAMPLES(from, to) READ_VECTOR(NUMBER, VECTOR, from, to)
#else
#define READ_SAMPLES(from, to) (to)[0] = *(from)
#endif

/* Vectors of OpenCL's along a row, and the two halves of one, added: by shuffle, since of .lo and .hi Oclgrind says that they were
 * never written. */
#define WIDE(count) VECTOR_OF(NUMBER, count)
#define HALVES(sum, count, low, high)                                                                                  \
    (shuffle(sum, (VECTOR_OF(PLACE, count))low) + shuffle(sum, (VECTOR_OF(PLACE, count))high))

/* The value of one of the LANES work-items that share a row, for all of them. */
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

/* Add the parts that the LANES work-items of a row have of the sums of ROWS rows. Step by step a lane keeps half of them and hands the
 * other half to a lane that does the reverse, so that it ends with the whole sums of OWNED rows, or SHARING lanes with that of the
 * same: lane l with those from l / SHARING * OWNED on. */
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

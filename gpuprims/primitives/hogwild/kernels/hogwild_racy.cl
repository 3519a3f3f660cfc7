/* hogwild/racy: as lock_free, with plain additions; some are lost when workers change a weight at once.
 *
 * in      INPUTS: x0 rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights, then the order
 *         of rows and the rates of stretches (single.h)
 * out     OUTPUTS: y0 the weights
 * scratch partials, counters: not touched
 * launch  for each `part`: any number of groups of BLOCK (a power of two), which copy the weights, then enough for all
 *         workers
 * host    `steps` samples in order, in stretches; each of `workers` takes every workers-th sample; gp_walk
 *         (walk.h)
 * order   a single worker keeps the order; several lose changes, and results differ from run to run
 */
__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void hogwild_racy(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 steps,
                  const i64 stretch, const i64 workers, const i64 part)
{
    __local value_t partial[BLOCK];
    const int tid = get_local_id(0);
    gp_walk(INPUT_NAMES, OUTPUT_NAMES, layout, steps, stretch, workers, part, partial, tid, 0);
}

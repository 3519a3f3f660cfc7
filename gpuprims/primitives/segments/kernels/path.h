/* Elements and segment ends are steps of one path: the end of segment o is step BEGIN(o + 1) + o, and its elements come
 * before it. Where ends cost more than elements, each takes END_STEPS steps.
 */
#ifndef END_STEPS
#define END_STEPS 1
#endif

/* The number of segments that end within the first steps of the path. */
DEVICE i64 gp_ended_by(INPUTS, const layout_t layout, const i64 segments, const i64 steps)
{
    i64 low = 0, high = segments;
    while (low < high) {
        const i64 o = (low + high) / 2;
        if (BEGIN(o + 1) + END_STEPS * o < steps) {
            low = o + 1;
        } else {
            high = o;
        }
    }
    return low;
}

/* The steps from `from` on, before `to`: segments o to `ended` end there, and elements j to `last` lie there. */
typedef struct { i64 o, j, ended, last; } run_t;

DEVICE run_t gp_run_of(INPUTS, const layout_t layout, const i64 segments, const i64 from, const i64 to)
{
    run_t run;
    run.o = gp_ended_by(INPUT_NAMES, layout, segments, from);
    run.j = max(from - END_STEPS * run.o, BEGIN(run.o));
    run.ended = gp_ended_by(INPUT_NAMES, layout, segments, to);
    run.last = max(to - END_STEPS * run.ended, BEGIN(run.ended));
    return run;
}

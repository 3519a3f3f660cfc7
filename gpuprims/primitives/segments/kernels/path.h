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

/* The element at which a part begins that has `ended` segments before its first step. */
DEVICE i64 gp_element_of(INPUTS, const layout_t layout, const i64 ended, const i64 step)
{
    return max(step - END_STEPS * ended, BEGIN(ended));
}

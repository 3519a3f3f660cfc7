/* A trial: each group counts itself, and waits until all groups have done so or one has given up.
 *
 * meeting: the number of groups that have started; of groups that saw all others start; 1 once a group has given up, after
 *          `looks` reads
 */
__kernel void progress(__global uint *meeting, const int looks)
{
    if (get_local_id(0) != 0) return;
    const uint groups = (uint)get_num_groups(0);
    atomic_inc(meeting);
    for (int look = 0; look < looks && atomic_or(meeting + 2, 0) == 0; look++) {
        if (atomic_or(meeting, 0) < groups) continue;
        atomic_inc(meeting + 1);
        return;
    }
    atomic_xchg(meeting + 2, 1);
}

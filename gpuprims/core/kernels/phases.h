/* Phases: how long the first work-item of a group is in each numbered step of a kernel, in ticks of the device's clock.
 *
 * gp_phases has GP_PHASES sums for each of the first GP_PHASE_GROUPS groups; sum 0 has the time before step 1.
 */
DEVICE u64 gp_clock(void)
{
#ifdef __CUDACC_RTC__
    return (u64)clock64();
#elif defined(__NV_CL_C_VERSION)
    u64 ticks;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(ticks) : : "memory");
    return ticks;
#elif defined(__clang__) && __has_builtin(__builtin_readcyclecounter)
    return (u64)__builtin_readcyclecounter();
#elif defined(cl_khr_kernel_clock)
    return (u64)clock_read_device();
#else
#error "GP_NO_CLOCK"
#endif
}

#define GP_PHASES_BEGIN                                                                                                \
    u64 gp_spent[GP_PHASES], gp_since = 0;                                                                             \
    int gp_now = 0;                                                                                                    \
    const int gp_stamps = get_local_id(0) == 0 && get_group_id(0) < GP_PHASE_GROUPS;                                   \
    for (int gp_phase = 0; gp_phase < GP_PHASES; gp_phase++) gp_spent[gp_phase] = 0;                                   \
    if (gp_stamps) gp_since = gp_clock();

#define GP_PHASE(number)                                                                                               \
    if (gp_stamps) {                                                                                                   \
        const u64 gp_time = gp_clock();                                                                                \
        gp_spent[gp_now] += gp_time - gp_since;                                                                        \
        gp_now = number;                                                                                               \
        gp_since = gp_clock();                                                                                         \
    }

#define GP_PHASES_END                                                                                                  \
    if (gp_stamps) {                                                                                                   \
        gp_spent[gp_now] += gp_clock() - gp_since;                                                                     \
        for (int gp_phase = 0; gp_phase < GP_PHASES; gp_phase++)                                                       \
            gp_phases[(i64)get_group_id(0) * GP_PHASES + gp_phase] = gp_spent[gp_phase];                               \
    }

/* How groups add in memory that they share, and the local memory that a launch gives them. */
#define LOCAL_PARAMETER
#define GLOBAL_BARRIER() __syncthreads()
#define LOCAL_HISTOGRAM(name)                                                                                          \
    extern __shared__ u64 gp_dynamic[];                                                                                \
    bin_t *name = reinterpret_cast<bin_t *>(gp_dynamic)

#define gp_increment(place) atomicAdd(place, 1u)
#define gp_raise(place, number) atomicMax(place, number)
#define gp_add_count(place, number) atomicAdd(place, number)
#define gp_take_count(place, number) atomicSub(place, number)
#define gp_add_integer(place, number) atomicAdd(reinterpret_cast<u64 *>(place), (u64)(number))
#define gp_add_float_locally(place, number) atomicAdd(place, number)
#define gp_add_float_globally(place, number) atomicAdd(place, number)

/* Places of keys of the host among sorted elements: binary searches of several keys at a time, without branches.
 *
 * NumPy's searches mispredict a branch in every second step. Keys that rise are searched for behind the key before them.
 * Without this module, NumPy or a kernel searches.
 */
#pragma GCC optimize("O3")
#include "../../core/c_modules.h"

#define MANY_KEYS 8192 /* during searches for more, other threads of Python run */
#define AT_ONCE 8      /* keys whose searches do not wait for each other */
#define EACH(key, keys) for (int key = 0; key < (keys); key++)

#define BELOW(a, b) ((a) < (b))
#define UP_TO(a, b) ((a) <= (b))

/* Define how to count the elements before each key: those BELOW it, or UP_TO it. NaN is above all, and equal to NaN. */
#define DEFINE_SEARCH(name, type, BEFORE, nan_before)                                                                  \
    static void name(const type *x, npy_intp size, const type *keys, const npy_intp count, npy_int64 *places) {        \
        npy_intp n = size; /* elements that are not NaN */                                                             \
        if (n && x[n - 1] != x[n - 1]) {                                                                               \
            npy_intp low = 0;                                                                                          \
            for (npy_intp left = n; left > 0;) {                                                                       \
                const npy_intp half = left / 2;                                                                        \
                const int is_number = x[low + half] == x[low + half];                                                  \
                low += is_number ? half + 1 : 0;                                                                       \
                left = is_number ? left - half - 1 : half;                                                             \
            }                                                                                                          \
            n = low;                                                                                                   \
        }                                                                                                              \
        for (npy_intp first = 0; first < count; first += AT_ONCE) {                                                    \
            const int taken = count - first < AT_ONCE ? (int)(count - first) : AT_ONCE;                                \
            type key[AT_ONCE] = {0};                                                                                   \
            npy_intp at[AT_ONCE], left = n, begin = 0;                                                                 \
            int rise = first && taken == AT_ONCE;                                                                      \
            EACH(k, taken) key[k] = keys[first + k];                                                                   \
            if (rise) EACH(k, AT_ONCE) rise &= keys[first + k - 1] <= key[k];                                          \
            if (rise) {                                                                                                \
                begin = places[first - 1];                                                                             \
                for (left = 0; begin + left < n && BEFORE(x[begin + left], key[AT_ONCE - 1]);) left = 2 * left + 1;    \
                left = left < n - begin ? left : n - begin;                                                            \
            }                                                                                                          \
            EACH(k, AT_ONCE) at[k] = begin;                                                                            \
            const npy_intp any = left;                                                                                 \
            for (; left > 1; left -= left / 2) {                                                                       \
                const npy_intp half = left / 2;                                                                        \
                EACH(k, AT_ONCE) at[k] += half & -(npy_intp)BEFORE(x[at[k] + half - 1], key[k]);                       \
            }                                                                                                          \
            if (any) EACH(k, AT_ONCE) at[k] += BEFORE(x[at[k]], key[k]);                                               \
            EACH(k, taken) places[first + k] = key[k] != key[k] ? (nan_before ? size : n) : at[k];                     \
        }                                                                                                              \
    }

#define DEFINE_BOTH(name, type)                                                                                        \
    DEFINE_SEARCH(name##_left, type, BELOW, 0)                                                                         \
    DEFINE_SEARCH(name##_right, type, UP_TO, 1)

DEFINE_BOTH(floats, npy_float32)
DEFINE_BOTH(doubles, npy_float64)
DEFINE_BOTH(ints, npy_int32)
DEFINE_BOTH(longs, npy_int64)

PyDoc_STRVAR(search_doc, "search(elements, keys, right): numpy.searchsorted of contiguous arrays of one dtype.");

static PyObject *search(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    PyArrayObject *x = NULL, *keys = NULL;
    if (given == 3 && PyArray_Check(arguments[0]) && PyArray_Check(arguments[1])) {
        x = (PyArrayObject *)arguments[0];
        keys = (PyArrayObject *)arguments[1];
    }
    if (!x || PyArray_TYPE(x) != PyArray_TYPE(keys) || PyArray_NDIM(x) != 1 || !PyArray_ISCARRAY_RO(x) ||
        !PyArray_ISCARRAY_RO(keys)) {
        PyErr_SetString(PyExc_TypeError, "search: contiguous arrays of one dtype, the first of one dimension, and True or False");
        return NULL;
    }
    const int right = PyObject_IsTrue(arguments[2]);
    if (right < 0) return NULL;
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(keys), PyArray_DIMS(keys), NPY_INT64);
    if (!places) return NULL;
    const npy_intp n = PyArray_SIZE(x), count = PyArray_SIZE(keys);
    npy_int64 *to = PyArray_DATA(places);
    int searched = 1;
    PyThreadState *state = count > MANY_KEYS ? PyEval_SaveThread() : NULL;
    switch (PyArray_TYPE(x)) {
    case NPY_FLOAT32: (right ? floats_right : floats_left)(PyArray_DATA(x), n, PyArray_DATA(keys), count, to); break;
    case NPY_FLOAT64: (right ? doubles_right : doubles_left)(PyArray_DATA(x), n, PyArray_DATA(keys), count, to); break;
    case NPY_INT32: (right ? ints_right : ints_left)(PyArray_DATA(x), n, PyArray_DATA(keys), count, to); break;
    case NPY_INT64: (right ? longs_right : longs_left)(PyArray_DATA(x), n, PyArray_DATA(keys), count, to); break;
    default: searched = 0;
    }
    if (state) PyEval_RestoreThread(state);
    if (searched) return (PyObject *)places;
    Py_DECREF(places);
    PyErr_SetString(PyExc_TypeError, "search: float32, float64, int32 or int64");
    return NULL;
}

DEFINE_MODULE(places, "Searches of few keys.", 1, FUNCTION(search))

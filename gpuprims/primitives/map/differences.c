/* Differences of neighbours of the host, by the registers that the processor has.
 *
 * Elements lie one after the other, in C order. NumPy does the same where this module is not there: map/diff.py.
 */
#pragma GCC optimize("O3")
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#define HAS_WIDE __builtin_cpu_supports("avx2")
#else
#define WIDE
#define HAS_WIDE 0
#endif
#define RELEASED 65536 /* of more bytes, other threads of Python run meanwhile */

/* Define the differences of rows of n elements; 1 if one is NaN. Integers wrap, so they have no signs here. */
#define DEFINE_AS(name, attributes, type, is_float)                                                                    \
    attributes static int name(const void *given, const npy_intp rows, const npy_intp n, void *result) {               \
        const type *x = given;                                                                                         \
        type *restrict to = result;                                                                                    \
        int nan = 0;                                                                                                   \
        for (npy_intp row = 0; row < rows; row++, x += n, to += n - 1)                                                 \
            for (npy_intp k = 0; k < n - 1; k++) {                                                                     \
                to[k] = (type)(x[k + 1] - x[k]);                                                                       \
                if (is_float) nan |= to[k] != to[k];                                                                   \
            }                                                                                                          \
        return nan;                                                                                                    \
    }
#define DEFINE(name, type, is_float)                                                                                   \
    DEFINE_AS(name, , type, is_float)                                                                                  \
    DEFINE_AS(name##_wide, WIDE, type, is_float)

DEFINE(bytes, npy_uint8, 0)
DEFINE(shorts, npy_uint16, 0)
DEFINE(words, npy_uint32, 0)
DEFINE(longs, npy_uint64, 0)
DEFINE(floats, float, 1)
DEFINE(doubles, double, 1)

typedef int subtract_t(const void *, npy_intp, npy_intp, void *);
static subtract_t *const PLAIN[] = {bytes, shorts, words, longs, floats, doubles};
static subtract_t *const IN_WIDE[] = {bytes_wide, shorts_wide, words_wide, longs_wide, floats_wide, doubles_wide};

/* The place of a type among the functions; -1 for others. */
static int place_of(const PyArray_Descr *type) {
    const int size = (int)PyDataType_ELSIZE(type), power = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    if (type->kind == 'i' || type->kind == 'u') return power;
    return type->kind == 'f' && (size == 4 || size == 8) ? power + 2 : -1;
}

PyDoc_STRVAR(last_axis_doc,
             "last_axis(x): differences of neighbours along the last axis of integers, float32 or float64 in C order;\n"
             "NotImplemented with NaN.");

static PyObject *last_axis(PyObject *module, PyObject *given) {
    PyArrayObject *x = (PyArrayObject *)given;
    const int fits = PyArray_Check(given) && PyArray_ISCARRAY_RO(x) && PyArray_NDIM(x) > 0 && PyArray_SIZE(x) > 0;
    const int place = fits ? place_of(PyArray_DESCR(x)) : -1, axes = fits ? PyArray_NDIM(x) : 0;
    if (place < 0) {
        PyErr_SetString(PyExc_TypeError, "last_axis: an array of integers, float32 or float64 in C order");
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(x), axes * sizeof *shape);
    const npy_intp n = shape[axes - 1]--, rows = PyArray_SIZE(x) / n;
    PyArrayObject *result = (PyArrayObject *)PyArray_SimpleNew(axes, shape, PyArray_TYPE(x));
    if (!result) return NULL;
    subtract_t *const subtract = (HAS_WIDE ? IN_WIDE : PLAIN)[place];
    const void *from = PyArray_DATA(x);
    void *to = PyArray_DATA(result);
    int nan;
    if (PyArray_NBYTES(x) > RELEASED) {
        Py_BEGIN_ALLOW_THREADS
        nan = subtract(from, rows, n, to);
        Py_END_ALLOW_THREADS
    } else {
        nan = subtract(from, rows, n, to);
    }
    if (!nan) return (PyObject *)result;
    Py_DECREF(result);
    Py_RETURN_NOTIMPLEMENTED;
}

static PyMethodDef METHODS[] = {{"last_axis", last_axis, METH_O, last_axis_doc}, {NULL}};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, .m_name = "differences", .m_doc = "Differences.",
                                    .m_size = -1, .m_methods = METHODS};

PyMODINIT_FUNC PyInit_differences(void) {
    import_array();
    return PyModule_Create(&MODULE);
}

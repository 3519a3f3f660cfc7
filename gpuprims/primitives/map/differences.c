/* Differences of neighbours of the host, by the registers that the processor has.
 *
 * Elements lie one after the other, in C order. NumPy does the same where this module is not there: map/diff.py.
 */
#pragma GCC optimize("O3")
#include "../../core/c_modules.h"

/* Define the differences of rows of n elements; 1 if one is NaN. */
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

DEFINE(u8, npy_uint8, 0)
DEFINE(u16, npy_uint16, 0)
DEFINE(u32, npy_uint32, 0)
DEFINE(u64, npy_uint64, 0)
DEFINE(i8, npy_uint8, 0) /* signed integers wrap, too; in C only unsigned ones may */
DEFINE(i16, npy_uint16, 0)
DEFINE(i32, npy_uint32, 0)
DEFINE(i64, npy_uint64, 0)
DEFINE(f32, float, 1)
DEFINE(f64, double, 1)

typedef int subtract_t(const void *, npy_intp, npy_intp, void *);
#define IN_WIDE(name) name##_wide
#define PLAIN(name) name
static subtract_t *const SUBTRACT_WIDE[] = OF_DTYPES(IN_WIDE), *const SUBTRACT[] = OF_DTYPES(PLAIN);

PyDoc_STRVAR(last_axis_doc,
             "last_axis(x): differences of neighbours along the last axis of integers, float32 or float64 in C order;\n"
             "NotImplemented with NaN.");

static PyObject *last_axis(PyObject *module, PyObject *given) {
    PyArrayObject *x = (PyArrayObject *)given;
    const int fits = PyArray_Check(given) && PyArray_ISCARRAY_RO(x) && PyArray_NDIM(x) > 0 && PyArray_SIZE(x) > 0;
    const int place = fits ? dtype_place(x) : -1, axes = fits ? PyArray_NDIM(x) : 0;
    if (place < 0 || PyArray_ISBOOL(x)) {
        PyErr_SetString(PyExc_TypeError, "last_axis: an array of integers, float32 or float64 in C order");
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(x), axes * sizeof *shape);
    const npy_intp n = shape[axes - 1]--, rows = PyArray_SIZE(x) / n;
    PyArrayObject *result = (PyArrayObject *)PyArray_SimpleNew(axes, shape, PyArray_TYPE(x));
    if (!result) return NULL;
    subtract_t *const subtract = (HAS_WIDE ? SUBTRACT_WIDE : SUBTRACT)[place];
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

DEFINE_MODULE(differences, "Differences.", 1, FUNCTION_OF_ONE(last_axis))

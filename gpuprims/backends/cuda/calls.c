/* Warm calls on CuPy's arrays without Python: facts of arrays, launches, and launches into new arrays.
 *
 * Python does the same where this module is not there: facts_of (compiled.py), _launch (kernel.py) and into_new (runs.py).
 * CuPy's functions are called through the pointers that its modules export.
 */
#include "../../core/c_types.h"
#include <stdint.h>
#include <string.h>

#define MOST_WORDS 4096 /* of arguments: more than CUDA passes to a kernel */
#define PER_THREAD 2    /* cudaStreamPerThread */

typedef PyObject *(*launch_fn)(intptr_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               intptr_t stream, intptr_t arguments, intptr_t extra, int);
typedef PyObject *(*launch_together_fn)(intptr_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                        intptr_t stream, intptr_t arguments, int);
typedef int (*device_fn)(int);
typedef intptr_t (*stream_fn)(void);

#define SEVEN "unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int"
static const struct {
    const char *module, *name, *signature;
} EXPORTS[] = {
    {"cupy_backends.cuda.api.driver", "launchKernel",
     "PyObject *(intptr_t, " SEVEN ", intptr_t, intptr_t, intptr_t, int __pyx_skip_dispatch)"},
    {"cupy_backends.cuda.api.driver", "launchCooperativeKernel",
     "PyObject *(intptr_t, " SEVEN ", intptr_t, intptr_t, int __pyx_skip_dispatch)"},
    {"cupy_backends.cuda.api.runtime", "getDevice", "int (int __pyx_skip_dispatch)"},
    {"cupy_backends.cuda.stream", "get_current_stream_ptr", "intptr_t (void)"},
};
static launch_fn launch_kernel;
static launch_together_fn launch_together;
static device_fn current_device;
static stream_fn current_stream;
static PyObject *free_memory; /* cupy.cuda.runtime.free */
static PyObject *name_dtype, *name_shape, *name_strides, *name_data, *name_ptr, *name_device_id, *name_contiguous,
    *name_driver, *name_init;

static _Thread_local int has_context;

/* The address that a CuPy memory pointer holds; -1 with an exception. */
static int64_t pointer_of(PyObject *data) {
    PyObject *number = PyObject_GetAttr(data, name_ptr);
    if (!number) return -1;
    int64_t address = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return address;
}

/* The address of an array's first element; -1 with an exception. */
static int64_t address_of(PyObject *array) {
    PyObject *data = PyObject_GetAttr(array, name_data);
    if (!data) return -1;
    int64_t address = pointer_of(data);
    Py_DECREF(data);
    return address;
}

/* Put a new reference into a new tuple; 0 if there is none, with an exception. */
static int put(PyObject *tuple, Py_ssize_t place, PyObject *value) {
    if (value) PyTuple_SET_ITEM(tuple, place, value);
    return value != NULL;
}

PyDoc_STRVAR(facts_of_doc, "Tell of a cupy.ndarray what a launch plan depends on.");

static PyObject *facts_of(PyObject *module, PyObject *array) {
    PyObject *contiguous = PyObject_GetAttr(array, name_contiguous);
    PyObject *data = contiguous ? PyObject_GetAttr(array, name_data) : NULL;
    int64_t address = data ? pointer_of(data) : -1;
    PyObject *facts = address == -1 && PyErr_Occurred() ? NULL : PyTuple_New(5);
    if (facts && !(put(facts, 0, PyObject_GetAttr(array, name_dtype)) &&
                   put(facts, 1, PyObject_GetAttr(array, name_shape)) &&
                   put(facts, 2, contiguous == Py_True ? Py_NewRef(Py_None) : PyObject_GetAttr(array, name_strides)) &&
                   put(facts, 3, PyLong_FromLong(address & 15)) &&
                   put(facts, 4, PyObject_GetAttr(data, name_device_id))))
        Py_CLEAR(facts);
    Py_XDECREF(contiguous);
    Py_XDECREF(data);
    return facts;
}

/* A kernel with all of its arguments but the pointers. No such object refers to itself, so none is for the collector. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *alive;     /* owns the kernel */
    PyObject *elsewhere; /* launches while another device is the current one */
    PyObject *beside;    /* returns two more memories for the current stream, which stay there; or None */
    intptr_t stream;     /* the last stream, unless it is a handle of one for each thread, and where its memories lie */
    int64_t first, second;
    intptr_t kernel;
    unsigned groups, block, local;
    int together, device, pointers, layout, count;
    int64_t words[]; /* the pointers, the layout and the numbers */
} Launch;

/* Find where the memories beside a call's lie; 0, or -1 with an exception. */
static int find_beside(Launch *self, intptr_t stream, int64_t *words) {
    if (stream != self->stream || stream == PER_THREAD) {
        PyObject *both = PyObject_CallNoArgs(self->beside);
        if (!both) return -1;
        int64_t first = -1, second = -1;
        if (!PyTuple_Check(both) || PyTuple_GET_SIZE(both) != 2)
            PyErr_SetString(PyExc_TypeError, "a launch: two memories beside the call's");
        else if ((first = address_of(PyTuple_GET_ITEM(both, 0))) != -1)
            second = address_of(PyTuple_GET_ITEM(both, 1));
        Py_DECREF(both);
        if (PyErr_Occurred()) return -1;
        self->stream = stream, self->first = first, self->second = second;
    }
    words[0] = self->first, words[1] = self->second;
    return 0;
}

/* Start a kernel on so many arrays; 0, or -1 with an exception. */
static int start(Launch *self, PyObject *const *arrays, Py_ssize_t count) {
    int64_t words[MOST_WORDS];
    void *places[MOST_WORDS];
    if (!has_context) { /* any call of the runtime gives a thread its context */
        PyObject *zero = PyLong_FromLong(0), *done = zero ? PyObject_CallOneArg(free_memory, zero) : NULL;
        Py_XDECREF(zero);
        if (!done) return -1;
        Py_DECREF(done);
        has_context = 1;
    }
    int has_beside = self->beside != Py_None;
    if (count != self->pointers - 2 * has_beside) {
        PyErr_Format(PyExc_ValueError, "a launch: %d arrays; got %zd", self->pointers - 2 * has_beside, count);
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        words[k] = address_of(arrays[k]);
        if (words[k] == -1 && PyErr_Occurred()) return -1;
    }
    intptr_t stream = current_stream();
    if (stream == -1 && PyErr_Occurred()) return -1;
    if (has_beside && find_beside(self, stream, &words[count])) return -1;
    for (int k = 0; k < self->pointers; k++) places[k] = &words[k];
    int arguments = self->pointers, numbers = self->pointers + self->layout;
    places[arguments++] = &self->words[self->pointers];
    for (int k = numbers; k < self->count; k++) places[arguments++] = &self->words[k];
    PyObject *done = self->together ? launch_together(self->kernel, self->groups, 1, 1, self->block, 1, 1, self->local,
                                                      stream, (intptr_t)places, 0)
                                    : launch_kernel(self->kernel, self->groups, 1, 1, self->block, 1, 1, self->local,
                                                    stream, (intptr_t)places, 0, 0);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static PyObject *launch_call(PyObject *callable, PyObject *const *arguments, size_t flags, PyObject *names) {
    Launch *self = (Launch *)callable;
    if (!is_one(flags, names, "a launch: one sequence of arrays")) return NULL;
    int device = current_device(0);
    if (device == -1 && PyErr_Occurred()) return NULL;
    if (device != self->device) return PyObject_CallFunctionObjArgs(self->elsewhere, self, arguments[0], NULL);
    PyObject *arrays = PySequence_Fast(arguments[0], "a launch: one sequence of arrays");
    if (!arrays) return NULL;
    int failed = start(self, PySequence_Fast_ITEMS(arrays), PySequence_Fast_GET_SIZE(arrays));
    Py_DECREF(arrays);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *launch_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *alive, *elsewhere, *words;
    Py_ssize_t kernel;
    int groups, block, local, together, device, pointers, layout;
    if (!PyArg_ParseTuple(arguments, "OOniiiiiiiO!", &alive, &elsewhere, &kernel, &groups, &block, &local, &together,
                          &device, &pointers, &layout, &PyTuple_Type, &words))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(words);
    if (count >= MOST_WORDS || pointers + layout > count) {
        PyErr_SetString(PyExc_ValueError, "a launch: fewer words of arguments");
        return NULL;
    }
    Launch *self = (Launch *)type->tp_alloc(type, count);
    if (!self) return NULL;
    self->call = launch_call;
    self->alive = Py_NewRef(alive), self->elsewhere = Py_NewRef(elsewhere), self->beside = Py_NewRef(Py_None);
    self->stream = PER_THREAD;
    self->kernel = kernel;
    self->groups = groups, self->block = block, self->local = local;
    self->together = together, self->device = device;
    self->pointers = pointers, self->layout = layout, self->count = (int)count;
    for (Py_ssize_t k = 0; k < count; k++) {
        self->words[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(words, k));
        if (self->words[k] == -1 && PyErr_Occurred()) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

PyDoc_STRVAR(with_beside_doc, "with_beside(beside): a launch that also takes the two memories that a function returns.");

static PyObject *with_beside(PyObject *launch, PyObject *beside) {
    Launch *self = (Launch *)launch;
    Launch *other = (Launch *)Py_TYPE(self)->tp_alloc(Py_TYPE(self), self->count);
    if (!other) return NULL;
    size_t head = offsetof(Launch, call);
    memcpy((char *)other + head, (char *)self + head, offsetof(Launch, words) - head + self->count * sizeof(int64_t));
    Py_INCREF(other->alive);
    Py_INCREF(other->elsewhere);
    other->beside = Py_NewRef(beside);
    return (PyObject *)other;
}

static PyMethodDef LAUNCH_METHODS[] = {{"with_beside", with_beside, METH_O, with_beside_doc}, {NULL}};

static void launch_free(Launch *self) {
    Py_XDECREF(self->beside);
    Py_XDECREF(self->alive);
    Py_XDECREF(self->elsewhere);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject LaunchType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpuprims.backends.cuda.calls.Launch",
    .tp_doc = "Launch(alive, elsewhere, kernel, groups, block, local, together, device, pointers, layout, words)",
    .tp_basicsize = offsetof(Launch, words),
    .tp_itemsize = sizeof(int64_t),
    CALLED(Launch, launch_new, launch_free),
    .tp_methods = LAUNCH_METHODS,
};

/* A launch into a new array. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *launch, *device, *driver, *slow;
    PyObject *allocate, *kind, *described; /* allocate(kind)._init(*described) is a new array */
    int index;
} Run;

#define MOST_ARRAYS 64

static PyObject *new_array(Run *self) {
    PyObject *array = PyObject_CallOneArg(self->allocate, self->kind);
    if (!array) return NULL;
    PyObject *arguments[6] = {array};
    Py_ssize_t count = PyTuple_GET_SIZE(self->described);
    for (Py_ssize_t k = 0; k < count; k++) arguments[k + 1] = PyTuple_GET_ITEM(self->described, k);
    PyObject *done = PyObject_VectorcallMethod(name_init, arguments, count + 1, NULL);
    if (!done) Py_CLEAR(array);
    Py_XDECREF(done);
    return array;
}

static PyObject *run_call(PyObject *callable, PyObject *const *arguments, size_t flags, PyObject *names) {
    Run *self = (Run *)callable;
    if (!is_one(flags, names, "a run: one sequence of arrays")) return NULL;
    int device = current_device(0);
    if (device == -1 && PyErr_Occurred()) return NULL;
    PyObject *driver = PyObject_GetAttr(self->device, name_driver);
    if (!driver) return NULL;
    int here = device == self->index && driver == self->driver;
    Py_DECREF(driver);
    PyObject *result = here ? new_array(self) : NULL;
    if (!result) {
        if (here && !PyErr_ExceptionMatches(PyExc_MemoryError)) return NULL;
        PyErr_Clear(); /* Python tries again, and says what there is no room for */
        return PyObject_CallOneArg(self->slow, arguments[0]);
    }
    PyObject *given = PySequence_Fast(arguments[0], "a run: one sequence of arrays"), *done = NULL;
    if (given) {
        Py_ssize_t count = PySequence_Fast_GET_SIZE(given);
        if (Py_IS_TYPE(self->launch, &LaunchType) && count < MOST_ARRAYS) {
            PyObject *arrays[MOST_ARRAYS];
            for (Py_ssize_t k = 0; k < count; k++) arrays[k] = PySequence_Fast_GET_ITEM(given, k);
            arrays[count] = result;
            done = start((Launch *)self->launch, arrays, count + 1) ? NULL : Py_NewRef(Py_None);
        } else {
            PyObject *all = PyTuple_New(count + 1);
            if (all) {
                for (Py_ssize_t k = 0; k < count; k++)
                    PyTuple_SET_ITEM(all, k, Py_NewRef(PySequence_Fast_GET_ITEM(given, k)));
                PyTuple_SET_ITEM(all, count, Py_NewRef(result));
                done = PyObject_CallOneArg(self->launch, all);
                Py_DECREF(all);
            }
        }
        Py_DECREF(given);
    }
    if (!done) Py_CLEAR(result);
    Py_XDECREF(done);
    return result;
}

static PyObject *run_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *launch, *device, *driver, *slow, *allocate, *kind, *described;
    int index;
    if (!PyArg_ParseTuple(arguments, "OOOOOOO!i", &launch, &device, &driver, &slow, &allocate, &kind, &PyTuple_Type,
                          &described, &index))
        return NULL;
    if (PyTuple_GET_SIZE(described) > 5) {
        PyErr_SetString(PyExc_ValueError, "a run: at most 5 arguments for an array");
        return NULL;
    }
    Run *self = (Run *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->call = run_call;
    self->launch = Py_NewRef(launch), self->device = Py_NewRef(device), self->driver = Py_NewRef(driver);
    self->slow = Py_NewRef(slow), self->allocate = Py_NewRef(allocate), self->kind = Py_NewRef(kind);
    self->described = Py_NewRef(described), self->index = index;
    return (PyObject *)self;
}

static void run_free(Run *self) {
    Py_XDECREF(self->launch);
    Py_XDECREF(self->device);
    Py_XDECREF(self->driver);
    Py_XDECREF(self->slow);
    Py_XDECREF(self->allocate);
    Py_XDECREF(self->kind);
    Py_XDECREF(self->described);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject RunType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpuprims.backends.cuda.calls.Run",
    .tp_doc = "Run(launch, device, driver, slow, allocate, kind, described, index)",
    .tp_basicsize = sizeof(Run),
    CALLED(Run, run_new, run_free),
};

/* The pointer to a function that a module of CuPy exports; NULL, with ImportError if its signature is another. */
static void *exported(int k) {
    PyObject *module = PyImport_ImportModule(EXPORTS[k].module);
    PyObject *all = module ? PyObject_GetAttrString(module, "__pyx_capi__") : NULL;
    PyObject *capsule = all ? PyMapping_GetItemString(all, EXPORTS[k].name) : NULL;
    void *found = capsule ? PyCapsule_GetPointer(capsule, EXPORTS[k].signature) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(all);
    Py_XDECREF(capsule);
    if (!found) {
        PyErr_Clear();
        PyErr_Format(PyExc_ImportError, "CuPy: %s.%s of signature %s; got another", EXPORTS[k].module, EXPORTS[k].name,
                     EXPORTS[k].signature);
    }
    return found;
}

static PyMethodDef METHODS[] = {
    {"facts_of", facts_of, METH_O, facts_of_doc},
    {NULL},
};
static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "calls", .m_doc = "Warm calls on CuPy arrays.", .m_size = -1,
    .m_methods = METHODS};

PyMODINIT_FUNC PyInit_calls(void) {
    if (!(launch_kernel = (launch_fn)exported(0)) || !(launch_together = (launch_together_fn)exported(1)) ||
        !(current_device = (device_fn)exported(2)) || !(current_stream = (stream_fn)exported(3)))
        return NULL;
    PyObject *runtime = PyImport_ImportModule("cupy_backends.cuda.api.runtime");
    if (!runtime) return NULL;
    free_memory = PyObject_GetAttrString(runtime, "free");
    Py_DECREF(runtime);
    name_dtype = PyUnicode_InternFromString("dtype"), name_shape = PyUnicode_InternFromString("shape");
    name_strides = PyUnicode_InternFromString("strides"), name_data = PyUnicode_InternFromString("data");
    name_ptr = PyUnicode_InternFromString("ptr"), name_device_id = PyUnicode_InternFromString("device_id");
    name_contiguous = PyUnicode_InternFromString("_c_contiguous"), name_driver = PyUnicode_InternFromString("driver");
    name_init = PyUnicode_InternFromString("_init");
    if (!free_memory || !name_dtype || !name_shape || !name_strides || !name_data || !name_ptr || !name_device_id ||
        !name_contiguous || !name_driver || !name_init)
        return NULL;
    return module_with(&MODULE, &LaunchType, &RunType);
}

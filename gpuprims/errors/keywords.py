"""What to write instead of keywords of other libraries."""

from __future__ import annotations

# Other libraries' keywords, and their names here.
NAMES_HERE = {
    "axes": "axis", "dim": "axis", "dims": "axis", "keepdim": "keepdims", "operator": "op", "operation": "op",
    "fn": "map", "func": "map", "function": "map", "weight": "weights", "nbins": "bins",
    "num_bins": "bins", "limits": "range", "radius": "size", "ksize": "size", "width": "size", "std": "sigma",
    "boundary": "mode", "border": "mode", "padding": "mode", "fill_value": "cval", "channels": "channel_axis",
    "iters": "iterations", "n_iter": "iterations", "where": "mask", "backend": "device",
    "kernel": "variant", "algorithm": "variant", "offsets": "segments", "indptr": "segments", "kahan": "compensated",
    "type": "dtype", "correction": "ddof", "output": "out", "key": "by", "keys": "by", "groupby": "by",
    "group_by": "by", "by": "key", "agg": "op", "aggregate": "op", "interpolation": "method", "normed": "density",
    "counts": "return_counts", "inverse": "return_inverse", "n": "k", "index": "indices", "repeats": "lengths",
    "init": "initial", "cmp": "less", "comp": "less", "compare": "less", "comparator": "less",
}  # fmt: skip

# Other libraries' keywords, and what to write where another name is not enough. The middle column has keywords that
# tell calls apart: a line is for calls that have one of them, or for any call. The first line that fits is the advice.
ADVICE = (
    ("exclusive", "inclusive", "write inclusive=False"),
    ("reverse", "descending", "write descending=True"),
    ("reverse", "keepdims", "leave it out, or reverse the array: x[::-1]"),
    ("reverse", "op dtype", "write scan(x, reverse=True)"),
    ("descending reverse", "keys", "reverse the result: order[::-1]"),
    ("ascending", "descending", "write descending=True for ascending=False"),
    ("smallest", "largest", "write largest=False"),
    ("right", "side", "write side='right'"),
    ("min max", "range", "write range=(min, max)"),
    ("kind", "descending", "leave it out: every sort is stable"),
    ("kind", "kth", "leave it out: variant= chooses the kernel"),
    ("stable", "descending", "leave it out: every sort is stable"),
    ("order", "descending kth", "sort by several arrays with lexsort"),
    ("order", "sigma", "write derivatives as weights of stencil"),
    ("na_position", "descending", "leave it out: NaN is the greatest element"),
    ("on how", "b", "merge makes one sorted array of two; searchsorted finds the rows of a table"),
    ("on", "", "write device="),
    ("key by", "b", "write sort_by_key of the joined arrays"),
    ("sorted", "largest", "leave it out: the result is sorted"),
    ("sorted", "return_index", "leave it out: the result is sorted"),
    ("sort", "keys", "leave it out: the groups are sorted"),
    ("return_indices", "largest", "leave it out: values and indices are returned"),
    ("keepdim keepdims", "inclusive descending kth largest", "leave it out: the result has all axes of the array"),
    ("axis dim", "b", "merge each row in a call of its own"),
    ("axis dim", "sigma", "image rows and columns are the last axes but those of channel_axis=: use np.moveaxis"),
    ("axis dim", "iterations", "the shape of the weights says how many of the last axes they go along"),
    ("axis dim", "vector_axis element v", "leave it out: each element is computed by itself"),
    ("axis dim", "", "leave it out: elements are taken in C order"),
    ("where", "inclusive", "write map=, as in scan(m, x, map='where(m, x, 0)')"),
    ("where", "vector_axis", "write where(condition, a, b) in the function"),
    ("dtype", "vector_axis", "convert in the function, as in 'float32(x + 1)'"),
    ("dtype", "", "convert the array: x.astype(dtype)"),
    ("initial", "op", "combine it with the result, as in result + initial"),
    ("op", "dtype", "write scan(x, op=...)"),
    ("segments", "keys", "take the values by argsort(keys, segments=...)"),
    ("segments", "minlength", "write histogram(x, range(n + 1), segments=...)"),
    ("total_repeat_length", "lengths", "leave it out: the lengths say it"),
    ("weights", "q", "repeat the elements, for whole weights by run_length_decode(x, weights)"),
    ("origin", "iterations", "pad the weights with zeros on one side"),
    ("overwrite_input", "", "leave it out: arrays are not overwritten"),
    ("inplace", "", "leave it out and keep the result: x = ..."),
    (
        "stream",
        "",
        "leave it out: calls run in the current stream of the array's library, or in that of use_stream(stream)",
    ),
    ("out", "", "copy the result: out[...] = ..."),
)

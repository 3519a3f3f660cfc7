import os, sys, time, itertools, dataclasses, traceback
import numpy as np, cupy as cp, torch
import gpuprims
from gpuprims.core.geometry import Geometry
from gpuprims.core.registry import REGISTRY
OUT = os.environ.get("OUT", "/tmp")
START = time.perf_counter()
LIMIT = float(sys.argv[1])
WARM = os.environ.get("GP_PASS") == "check"
log = open(OUT + f"/table-{os.environ.get('GP_PASS')}.txt", "w")
rng = np.random.default_rng(0)
cp.random.seed(0)
AFF = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0), name="affine")
HEAVY = gpuprims.Op(lambda p, q: (np.where(q[0] > p[0], q[0], p[0]), np.where(q[0] > p[0], q[1], p[1])), lambda d: (np.array(-np.inf, d[0])[()], np.array(-1, d[1])[()]), components=2, name="heaviest")
MB = 2**20

def arr(shape, dt="float32", scale=100):
    n = int(np.prod(shape))
    if dt == "bool": return (cp.random.random(n, dtype=np.float32) < .001).reshape(shape)
    if dt.startswith("complex"):
        return (cp.random.random(n, dtype=np.float32) + 1j).astype(dt).reshape(shape)
    return (cp.random.random(n, dtype=np.float32) * scale).astype(dt).reshape(shape)

def timed(f, reps=3, n=8):
    f()
    if WARM: return 1.0
    cp.cuda.Device().synchronize()
    best = 9e9
    for _ in range(reps):
        a, b = cp.cuda.Event(), cp.cuda.Event()
        a.record()
        for _ in range(n): f()
        b.record(); b.synchronize()
        best = min(best, cp.cuda.get_elapsed_time(a, b) / n * 1e3)
    return best

def floor(nbytes, reads): return nbytes / ((4.5e6 if reads else 4.28e6)) + 2.0

cells = []
def row(name, ours, nbytes, reads, peer=None):
    if time.perf_counter() - START > LIMIT: return None
    try:
        t = timed(ours)
    except Exception:
        print("FAILED", name, traceback.format_exc(limit=-2)[-600:], flush=True); return None
    p = ""
    if peer is not None:
        try: p = f"{timed(peer) / t:5.2f}"
        except Exception as e: p = type(e).__name__[:5]
    f = floor(nbytes, reads) / t
    log.write(f"{name:44} {t:9.1f} us  {f:5.2f} of limit  {nbytes / t / 1e6:5.2f} TB/s  peer/ours {p}\n"); log.flush()
    cells.append(f"{name[:24]:24}{f:5.2f} {p:>5}")
    return t

def tt(x): return torch.from_dlpack(x)
TORCH = {"sum": torch.sum, "max": torch.amax, "argmax": torch.argmax, "var": lambda t, **k: torch.var(t, correction=0, **k), "mean": torch.mean, "norm": torch.linalg.vector_norm, "any": torch.any}
def red(name, x, op="sum", axis=None, variant=None, **kw):
    peer = None
    try:
        if op in TORCH:
            t = tt(x)
            kws = {} if axis is None else {"dim": axis}
            if op == "amax" and axis is None: kws = {}
            peer = lambda: TORCH[op](t, **kws)
    except Exception: peer = None
    return row(name, lambda: gpuprims.reduce(x, op=op, axis=axis, variant=variant, **kw), x.nbytes, True, peer)
def mp(name, fn, *arrays, tfn=None, variant=None, out_item=None):
    peer = None
    try:
        ts = [tt(a) for a in arrays]
        if tfn: peer = lambda: tfn(*ts)
    except Exception: peer = None
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    nb = sum(a.nbytes for a in arrays) + int(np.prod(shape)) * (out_item or arrays[0].dtype.itemsize)
    return row(name, lambda: gpuprims.map(fn, *arrays, variant=variant), nb, False, peer)

def check():
    bad = 0
    for shape in [(3000, 3), (700, 40), (40, 7000), (5, 900, 70), (70, 900, 5), (6, 7, 8, 900)]:
        for dt in ("float32", "uint8"):
            x = arr(shape, dt)
            h = cp.asnumpy(x)
            for v, w in ((x, h), (x.T, h.T), (x[..., ::-1], h[..., ::-1]), (x[..., 1:], h[..., 1:])):
                for ax in [None, 0, 1] + ([(0, 2)] if v.ndim > 2 else []):
                    for op in ("sum", "argmin"):
                        if op == "argmin" and isinstance(ax, tuple): continue
                        g = cp.asnumpy(gpuprims.reduce(v, op=op, axis=ax)); e = getattr(np, op)(w.astype("f8") if dt == "float32" and op == "sum" else w, axis=ax)
                        if not np.allclose(g, e, rtol=1e-5): bad += 1; print("WRONG", shape, dt, v.strides, ax, op)
                g = cp.asnumpy(gpuprims.map("x+y", v, cp.ascontiguousarray(v)))
                if not np.array_equal(g, w + w): bad += 1; print("WRONG map", shape, dt, v.strides)
    for n in (1, 31, 4097, 1 << 20, 3000001):
        a, b = cp.asarray(rng.integers(-1, 2, n)), cp.asarray(rng.integers(-9, 9, n))
        g = gpuprims.reduce(a, b, op=AFF); e = gpuprims.reduce(cp.asnumpy(a), cp.asnumpy(b), op=AFF, device="reference")
        if not all(np.array_equal(cp.asnumpy(p), q) for p, q in zip(g, e)): bad += 1; print("WRONG affine", n)
    print("wrong:", bad, f"({time.perf_counter() - START:.1f} s)", flush=True)

def main():
    S = (5800, 5790)
    x = arr(S); x2 = arr((5792, 5792)); x3 = arr((300, 331, 338)); n = x.size
    red("sum flat f32", x); red("sum x.T", x.T); red("sum x[:,3:]", x[:, 3:]); red("sum x[:, ::2]", x[:, ::2]); red("argmax x.T", x.T, "argmax")
    red("sum x3 perm(2,0,1)", x3.transpose(2, 0, 1)); red("sum x3[...,3:]", x3[..., 3:])
    for ax in (0, 1, 2, (0, 2), (0, 1), (1, 2)): red(f"sum x3 axis {ax}", x3, axis=ax)
    xp = x3.transpose(1, 2, 0)
    for ax in (0, 1, 2, (0, 2)): red(f"sum x3.perm120 axis {ax}", xp, axis=ax)
    red("argmax x3 ax0", x3, "argmax", 0); red("argmax x3 ax1", x3, "argmax", 1); red("argmax x3 ax2", x3, "argmax", 2)
    red("var flat", x, "var"); red("var ax0", x, "var", 0); red("var ax1", x, "var", 1); red("var x3 (0,2)", x3, "var", (0, 2)); red("var perm (0,1)", xp, "var", (0, 1))
    for c in (3, 10, 17, 40, 100, 256, 1000, 5001):
        y = arr((32 * MB // c, c)); red(f"columns {c}", y, axis=0); red(f"rows {c}", y, axis=1)
        if c in (3, 100): red(f"columns argmax {c}", y, "argmax", 0)
    for c in (10**5, 10**6 + 1):
        y = arr((32 * MB // c, c)); red(f"columns {c}", y, axis=0); red(f"rows {c}", y, axis=1)
    y = arr((5, 900, 7000)); [red(f"(5,900,7000) ax {a}", y, axis=a) for a in (0, 1, (0, 2))]
    y = arr((7000, 900, 5)); [red(f"(7000,900,5) ax {a}", y, axis=a) for a in (0, 1, 2, (0, 2))]
    for dt in ("uint8", "int16", "float16", "float64", "int64", "complex64", "bool"):
        z = arr((8000, 16000 if np.dtype(dt).itemsize < 4 else 4000), dt)
        op = "any" if dt == "bool" else "sum"
        red(f"{op} {dt}", z, op); red(f"{op} {dt} ax0", z, op, 0); red(f"{op} {dt} ax1", z, op, 1)
        if dt in ("uint8", "float16", "float64"): red(f"max {dt}", z, "max"); red(f"max {dt} ax0", z, "max", 0)
        if dt in ("uint8", "float64"): red(f"argmax {dt}", z, "argmax")
    f, i = x.ravel(), arr((n,), "int32")
    for nm, op, b in (("affine", AFF, arr((n,), scale=1)), ("heaviest", HEAVY, i)):
        for sh, ax in (((n,), None), (S, 0), (S, 1)):
            row(f"{nm} {ax}", lambda: gpuprims.reduce(f.reshape(sh), b.reshape(sh), op=op, axis=ax), f.nbytes * 2, True)
    # maps
    two = lambda t: torch.add(t, 1, alpha=2) if t.dtype is not torch.bool else t
    for dt in ("float32", "float16", "uint8", "int16", "float64", "complex64"):
        z = arr((16 * MB * 4 // max(np.dtype(dt).itemsize, 2) // 4000, 8000), dt, 1 if dt == "float16" else 100)
        mp(f"2x+1 {dt}", "2*x+1", z, tfn=lambda t: t * 2)
        mp(f"2x+1 {dt} T", "2*x+1", z.T, tfn=lambda t: (t * 2).contiguous()); mp(f"2x+1 {dt} [:,3:]", "2*x+1", z[:, 3:], tfn=lambda t: t * 2)
        if dt in ("float32", "uint8", "float16"): mp(f"2x+1 {dt} ::2", "2*x+1", z[:, ::2], tfn=lambda t: t * 2); mp(f"2x+1 {dt} ::-1", "2*x+1", z[:, ::-1])
    mp("x+x.T", "x+y", x2, x2.T, tfn=lambda a, b: a + b)
    for p in itertools.permutations(range(3)): mp(f"x3 perm {p}", "2*x", x3.transpose(p), tfn=lambda t: (t * 2).contiguous())
    y = arr((7000, 900, 5))
    for p in ((2, 0, 1), (0, 2, 1), (2, 1, 0)): mp(f"(7000,900,5) {p}", "2*x", y.transpose(p), tfn=lambda t: (t * 2).contiguous())
    mp("x + row", "x+y", x, x[0], tfn=lambda a, b: a + b); mp("x + column", "x+y", x, x[:, :1], tfn=lambda a, b: a + b); mp("x + scalar", "x+y", x, x[0, :1], tfn=lambda a, b: a + b)
    # shapes of variants
    def shaped(primitive, name, geo):
        v = next(v for v in REGISTRY.variants(primitive, "cuda") if v.name == name)
        return dataclasses.replace(v, geometry=Geometry(*geo), tunable=None, **({"outputs_per_group": geo[0]} if name == "each" else {}))
    for geo in ((256, 16, 8), (512, 16, 2), (512, 8, 4), (256, 16, 4), (1024, 8, 2), (1024, 16, 1)):
        try: v = shaped("reduce", "each", geo)
        except Exception: print(traceback.format_exc(limit=-1)); continue
        for c in (10, 100, 1000, 16384):
            y = arr((32 * MB // c, c)); p = gpuprims.plan("reduce", y, axis=0, variant=v); row(f"each {geo} {c}", lambda: p(y), y.nbytes, True)
    for geo in ((256, 8, 8), (256, 16, 6), (256, 16, 8), (512, 8, 4), (256, 4, 8), (512, 16, 3)):
        v = shaped("reduce", "warp", geo)
        p = gpuprims.plan("reduce", x, op="var", variant=v); row(f"var {geo}", lambda: p(x), x.nbytes, True)
        p2 = gpuprims.plan("reduce", f, f, op=AFF, variant=v); row(f"affine {geo}", lambda: p2(f, f), 2 * x.nbytes, True)
        z = arr((128 * MB,), "uint8"); p3 = gpuprims.plan("reduce", z, variant=v); row(f"sum u8 {geo}", lambda: p3(z), z.nbytes, True)
    for geo in ((256, 4), (256, 8), (256, 16), (128, 8), (512, 4)):
        v = shaped("map", "grid", geo)
        for a, nm in ((x[:, 3:], "f32[:,3:]"), (arr((8000, 16000), "uint8")[:, 3:], "u8[:,3:]"), (arr((128 * MB // 2,), "float16", 1), "f16"), (x.ravel(), "f32")):
            p = gpuprims.plan("map", "2*x+1", a, variant=v); row(f"grid {geo} {nm}", lambda: p(a), 2 * a.nbytes, False)

try:
    if WARM: check()
except Exception: print(traceback.format_exc()[-1500:], flush=True)
try: main()
except Exception: print(traceback.format_exc()[-1500:], flush=True)
for k in range(0, 0 if WARM else len(cells), 4): print(" | ".join(cells[k:k + 4]))
print("done", len(cells), f"{time.perf_counter() - START:.1f} s")

"""Store the figures of the gallery's programs: animations as GIFs, others as PNGs, with the program's title to read."""

from __future__ import annotations

from typing import Any

from matplotlib import pyplot
from matplotlib.animation import Animation
from sphinx_gallery.scrapers import figure_rst

_DPI = 110


def stored(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Store the open figures, and return the text that shows them."""
    films = [value for value in variables["example_globals"].values() if isinstance(value, Animation)]
    title = variables["example_globals"]["__doc__"].strip().partition("\n")[0]
    paths = []
    for number, path in zip(pyplot.get_fignums(), variables["image_path_iterator"], strict=False):
        figure = pyplot.figure(number)
        film = next((film for film in films if film._fig is figure), None)
        path = path.replace(".png", ".gif") if film else path
        if film:
            film.save(path, writer="pillow", dpi=_DPI * 0.75)
        else:
            figure.savefig(path, dpi=_DPI, pil_kwargs={"optimize": True})
        paths.append(path)
    pyplot.close("all")
    return figure_rst(paths, settings["src_dir"], fig_titles=title) if paths else ""

"""Tools of the site's build: links, drawings, charts, films, and SVG within the pages."""

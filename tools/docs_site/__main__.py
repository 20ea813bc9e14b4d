"""`python -m docs_site DIR HANDFASTD`: write the source of the site to DIR."""

import sys
from pathlib import Path

from docs_site.gather import gather

gather(Path(sys.argv[1]), Path(sys.argv[2]))

"""The documentation as a site: gathers `docs/`, writes the pages that come from the commands, and the site's contents.

The pages of commands are made here at each build, not committed: a page can then never say what its command does not,
and a change of an option needs no second change. GitHub shows what is committed; there `--help` is the page.
"""

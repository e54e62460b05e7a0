"""Puts the documents of the project's root on the website, and checks that no page loads anything from elsewhere.

README.md, ARCHITECTURE.md, CONTRIBUTING.md, CHANGELOG.md and SECURITY.md stand beside docs/ because people look there.
Their links are right in the repository; on the website they are pages like all others, so links to and from them are
rewritten while the site is built.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGES = {  # a document of the root: its page
    "README.md": "overview.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "LICENSE": "LICENSE",
}
DOCUMENTS = {page: document for document, page in PAGES.items()}

LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)")
LOADED = re.compile(r"""<(?:script|img|iframe|link(?![^>]*\brel="?canonical))\b[^>]*\b(?:src|href)="?(?:https?:)?//""")
IMPORTED = re.compile(r"""(?:@import\s*|url\()["']?(?:https?:)?//""")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the documents of the root."""
    root = Path(config.docs_dir).parent
    for document, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(root / document)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrites links that lead from or to a document of the root."""
    here = page.file.src_uri
    place = PurePosixPath(DOCUMENTS.get(here, f"docs/{here}")).parent  # in the repository

    def rewritten(link: re.Match[str]) -> str:
        target = normpath(place / link[1])
        if target in PAGES:
            target = PAGES[target]
        elif target.startswith("docs/"):
            target = target.removeprefix("docs/")
        else:
            raise PluginError(f"{here}: the link to {link[1]} leads out of the documentation")
        return relpath(target, PurePosixPath(here).parent)

    return LINK.sub(rewritten, markdown)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Refuses a site that would make the reader's browser fetch anything from another place."""
    site = Path(config.site_dir)
    for pattern, loads in (("*.html", LOADED), ("*.css", IMPORTED)):
        for path in sorted(site.rglob(pattern)):
            if found := loads.search(path.read_text()):
                raise PluginError(f"{path.relative_to(site)} loads from another place: {found[0]}")

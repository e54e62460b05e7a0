from tests.crawl.report.conftest import small_folder

__all__ = ["small_folder"]

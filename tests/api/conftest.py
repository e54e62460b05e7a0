from tests.crawl.report.conftest import box, small_folder

__all__ = ["box", "small_folder"]
